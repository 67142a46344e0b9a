//! `--prompt`: reads a text and prints its continuation as it is generated.

use std::io::{ErrorKind, IsTerminal, Write};

use data::BadInput;
use levels::Name;
use models::config::ConfigFile;
use models::lm::{Config, Logits};
use models::{LanguageModel, Ops, Sampling};

use super::LmArgs;
use super::generation::Generation;
use super::tensors::longest;
use super::text::{Stream, Text};
use crate::device::Choice;
use crate::load::Loaded;
use crate::note::note;
use crate::trace::warm_up;

/// Default of `--prompt`.
const DEFAULT_PROMPT: &str = "When you want to";

/// Default of `--max-tokens`.
const DEFAULT_TOKENS: usize = 120;

/// Default of `--max-tokens` in the simulator, which takes a thousand times as long.
const SIMULATED_TOKENS: usize = 16;

/// Prints the prompt and its continuation on stdout, and the speed on stderr.
pub fn run(
    args: &LmArgs,
    sampling: Sampling,
    ops: &dyn Ops,
    level: &Name,
    loaded: &Loaded<LanguageModel>,
    recorded: bool,
) -> anyhow::Result<()> {
    let prompt = args.prompt.as_deref().unwrap_or(DEFAULT_PROMPT);
    let text = Text::open(loaded)?;
    let config = loaded.model.config();
    let tokens = text.encode(prompt, config.vocab_size)?;
    let context = context(config);
    let room = room(tokens.len(), context)?;
    let tokens_by_default = match args.model.device {
        Choice::Sim => SIMULATED_TOKENS,
        _ => DEFAULT_TOKENS,
    };
    let limit = args.max_tokens.unwrap_or(tokens_by_default).min(room);
    let scores = args.run.scores(level, loaded.model.device());
    config.check_pass("--prompt", [1, tokens.len()], limit, Logits::Last, scores)?;
    let end = end_of_text(loaded)?;
    let stream = text.stream(&tokens)?;
    if matches!(text, Text::Bytes) {
        note(
            "presets have no tokenizer: each byte of the prompt is a token, and new tokens are printed as numbers",
        );
    }

    let start =
        |sampling| Generation::start(ops, &loaded.model, &tokens, limit, sampling, recorded);
    warm_up(args.run.trace, || {
        let sampling = args.sampling()?;
        let mut first = start(sampling)?;
        let token = first.next()?;
        match limit {
            0 | 1 => Ok(()),
            _ => first.push(token),
        }
    })?;

    put(marked(prompt, console::colors_enabled()))?;
    let (generation, count) = start(sampling)
        .and_then(|mut generation| {
            let count = stream_text(&mut generation, stream, &end, limit)?;
            Ok((generation, count))
        })
        .inspect_err(|_| {
            // An error has a line of its own; one of this `put` is no other.
            let _ = put("\n".to_owned());
        })?;
    if count == room && args.max_tokens.is_some_and(|wanted| wanted > count) {
        note(format_args!("the context of {context} tokens is full"));
    }
    let warm = args.run.trace; // after a warm-up pass
    generation.report(&args.run.label(level), &loaded.name, warm);
    Ok(())
}

/// The prompt, dimmed in a terminal so that a reader sees where the model goes on.
fn marked(prompt: &str, in_colours: bool) -> String {
    console::style(prompt)
        .dim()
        .force_styling(in_colours)
        .to_string()
}

/// Writes up to `limit` tokens as they come; returns how many there were before the end of the text. It also ends when
/// the reader has closed the pipe, because no one reads the rest.
fn stream_text(
    generation: &mut Generation,
    mut stream: Stream,
    end: &[u32],
    limit: usize,
) -> anyhow::Result<usize> {
    // Text that a model writes, or its vocabulary holds, must not act on a terminal. A pipe gets it as it is.
    let is_terminal = std::io::stdout().is_terminal();
    let shown = |text: String| {
        if is_terminal {
            data::plain(&text).into_owned()
        } else {
            text
        }
    };
    let mut count = 0;
    while count < limit {
        let token = generation.next()?;
        if end.contains(&token) {
            break;
        }
        if !put(shown(stream.push(token)?))? {
            return Ok(count);
        }
        count += 1;
        if count < limit {
            generation.push(token)?;
        }
    }
    put(shown(stream.end()?) + "\n")?;
    Ok(count)
}

/// Writes a part of the text at once; returns whether there is still a reader.
fn put(text: String) -> Result<bool, BadInput> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(BadInput::unwritable("stdout".as_ref(), &e)),
    }
}

/// Positions of the model that fit into memory.
fn context(config: &Config) -> usize {
    config.max_position_embeddings.min(longest(config))
}

/// Returns how many tokens fit after a prompt of `length` tokens.
fn room(length: usize, context: usize) -> Result<usize, BadInput> {
    match context.checked_sub(length) {
        // The last token is not fed back, so it needs no position.
        Some(left) => Ok(left + 1),
        None => {
            let expected = format!(
                "at most {context} tokens, the model's context (shorten the prompt, or choose a --model with a longer context)"
            );
            Err(BadInput::new("--prompt", expected, length))
        }
    }
}

/// Returns the end-of-text tokens: `eos_token_id`, a number or a list, of `generation_config.json`, or else
/// of `config.json`.
fn end_of_text(loaded: &Loaded<LanguageModel>) -> Result<Vec<u32>, BadInput> {
    for name in ["generation_config.json", "config.json"] {
        if let Some(path) = loaded.file(name)
            && let Some(tokens) = eos(&ConfigFile::read(&path)?, loaded.model.config().vocab_size)?
        {
            return Ok(tokens);
        }
    }
    Ok(vec![])
}

fn eos(config: &ConfigFile, vocab_size: usize) -> Result<Option<Vec<u32>>, BadInput> {
    const KEY: &str = "eos_token_id";
    let Some(value) = config.get(KEY) else {
        return Ok(None);
    };
    let one = std::slice::from_ref(value);
    let list = value.as_array().map_or(one, Vec::as_slice);
    let token = |value: &serde_json::Value| {
        let token = u32::try_from(value.as_u64()?).ok()?;
        ((token as usize) < vocab_size).then_some(token)
    };
    let tokens: Option<Vec<u32>> = list.iter().map(token).collect();
    let complain = || {
        config.complain(
            KEY,
            format!("a token, or a list of them, below {vocab_size}"),
        )
    };
    tokens.ok_or_else(complain).map(Some)
}

#[cfg(test)]
mod tests {
    use super::{context, marked, room};

    /// Keys and values of 32-bit floats have 2 GiB.
    #[test]
    fn a_long_context_is_cut_to_the_memory() {
        let mut config = models::presets::lm("smollm-135m").unwrap();
        assert_eq!(context(&config), config.max_position_embeddings);
        config.max_position_embeddings = usize::MAX;
        let most = context(&config);
        let heads = config.heads;
        let of_one = 4 * 2 * config.num_hidden_layers * heads.num_kv_heads * heads.head_dim;
        assert!((most * of_one) as u64 <= 2 << 30 && ((most + 1) * of_one) as u64 > 2 << 30);
        assert_eq!(room(most, most), Ok(1));
        let error = room(most + 1, most).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--prompt: expected at most {most} tokens")));
    }

    #[test]
    fn a_prompt_is_dim_in_a_terminal_alone() {
        assert_eq!(marked("The sea", false), "The sea");
        assert_eq!(marked("The sea", true), "\u{1b}[2mThe sea\u{1b}[0m");
    }
}
