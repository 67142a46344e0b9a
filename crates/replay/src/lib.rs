//! Forward passes as CUDA graphs: recorded at the first run, replayed from then on.
//!
//! The graph is independent of the level: whatever a level launches can be recorded. Its kernels become no
//! faster on the device, but the host no longer launches each of them. [`Replay`] is for forward passes of
//! tensors, [`Decoder`] for the steps of a language model, each at another position.

mod decoder;

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, bail};
use kernels::cuda_graph::{Buffers, CudaGraph, Nodes, warm};
use kernels::launch::chained;

pub use decoder::Decoder;

/// A recorded forward pass.
struct Recorded {
    /// The output in the graph's memory; dropped before the graph.
    output: Tensor,
    inputs: Vec<Tensor>,
    graph: CudaGraph,
}

/// Recordings of one forward pass, one per shapes and dtypes of its inputs.
#[derive(Default)]
pub struct Replay {
    recorded: HashMap<Vec<(Vec<usize>, DType)>, Recorded>,
}

impl Replay {
    // ANCHOR: run
    /// Runs `forward` on `inputs`; records it at first use with inputs of these shapes and dtypes. `forward`
    /// must depend on nothing else that changes, and have no side effects.
    ///
    /// The result is in the recording's memory: the next run with the same shapes overwrites it.
    ///
    /// # Errors
    /// The errors of `forward`, and if the device is no GPU or cannot record `forward`.
    pub fn run(
        &mut self,
        device: &Device,
        inputs: &[&Tensor],
        forward: impl Fn(&[Tensor]) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let shape = |x: &&Tensor| (x.dims().to_vec(), x.dtype());
        let key: Vec<_> = inputs.iter().map(shape).collect();
        if let Some(recorded) = self.recorded.get(&key) {
            for (own, x) in recorded.inputs.iter().zip(inputs) {
                copy(x, own)?;
            }
            recorded.graph.launch()?;
            return Ok(recorded.output.clone());
        }
        // Contiguous copies in memory of their own, whatever views were given; later inputs are written
        // there.
        let inputs = inputs.iter().map(|x| x.force_contiguous());
        let inputs: Vec<Tensor> = inputs.collect::<Result<_>>()?;
        let forward = || chained(|| forward(&inputs)); // kernels that can overlap do
        let buffers = warm(device, || {
            forward()?; // loads kernels and packs weights
            Buffers::of(forward)
        })?;
        device.synchronize()?;
        let (graph, output) = CudaGraph::record(device, buffers, forward)?;
        graph.launch()?;
        let recorded = Recorded {
            output: output.clone(),
            inputs,
            graph,
        };
        self.recorded.insert(key, recorded);
        Ok(output)
    }
    // ANCHOR_END: run

    /// Number of nodes of each recording.
    pub fn nodes(&self) -> impl Iterator<Item = Nodes> {
        self.recorded.values().map(|r| r.graph.nodes())
    }
}

/// How forward passes run: launched one by one, or recorded.
pub enum Pass {
    /// The host launches every kernel.
    Eager,
    /// Recorded at the first run with inputs of each shape and dtype.
    Graph(Replay),
}

impl Pass {
    /// A recorded pass if `cuda_graph`, otherwise an eager one.
    pub fn new(cuda_graph: bool) -> Self {
        if cuda_graph {
            Self::Graph(Replay::default())
        } else {
            Self::Eager
        }
    }

    /// Number of kernels of the largest recording, if there is one.
    pub fn kernels(&self) -> Option<usize> {
        match self {
            Self::Eager => None,
            Self::Graph(replay) => replay.nodes().map(|nodes| nodes.kernels).max(),
        }
    }

    /// Runs `forward` on `inputs`: see [`Replay::run`].
    ///
    /// # Errors
    /// The errors of [`Replay::run`].
    pub fn run(
        &mut self,
        device: &Device,
        inputs: &[&Tensor],
        forward: impl Fn(&[Tensor]) -> Result<Tensor>,
    ) -> Result<Tensor> {
        match self {
            Self::Eager => forward(&inputs.iter().map(|&x| x.clone()).collect::<Vec<_>>()),
            Self::Graph(replay) => replay.run(device, inputs, forward),
        }
    }
}

/// Copies `x` into the memory of `to`, which has the same shape and dtype.
fn copy(x: &Tensor, to: &Tensor) -> Result<()> {
    // `slice_set` would accept a smaller tensor and leave the rest unchanged.
    if (x.dims(), x.dtype()) != (to.dims(), to.dtype()) {
        bail!(
            "an input of a recording: expected {:?} of {}, found {:?} of {}",
            to.dims(),
            to.dtype().as_str(),
            x.dims(),
            x.dtype().as_str()
        )
    }
    match x.rank() {
        0 => to.unsqueeze(0)?.slice_set(&x.unsqueeze(0)?, 0, 0),
        _ => to.slice_set(&x.contiguous()?, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_needs_equal_shapes_and_dtypes() -> Result<()> {
        let to = Tensor::new(&[[1u32], [2]], &Device::Cpu)?;
        copy(&Tensor::new(&[[3u32], [4]], &Device::Cpu)?, &to)?;
        assert_eq!(to.to_vec2::<u32>()?, [[3], [4]]);
        for (x, found) in [
            (Tensor::new(&[[5u32]], &Device::Cpu)?, "[1, 1] of u32"),
            (Tensor::new(&[5u32, 6], &Device::Cpu)?, "[2] of u32"),
            (Tensor::new(&[[5f32], [6.]], &Device::Cpu)?, "[2, 1] of f32"),
        ] {
            let error = copy(&x, &to).unwrap_err().to_string();
            let expected = "an input of a recording: expected [2, 1] of u32, found ";
            assert!(error.starts_with(&format!("{expected}{found}")), "{error}");
        }
        assert_eq!(to.to_vec2::<u32>()?, [[3], [4]]);
        Ok(())
    }
}
