//! The launches of `ends.cu`.

use candle_core::{Result, Tensor};

use super::Size;
use super::state::{MLP_CLUSTERS, State};
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("decoder_pass/level5/ends", sm_90a);

impl State {
    /// x (1, 1, C) in f32, without partial sums: the model's, or what a launch of `decoder_begin` makes of it.
    pub fn begin(x: &Tensor, size: &'static Size) -> Result<Self> {
        let mut state = Self::new(x, size)?;
        let Some(begin) = size.begin else {
            state.first = Some(x.clone());
            return Ok(state);
        };
        Launch::new(&MODULE, begin)
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
    use super::*;
    use crate::decoder_pass::level5::SIZES;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        let file = KernelFile::read("decoder_pass/level5/ends", "sm_90a");
        let widest = SIZES.iter().map(|size| size.hidden).max();
        assert_eq!(Some(2 * file.constant("MOST_THREADS")), widest);
        assert_eq!(file.constant("MLP_CLUSTERS"), MLP_CLUSTERS);
    }
}
