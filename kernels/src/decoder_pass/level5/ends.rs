//! The launch of `ends.cu`.

use candle_core::{Result, Tensor};

use super::state::State;
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("decoder_pass/level5/ends", sm_90a);

impl State<'_> {
    /// Launches `decoder_end` after a `decoder_mlp`: (1, 1, C)
    pub fn end(self) -> Result<Tensor> {
        Launch::new(&MODULE, self.size.end)
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
    use crate::decoder_pass::level5::SIZES;
    use crate::decoder_pass::level5::state::MLP_CLUSTERS;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        let file = KernelFile::read("decoder_pass/level5/ends", "sm_90a");
        let widest = SIZES.iter().map(|size| size.hidden).max();
        assert_eq!(Some(2 * file.constant("MOST_THREADS")), widest);
        assert_eq!(file.constant("MLP_CLUSTERS"), MLP_CLUSTERS);
    }
}
