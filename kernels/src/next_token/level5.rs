//! Level 5: the token is chosen by level 4's kernels and stays on the device, where the next step reads it.

use candle_core::{DType, Result, Tensor};

use super::level4_launch::launch_top_k;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("next_token/level5", sm_75, sm_90);

/// Two launches: the k most probable tokens of softmax(logits/temperature), then the one of them that `chance` draws.
pub(super) fn launch_draw(
    logits: &Tensor,
    k: usize,
    temperature: f64,
    chance: &Tensor,
    token: &Tensor,
) -> Result<()> {
    let vocab = logits.elem_count();
    let tokens = output::tensor((2, k), DType::U32, logits.device())?;
    launch_top_k(logits, &tokens, vocab, temperature)?;
    Launch::new(&MODULE, "draw_level5")
        .programmatic()
        .read(&tokens)
        .read(chance)
        .write(token)
        .u32(k)
        .u32(vocab)
        .launch()
}
