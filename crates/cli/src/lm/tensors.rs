//! `input_ids` → `logits`, and with `--generate N` also `tokens`.

use std::path::Path;

use candle_core::Tensor;
use models::lm::{Config, Logits};
use models::{LanguageModel, Ops, Sampling, Scores};

use super::steps::Steps;
use super::{LmArgs, ids};
use crate::files::Output;
use crate::progress::Progress;
use crate::tensors::{Input, Named, named, write};
use crate::trace::warm_up;

/// Maximum number of keys and values of all rows: 2 GiB in f32.
const MAX_CACHED: usize = 1 << 29;

/// Maximum number of new tokens of all rows: each is chosen by a call of its own, which takes 10 µs.
const MAX_NEW: usize = 1 << 20;

/// A cache has room for a multiple of this many positions.
const BLOCK: usize = 64;

/// input_ids (B, T) → logits (B, T, V), and tokens (B, T + N) with `--generate N`.
pub fn run(
    args: &LmArgs,
    ops: &dyn Ops,
    scores: Scores,
    model: &LanguageModel,
    recorded: bool,
    input: &Path,
    output: &Output,
) -> anyhow::Result<()> {
    let new = args.generate.unwrap_or(0);
    let mut rows = read(input, model, new)?;
    let size = [rows.len(), rows[0].len()];
    let name = input.display().to_string();
    (model.config()).check_pass(&name, size, new, Logits::All, scores)?;
    warm_up(args.run.trace, || {
        logits(ops, model, &mut rows.clone(), new.min(2), recorded)
    })?;
    let logits = logits(ops, model, &mut rows, new, recorded)?;
    let logits = Named::floats("logits", &logits).map_err(|error| named(name, error))?;
    let mut answer = vec![logits];
    if args.generate.is_some() {
        answer.push(Named::tokens("tokens", &rows));
    }
    write(output, &answer)
}

/// Returns the logits of the tokens in `rows` (B, T, V), and adds `new` tokens to each row.
fn logits(
    ops: &dyn Ops,
    model: &LanguageModel,
    rows: &mut [Vec<u32>],
    new: usize,
    recorded: bool,
) -> anyhow::Result<Tensor> {
    let mut caches = model.new_caches(ops, rows.len(), rows[0].len() + new)?;
    let prompt = ids(rows, model.device())?;
    let logits = model.forward(ops, &prompt, &mut caches, Logits::All)?; // (B, T, V)
    let mut last = logits.narrow(1, logits.dim(1)? - 1, 1)?.squeeze(1)?; // (B, V)
    let batch = rows.len();
    let mut steps = Steps::new(ops, model, caches, recorded, batch)?;
    let progress = Progress::new("generating tokens", new);
    for n in 0..new {
        let next = next_tokens(ops, &last)?;
        for (row, token) in rows.iter_mut().zip(&next) {
            row.push(*token);
        }
        if n + 1 < new {
            let next = Tensor::from_vec(next, (rows.len(), 1), model.device())?;
            last = steps.read(ops, model, &next)?.squeeze(1)?;
        }
        progress.step();
    }
    Ok(logits)
}

/// Reads the rows of `input_ids`; none is empty, and each has room for `new` more tokens.
fn read(input: &Path, model: &LanguageModel, new: usize) -> models::Result<Vec<Vec<u32>>> {
    const NAME: &str = "input_ids";
    let config = model.config();
    let input = Input::read(input, &[NAME])?;
    let ids = input.integers(NAME, &[None, None], "tokens", config.vocab_size)?;
    if ids.values.is_empty() {
        let found = format!("shape {:?}", ids.shape);
        return Err(input.complain(NAME, "at least one token", found).into());
    }
    let (length, context) = (ids.shape[1], config.max_position_embeddings);
    if length > context {
        let expected = format!("at most {context} tokens per row, the model's context");
        return Err(input.complain(NAME, &expected, length).into());
    }
    // The last token is not fed back, so it needs no position.
    if new > context - length + 1 {
        let expected = format!(
            "at most {} after a prompt of {length} tokens",
            context - length + 1
        );
        return Err(data::BadInput::new("--generate", expected, new).into());
    }
    let rows = ids.shape[0];
    if rows.saturating_mul(new) > MAX_NEW {
        let expected = format!("at most {} for {rows} rows", MAX_NEW / rows);
        return Err(data::BadInput::new("--generate", expected, new).into());
    }
    let fits = longest(config) / (length + new).next_multiple_of(BLOCK);
    if rows > fits {
        let expected = format!(
            "at most {fits} rows of {length} tokens, whose keys and values fit into memory"
        );
        return Err(input.complain(NAME, &expected, rows).into());
    }
    Ok(ids
        .values
        .chunks_exact(length)
        .map(<[u32]>::to_vec)
        .collect())
}

/// Positions of all rows whose keys and values fit into memory.
pub fn longest(config: &Config) -> usize {
    let heads = config.heads;
    let of_one = 2 * config.num_hidden_layers * heads.num_kv_heads * heads.head_dim;
    MAX_CACHED / of_one.max(1)
}

/// Returns the most probable next token of each row of `logits` (B, V).
fn next_tokens(ops: &dyn Ops, logits: &Tensor) -> candle_core::Result<Vec<u32>> {
    let row = |b| ops.next_token(&logits.get(b)?, &mut Sampling::greedy());
    (0..logits.dim(0)?).map(row).collect()
}
