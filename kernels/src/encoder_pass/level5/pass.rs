//! The launch of `pass.cu`.

use candle_core::{Result, Tensor};

use super::prepared::Weights;
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("encoder_pass/level5/pass", sm_90a);

/// CLUSTERS, RANKS, THREADS and `Shared::BYTES` of `encoder.cuh`.
pub const CLUSTERS: usize = 7;
const RANKS: usize = 12;
const THREADS: usize = 416;
const SMEM: usize = 230_928;

/// y = the blocks of x, both (1, T, C).
pub fn launch<'a>(x: &'a Tensor, weights: &'a Weights, y: &'a Tensor) -> Launch<'a> {
    Launch::new(&MODULE, "encoder_pass_bf16_level5")
        .grid(CLUSTERS * RANKS, 1, 1)
        .block(THREADS, 1, 1)
        .smem(SMEM)
        .programmatic()
        .constant(&weights.tiles)
        .constant(&weights.vectors)
        .read(x)
        .write(y)
        .update(&weights.kv)
        .u32(weights.layers)
        .f32(weights.eps)
}

/// Whether the GPU of x has room for all clusters at once: they wait for each other.
pub fn has_room(x: &Tensor, weights: &Weights) -> Result<bool> {
    Ok(launch(x, weights, x).clusters_at_once()? >= CLUSTERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder_pass::level5::{C, D, F, HEADS, TOKENS};
    use crate::testing::{KernelFile, directive};

    #[test]
    fn sizes_are_those_of_the_kernel() {
        let file = KernelFile::read("encoder_pass/level5/pass", "sm_90a");
        for (name, value) in [
            ("TOKENS", TOKENS),
            ("C", C),
            ("F", F),
            ("HEADS", HEADS),
            ("D", D),
            ("CLUSTERS", CLUSTERS),
            ("RANKS", RANKS),
            ("THREADS", THREADS),
        ] {
            assert_eq!(file.constant(name), value, "{name}");
        }
        let entry = "encoder_pass_bf16_level5";
        assert_eq!(file.max_threads(entry), THREADS);
        let text = MODULE.texts()[0];
        assert_eq!(directive(text, entry, ".reqnctapercluster"), RANKS);
        assert!(file.has_line(&format!("static_assert(Shared::BYTES == {SMEM});")));
    }
}
