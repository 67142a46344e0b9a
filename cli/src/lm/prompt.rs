//! `--prompt`: text in, text out, as it comes.

use std::io::Write;
use std::time::{Duration, Instant};

use candle_core::Tensor;
use data::BadInput;
use models::config::ConfigFile;
use models::lm::Logits;
use models::{KvCache, LanguageModel, Ops, Sampling};

use super::text::Text;
use super::{LmArgs, ids};
use crate::load::Loaded;
use crate::tensors::finite;

/// What the model continues when nobody says what.
const DEFAULT_PROMPT: &str = "The ownership rules";

/// Prints the prompt and its continuation on stdout, and the speed on stderr.
pub fn run(
    args: &LmArgs,
    mut sampling: Sampling,
    ops: &dyn Ops,
    loaded: &Loaded<LanguageModel>,
) -> anyhow::Result<()> {
    let prompt = args.prompt.as_deref().unwrap_or(DEFAULT_PROMPT);
    let text = Text::open(loaded)?;
    let config = loaded.model.config();
    let tokens = text.encode(prompt, config.vocab_size)?;
    let room = room(tokens.len(), config.max_position_embeddings)?;
    let end = end_of_text(loaded)?;
    let mut stream = text.stream(&tokens)?;
    if matches!(text, Text::Bytes) {
        let note = "a preset has no tokenizer: prompt read as bytes, tokens printed as numbers";
        writeln!(std::io::stderr(), "note: {note}")?;
    }

    let mut out = std::io::stdout().lock();
    write!(out, "{prompt}")?;
    out.flush()?;
    let limit = args.max_tokens.min(room);
    let mut generation = Generation::start(ops, &loaded.model, &tokens, limit)?;
    let mut count = 0;
    while count < limit {
        let token = generation.next(&mut sampling)?;
        if end.contains(&token) {
            break;
        }
        write!(out, "{}", stream(token)?)?;
        out.flush()?;
        count += 1;
        if count < limit {
            generation.push(token)?;
        }
    }
    writeln!(out)?;
    if count == room && count < args.max_tokens {
        let context = config.max_position_embeddings;
        writeln!(
            std::io::stderr(),
            "note: the context of {context} tokens is full"
        )?;
    }
    generation.report(ops.level(), &loaded.name)?;
    Ok(())
}

/// How many tokens fit behind a prompt of `length` tokens.
fn room(length: usize, context: usize) -> Result<usize, BadInput> {
    match context.checked_sub(length) {
        // The last token is never read, so it needs no position.
        Some(left) => Ok(left + 1),
        None => {
            let expected = format!("at most {context} tokens, the model's context");
            Err(BadInput::new("--prompt", expected, length))
        }
    }
}

/// `eos_token_id` of `config.json`: a number or a list of them, or nothing.
fn end_of_text(loaded: &Loaded<LanguageModel>) -> Result<Vec<u32>, BadInput> {
    const KEY: &str = "eos_token_id";
    let Some(path) = loaded.file("config.json") else {
        return Ok(vec![]);
    };
    let config = ConfigFile::read(&path)?;
    let Some(value) = config.get(KEY) else {
        return Ok(vec![]);
    };
    let one = std::slice::from_ref(value);
    let list = value.as_array().map_or(one, Vec::as_slice);
    let token = |value: &serde_json::Value| u32::try_from(value.as_u64()?).ok();
    let tokens: Option<Vec<u32>> = list.iter().map(token).collect();
    tokens.ok_or_else(|| config.complain(KEY, "a token, or a list of them"))
}

/// A text in progress.
struct Generation<'a> {
    ops: &'a dyn Ops,
    model: &'a LanguageModel,
    caches: Vec<KvCache>,
    /// Of the next token, (V).
    logits: Tensor,
    prompt: usize,
    /// Tokens read after the prompt.
    decoded: usize,
    prefill: Duration,
    decode: Duration,
}

impl<'a> Generation<'a> {
    /// Reads the prompt; `limit` more tokens will fit.
    fn start(
        ops: &'a dyn Ops,
        model: &'a LanguageModel,
        tokens: &[u32],
        limit: usize,
    ) -> anyhow::Result<Self> {
        let start = Instant::now();
        let mut caches = model.new_caches(ops, 1, tokens.len() + limit)?;
        let ids = ids(&[tokens.to_vec()], model.device())?;
        let logits = model.forward(ops, &ids, &mut caches, Logits::Last)?;
        model.device().synchronize()?;
        let prefill = start.elapsed();
        finite("logits", &logits)?;
        Ok(Self {
            ops,
            model,
            caches,
            logits: logits.flatten_all()?,
            prompt: tokens.len(),
            decoded: 0,
            prefill,
            decode: Duration::ZERO,
        })
    }

    fn next(&mut self, sampling: &mut Sampling) -> anyhow::Result<u32> {
        let start = Instant::now();
        let token = self.ops.next_token(&self.logits, sampling)?;
        // The first token belongs to neither: it is drawn from the prompt's logits.
        if self.decoded > 0 {
            self.decode += start.elapsed();
        }
        Ok(token)
    }

    fn push(&mut self, token: u32) -> anyhow::Result<()> {
        let start = Instant::now();
        let ids = ids(&[vec![token]], self.model.device())?;
        let logits = self
            .model
            .forward(self.ops, &ids, &mut self.caches, Logits::Last)?;
        self.logits = logits.flatten_all()?;
        self.decoded += 1;
        self.decode += start.elapsed();
        Ok(())
    }

    /// On stderr: how fast it was.
    fn report(&self, level: u8, model: &str) -> std::io::Result<()> {
        let speed = |tokens: usize, time: Duration| match tokens {
            0 => "no tokens".to_string(),
            n => format!(
                "{n} tokens at {:.0} tokens/s",
                n as f64 / time.as_secs_f64()
            ),
        };
        let prefill = speed(self.prompt, self.prefill);
        let decode = speed(self.decoded, self.decode);
        let line = format!("level {level}, {model}: prefill {prefill}, decode {decode}");
        writeln!(std::io::stderr(), "{line}")
    }
}
