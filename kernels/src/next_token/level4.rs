//! Level 4: one block finds the maximum; logits become keys that sort as integers.

use candle_core::{DType, Result, Tensor};

use super::not_finite;
use crate::element::by_dtype;
use crate::error::unsupported;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("next_token/level4", sm_75, sm_90);

/// Threads of the block: `THREADS` of `level4.cu`.
pub(super) const THREADS: usize = 1024;

/// The maximum k on a GPU, which is the number of tokens that the block sorts: `MAX_K` of `level4.cu`.
pub(super) const MAX_K: usize = 1024;

/// Launches, and copies the token to the host.
pub(super) fn argmax_on_gpu(logits: &Tensor, vocab: usize) -> Result<u32> {
    let token = output::tensor(1, DType::U32, logits.device())?;
    launch_argmax(logits, &token, vocab)?;
    let token = token.to_vec1::<u32>()?[0];
    if (token as usize) < vocab {
        Ok(token)
    } else {
        Err(not_finite("argmax_level4"))
    }
}

/// Writes to `token` (1) the index, or `vocab` where a logit is NaN.
pub(super) fn launch_argmax(logits: &Tensor, token: &Tensor, vocab: usize) -> Result<()> {
    let entry = by_dtype(
        "argmax_level4",
        logits.dtype(),
        "argmax_f32_level4",
        "argmax_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .block(THREADS, 1, 1)
        .programmatic()
        .read(logits)
        .write(token)
        .u32(vocab)
        .launch()
}

/// Writes to `out` (2, k) the k most probable tokens, most probable first, and the bits of their probabilities, which
/// are NaN where a logit is NaN or ∞.
pub(super) fn launch_top_k(
    logits: &Tensor,
    out: &Tensor,
    vocab: usize,
    temperature: f64,
) -> Result<()> {
    let entry = by_dtype(
        "top_k_level4",
        logits.dtype(),
        "top_k_f32_level4",
        "top_k_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .block(THREADS, 1, 1)
        .programmatic()
        .read(logits)
        .write(out)
        .u32(vocab)
        .u32(out.dim(1)?)
        .f32(1. / temperature)
        .launch()
}

/// Launches, and copies the tokens and their probabilities to the host.
pub(super) fn top_k_on_gpu(
    logits: &Tensor,
    vocab: usize,
    k: usize,
    temperature: f64,
) -> Result<Vec<(u32, f32)>> {
    if k > MAX_K {
        let expected = format!("k up to {MAX_K}");
        return Err(unsupported("top_k_level4", expected, k, 2));
    }
    let out = output::tensor((2, k), DType::U32, logits.device())?;
    launch_top_k(logits, &out, vocab, temperature)?;
    let out = out.flatten_all()?.to_vec1::<u32>()?;
    let (tokens, bits) = out.split_at(k);
    let probabilities = bits.iter().map(|&bits| f32::from_bits(bits));
    Ok(tokens.iter().copied().zip(probabilities).collect())
}
