//! The launches of `ends.cu`, `attend.cu` and `mlp.cu`.

use candle_core::{DType, Result, Tensor};
use operands::{DecoderBlock, Norm};

use super::{D, Size};
use crate::attention::level5::PositionedCache;
use crate::launch::{Launch, Module, module};
use crate::output;

static ENDS: Module = module!("decoder_pass/level5/ends", sm_90a);
static ATTEND: Module = module!("decoder_pass/level5/attend", sm_90a);
static MLP: Module = module!("decoder_pass/level5/mlp", sm_90a);

/// C, THREADS and MLP_CLUSTERS of `cluster.cuh`: blocks of a cluster, threads of a block, clusters of `mlp.cu`.
const BLOCKS: usize = 4;
const THREADS: usize = 384;
const MLP_CLUSTERS: usize = 16;

/// x in f32, and the partial sums that belong to it.
struct Sums {
    /// (C)
    x: Tensor,
    /// (clusters, C)
    parts: Tensor,
}

/// Where the chain is: the sums that the last launch has written, and those that the next one writes.
pub struct State {
    size: &'static Size,
    /// (1, 1, C), in bf16.
    y: Tensor,
    now: Sums,
    next: Sums,
}

fn sums(x: &Tensor, size: &Size) -> Result<Sums> {
    let f32 = |shape: &[usize]| output::tensor(shape, DType::F32, x.device());
    // attend.cu has a cluster per query head, which are fewer.
    Ok(Sums {
        x: f32(&[size.hidden])?,
        parts: f32(&[MLP_CLUSTERS, size.hidden])?,
    })
}

fn rms(norm: &Norm) -> Result<(&Tensor, f64)> {
    match norm {
        Norm::Rms { weight, eps } => Ok((weight, *eps)),
        Norm::Layer { .. } => candle_core::bail!("decoder_pass_level5: expected RMSNorm"),
    }
}

impl State {
    /// Launches `decoder_begin`: x (1, 1, C) in f32, without partial sums.
    pub fn begin(x: &Tensor, size: &'static Size) -> Result<Self> {
        let state = Self {
            size,
            y: output::tensor(x.shape(), DType::BF16, x.device())?,
            now: sums(x, size)?,
            next: sums(x, size)?,
        };
        Launch::new(&ENDS, "decoder_begin_bf16_level5")
            .grid(MLP_CLUSTERS, 1, 1)
            .block(size.hidden / 2, 1, 1)
            .programmatic()
            .read(x)
            .write(&state.now.x)
            .write(&state.now.parts)
            .u32(size.hidden)
            .launch()?;
        Ok(state)
    }

    /// A launch of clusters whose first arguments are the sums.
    fn clusters(&self, module: &'static Module, entry: &'static str, count: usize) -> Launch<'_> {
        Launch::new(module, entry)
            .grid(count * BLOCKS, 1, 1)
            .block(THREADS, 1, 1)
            .programmatic()
            .read(&self.now.x)
            .read(&self.now.parts)
            .write(&self.next.x)
            .write(&self.next.parts)
    }

    /// Launches `decoder_attend`, with the angles of all positions.
    pub fn attend(
        &mut self,
        block: &DecoderBlock,
        [cos, sin]: [&Tensor; 2],
        cache: &PositionedCache,
    ) -> Result<()> {
        let (gain, eps) = rms(block.norm_before)?;
        let (keys, values) = cache.inner.tensors()?;
        self.clusters(&ATTEND, self.size.attend, self.size.heads)
            .constant(gain)
            .constant(block.qkv.weight.tensor())
            .constant(block.out.weight.tensor())
            .constant(cos)
            .constant(sin)
            .update(keys)
            .update(values)
            .constant(cache.position)
            .u32(cache.inner.capacity)
            .f32(eps)
            .f32(1. / (D as f64).sqrt())
            .launch()?;
        self.turn();
        Ok(())
    }

    /// Launches `decoder_mlp`.
    pub fn mlp(&mut self, block: &DecoderBlock) -> Result<()> {
        let (gain, eps) = rms(block.norm_after)?;
        self.clusters(&MLP, self.size.mlp, MLP_CLUSTERS)
            .constant(gain)
            .constant(block.gate_up.weight.tensor())
            .constant(block.down.weight.tensor())
            .f32(eps)
            .launch()?;
        self.turn();
        Ok(())
    }

    fn turn(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }

    /// Launches `decoder_end` after a `decoder_mlp`: (1, 1, C)
    pub fn end(self) -> Result<Tensor> {
        Launch::new(&ENDS, "decoder_end_bf16_level5")
            .block(self.size.hidden / 2, 1, 1)
            .programmatic()
            .read(&self.now.x)
            .read(&self.now.parts)
            .write(&self.y)
            .u32(self.size.hidden)
            .launch()?;
        Ok(self.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder_pass::level5::{F, SIZES};
    use crate::testing::{KernelFile, directive};

    #[test]
    fn sizes_are_those_of_the_kernels() {
        let ends = KernelFile::read("decoder_pass/level5/ends", "sm_90a");
        let attend = KernelFile::read("decoder_pass/level5/attend", "sm_90a");
        let mlp = KernelFile::read("decoder_pass/level5/mlp", "sm_90a");
        for (name, value) in [
            ("C", BLOCKS),
            ("THREADS", THREADS),
            ("D", D),
            ("F", F),
            ("MLP_CLUSTERS", MLP_CLUSTERS),
        ] {
            assert_eq!(attend.constant(name), value, "{name}");
        }
        let widest = SIZES.iter().map(|size| size.hidden).max();
        assert_eq!(Some(2 * ends.constant("MOST_THREADS")), widest);
        for size in &SIZES {
            let (h, heads, kv) = (size.hidden, size.heads, size.kv_heads);
            assert!(attend.has_line(&format!("ATTEND({h}, {heads}, {kv})")));
            assert!(mlp.has_line(&format!("MLP({h}, {heads})")));
            assert!(heads <= MLP_CLUSTERS && h == heads * D);
            for (module, file, entry) in [(&ATTEND, &attend, size.attend), (&MLP, &mlp, size.mlp)] {
                assert!(entry.contains(&format!("_{h}_")), "{entry}");
                assert_eq!(file.max_threads(entry), THREADS, "{entry}");
                let blocks = directive(module.texts()[0], entry, ".reqnctapercluster");
                assert_eq!(blocks, BLOCKS, "{entry}");
            }
        }
    }
}
