//! A forward pass as one CUDA graph: recorded at its first run, repeated from then on.
//!
//! The graph and the level are two things: whatever a level launches can be recorded, and a level is no faster for
//! it on the device; what goes is the host's time for each launch. [`Replay`] is for a forward pass of tensors,
//! [`Decoder`] for the steps of a language model, each of which stands at another position.

mod decoder;

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, bail};
use kernels::cuda_graph::{Buffers, CudaGraph, warm};

pub use decoder::Decoder;

/// A forward pass that was recorded.
struct Recorded {
    /// Made by the graph: dropped before it.
    output: Tensor,
    inputs: Vec<Tensor>,
    graph: CudaGraph,
}

/// Recordings of one forward pass, one for the shapes and formats of its inputs.
#[derive(Default)]
pub struct Replay {
    recorded: HashMap<Vec<(Vec<usize>, DType)>, Recorded>,
}

impl Replay {
    // ANCHOR: run
    /// `forward` of `inputs`, recorded if it was not with inputs of these shapes. `forward` depends on nothing else
    /// that changes, and leaves nothing behind.
    ///
    /// The result is the recording's own memory: the next run with the same shapes writes over it.
    ///
    /// # Errors
    /// Those of `forward`, and when the device is no GPU or cannot record what `forward` does.
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
        // Of their own memory and in order, whatever views were given: later ones are written there.
        let inputs = inputs.iter().map(|x| x.force_contiguous());
        let inputs: Vec<Tensor> = inputs.collect::<Result<_>>()?;
        let buffers = warm(device, || {
            forward(&inputs)?; // loads kernels and packs weights
            Buffers::of(|| forward(&inputs))
        })?;
        device.synchronize()?;
        let (graph, output) = CudaGraph::record(device, buffers, || forward(&inputs))?;
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

    /// Kernels of each recording.
    pub fn kernels(&self) -> impl Iterator<Item = usize> {
        self.recorded.values().map(|r| r.graph.kernels())
    }
}

/// How forward passes run: launch by launch, or recorded.
pub enum Pass {
    /// Each launch by the host.
    Eager,
    /// Recorded at the first run with inputs of each shape.
    Graph(Replay),
}

impl Pass {
    /// Recorded if `graph`.
    pub fn new(graph: bool) -> Self {
        if graph {
            Self::Graph(Replay::default())
        } else {
            Self::Eager
        }
    }

    /// Kernels of the largest recording, if there is one.
    pub fn kernels(&self) -> Option<usize> {
        match self {
            Self::Eager => None,
            Self::Graph(replay) => replay.kernels().max(),
        }
    }

    /// `forward` of `inputs`, as [`Replay::run`] has it.
    ///
    /// # Errors
    /// Those of [`Replay::run`].
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

/// `x` into the memory of `to`, of the same shape and format.
fn copy(x: &Tensor, to: &Tensor) -> Result<()> {
    // `slice_set` would leave what a smaller one does not reach as it was.
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
    fn what_is_copied_has_the_shape_and_format_of_where_it_goes() -> Result<()> {
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
