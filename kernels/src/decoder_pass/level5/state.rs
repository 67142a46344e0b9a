//! The sums that a launch of a step leaves for the next one, and its constants.

use candle_core::{DType, Device, Result, Tensor};
use operands::Norm;

use super::Size;
use crate::launch::{Launch, Module};
use crate::output;

/// C, THREADS and MLP_CLUSTERS of `cluster.cuh`: blocks of a cluster, threads of a block, clusters of `mlp.cu`.
pub(super) const BLOCKS: usize = 4;
pub(super) const THREADS: usize = 384;
pub(in crate::decoder_pass) const MLP_CLUSTERS: usize = 16;

/// x in f32, and the partial sums that belong to it.
pub(in crate::decoder_pass) struct Sums {
    /// (C)
    pub x: Tensor,
    /// (clusters, C)
    pub parts: Tensor,
}

/// The sums that the last launch has written, and those that the next one writes.
pub(in crate::decoder_pass) struct State<'a> {
    pub size: &'static Size,
    /// (1, 1) u32
    pub id: &'a Tensor,
    /// (V, C)
    pub table: &'a Tensor,
    /// V before the first block, which reads a row of the table in place of `now`; then 0.
    pub vocab: usize,
    /// (1, 1, C), in the dtype of the model.
    pub y: Tensor,
    pub now: Sums,
    pub next: Sums,
}

fn sums(device: &Device, size: &Size) -> Result<Sums> {
    let f32 = |shape: &[usize]| output::tensor(shape, DType::F32, device);
    // attend.cu has a cluster per query head, which are fewer.
    Ok(Sums {
        x: f32(&[size.hidden])?,
        parts: f32(&[MLP_CLUSTERS, size.hidden])?,
    })
}

/// The gain (C) of an RMSNorm, and eps.
pub(super) fn rms(norm: &Norm) -> Result<(&Tensor, f64)> {
    match norm {
        Norm::Rms { weight, eps } => Ok((weight, *eps)),
        Norm::Layer { .. } => candle_core::bail!("decoder_pass_level5: expected RMSNorm"),
    }
}

impl<'a> State<'a> {
    /// Memory for a step of the token `id` (1, 1), whose embedding is a row of the table (V, C).
    pub fn new(id: &'a Tensor, table: &'a Tensor, size: &'static Size) -> Result<Self> {
        let device = table.device();
        Ok(Self {
            size,
            id,
            table,
            vocab: table.dim(0)?,
            y: output::tensor((1, 1, size.hidden), size.dtype, device)?,
            now: sums(device, size)?,
            next: sums(device, size)?,
        })
    }

    /// A launch of clusters whose first arguments are the sums.
    pub fn clusters(
        &self,
        module: &'static Module,
        entry: &'static str,
        count: usize,
    ) -> Launch<'_> {
        Launch::new(module, entry)
            .grid(count * BLOCKS, 1, 1)
            .block(THREADS, 1, 1)
            .programmatic()
            .read(&self.now.x)
            .read(&self.now.parts)
            .write(&self.next.x)
            .write(&self.next.parts)
    }

    /// Swaps the sums: the next launch reads those that this one wrote.
    pub fn turn(&mut self) {
        self.vocab = 0;
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

/// Checks the constants that a kernel of clusters shares with its launch.
#[cfg(test)]
pub(super) fn check_clusters(module: &Module, file: &crate::testing::KernelFile, entry: &str) {
    for (name, value) in [
        ("C", BLOCKS),
        ("THREADS", THREADS),
        ("D", super::D),
        ("F", super::F),
        ("MLP_CLUSTERS", MLP_CLUSTERS),
    ] {
        assert_eq!(file.constant(name), value, "{name}");
    }
    assert_eq!(file.max_threads(entry), THREADS, "{entry}");
    let text = module.texts()[0];
    let blocks = crate::testing::directive(text, entry, ".reqnctapercluster");
    assert_eq!(blocks, BLOCKS, "{entry}");
}
