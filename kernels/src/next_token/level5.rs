//! Level 5: the token is chosen by level 4's kernels and stays on the device, where the next step reads it.

use candle_core::{DType, Result, Tensor};

use super::check;
use super::level4::{self, MAX_K};
use crate::error::{mismatch, unsupported};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("next_token/level5", sm_75, sm_90);

/// Writes the index of the maximum of logits (V) to `token`, one u32 on the same GPU; V where one is NaN.
///
/// # Errors
/// When logits are not (V) of f32 or bf16, or they are on a CPU.
pub fn argmax(logits: &Tensor, token: &Tensor) -> Result<()> {
    let vocab = checked("argmax_level5", logits, token)?;
    level4::launch_argmax(logits, token, vocab)
}

/// Writes a token to `token`, one u32 on the same GPU, drawn from the k most probable of
/// softmax(logits/temperature): those that reach `top_p` of their sum, and of these the one at which the sum passes
/// `uniform` of it. `chance` (2) of f64 holds `uniform`, in 0..1, and `top_p`. V where a logit is NaN or ∞.
///
/// # Errors
/// When logits are not (V) of f32 or bf16, when they are on a CPU, or when k is 0 or above 1024.
pub fn draw(
    logits: &Tensor,
    k: usize,
    temperature: f64,
    chance: &Tensor,
    token: &Tensor,
) -> Result<()> {
    let vocab = checked("draw_level5", logits, token)?;
    let k = k.min(vocab);
    if !can_draw(k) {
        return Err(unsupported("draw_level5", "k from 1 to 1024", k, 2));
    }
    if (chance.dtype(), chance.dims()) != (DType::F64, &[2]) {
        let found = format!("{:?} of {}", chance.dims(), chance.dtype().as_str());
        return Err(mismatch("draw_level5", "chance (2) of f64", found));
    }
    let tokens = output::tensor((2, k), DType::U32, logits.device())?;
    level4::launch_top_k(logits, &tokens, vocab, temperature)?;
    Launch::new(&MODULE, "draw_level5")
        .programmatic()
        .read(&tokens)
        .read(chance)
        .write(token)
        .u32(k)
        .u32(vocab)
        .launch()
}

/// Whether [`draw`] can draw from the `k` most probable.
pub fn can_draw(k: usize) -> bool {
    (1..=MAX_K).contains(&k)
}

/// V of logits (V) on a GPU, and whether `token` can hold one.
fn checked(kernel: &str, logits: &Tensor, token: &Tensor) -> Result<usize> {
    let vocab = check(kernel, logits)?;
    if on_cpu(logits.device()) {
        return Err(mismatch(kernel, "logits on a GPU", "on the CPU"));
    }
    if (token.dtype(), token.elem_count()) != (DType::U32, 1) {
        let found = format!("{:?} of {}", token.dims(), token.dtype().as_str());
        return Err(mismatch(kernel, "one u32 for the token", found));
    }
    Ok(vocab)
}
