//! The launch of `attend.cu`.

use candle_core::{Result, Tensor};
use operands::DecoderBlock;

use super::D;
use super::state::{State, rms};
use crate::attention::level5::PositionedCache;
use crate::launch::{Module, module};

static MODULE: Module = module!("decoder_pass/level5/attend", sm_90a);

impl State<'_> {
    /// Launches `decoder_attend`, with the angles of all positions.
    pub fn attend(
        &mut self,
        block: &DecoderBlock,
        [cos, sin]: [&Tensor; 2],
        cache: &PositionedCache,
    ) -> Result<()> {
        let (gain, eps) = rms(block.norm_before)?;
        let (keys, values) = cache.inner.tensors()?;
        self.clusters(&MODULE, self.size.attend, self.size.heads)
            .read(self.id)
            .constant(self.table)
            .u32(self.vocab)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder_pass::level5::SIZES;
    use crate::decoder_pass::level5::state::check_clusters;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        let file = KernelFile::read("decoder_pass/level5/attend", "sm_90a");
        for size in &SIZES {
            let (h, heads, kv) = (size.hidden, size.heads, size.kv_heads);
            let line = format!("ATTEND({}, {h}, {heads}, {kv})", size.types());
            assert!(file.has_line(&line) && h == heads * D);
            check_clusters(&MODULE, &file, size.attend);
        }
    }
}
