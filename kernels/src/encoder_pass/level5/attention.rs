//! The attention of a block: the launch of `attention.cu`.

use candle_core::{Result, Tensor};

use super::{HEADS, TOKENS};
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("encoder_pass/level5/attention", sm_90a);

/// THREADS, QUERIES and HALF of `attention.cu`: threads and queries of a block, keys of a warpgroup.
const THREADS: usize = 256;
const QUERIES: usize = 64;
const HALF: usize = 112;

const _: () = assert!(2 * HALF >= TOKENS);

/// Channels of a head, which are the columns of a box.
const D: usize = 64;

/// q, k and v, five times 16 bytes per thread, and two barriers: BARRIERS + 16.
const SMEM: usize = 2 * D * (QUERIES + 2 * 2 * HALF) + THREADS * 5 * 16 + 16;

/// y (T, C) = softmax(q·kᵀ/√D)·v of qkv (T, 3C), head by head.
pub fn launch(qkv: &Tensor, y: &Tensor) -> Result<()> {
    Launch::new(&MODULE, "encoder_attention_bf16_level5")
        .grid(HEADS, TOKENS.div_ceil(QUERIES), 1)
        .block(THREADS, 1, 1)
        .smem(SMEM)
        .programmatic()
        .boxes(qkv, QUERIES, D)
        .boxes(qkv, 2 * HALF, D)
        .write(y)
        .launch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        let file = KernelFile::read("encoder_pass/level5/attention", "sm_90a");
        for (name, value) in [
            ("THREADS", THREADS),
            ("QUERIES", QUERIES),
            ("HALF", HALF),
            ("KEYS", 2 * HALF),
            ("D", D),
        ] {
            assert_eq!(file.constant(name), value, "{name}");
        }
        assert_eq!(file.expression("V"), "K + KEYS * 128");
        assert_eq!(file.expression("GIVEN"), "V + KEYS * 128");
        assert_eq!(file.expression("BARRIERS"), "GIVEN + THREADS * 5 * 16");
        assert_eq!(file.max_threads("encoder_attention_bf16_level5"), THREADS);
    }
}
