//! The launch of `mlp.cu`.

use candle_core::Result;
use operands::DecoderBlock;

use super::state::{MLP_CLUSTERS, State, rms};
use crate::launch::{Module, module};

static MODULE: Module = module!("decoder_pass/level5/mlp", sm_90a);

impl State<'_> {
    /// Launches `decoder_mlp`.
    pub fn mlp(&mut self, block: &DecoderBlock) -> Result<()> {
        let (gain, eps) = rms(block.norm_after)?;
        self.clusters(&MODULE, self.size.mlp, MLP_CLUSTERS)
            .constant(gain)
            .constant(block.gate_up.weight.tensor())
            .constant(block.down.weight.tensor())
            .f32(eps)
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
        let file = KernelFile::read("decoder_pass/level5/mlp", "sm_90a");
        for size in &SIZES {
            let (h, heads) = (size.hidden, size.heads);
            assert!(file.has_line(&format!("MLP({}, {h}, {heads})", size.types())));
            assert!(heads <= MLP_CLUSTERS);
            check_clusters(&MODULE, &file, size.mlp);
        }
    }
}
