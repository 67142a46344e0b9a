//! Generation of a text, with timing.

use std::time::{Duration, Instant};

use candle_core::Tensor;
use kernels::launch::is_simulated;
use models::lm::Logits;
use models::{LanguageModel, Ops, Sampling};
use replay::Decoder;

use super::ids;
use super::steps::{Steps, repeatable};
use crate::tensors::finite;

/// Decoding after the prompt.
enum Reader {
    /// The host passes each token to the model.
    Given(Steps),
    /// A recorded step that also chooses the next token.
    Choosing(Box<Decoder>),
}

/// The result of a step.
enum Next {
    /// Logits of the next token, (V).
    Logits(Tensor),
    /// The next token.
    Token(u32),
}

/// A generation in progress.
pub struct Generation<'a> {
    ops: &'a dyn Ops,
    model: &'a LanguageModel,
    reader: Reader,
    sampling: Sampling,
    next: Next,
    prompt: usize,
    /// Number of tokens decoded after the prompt.
    decoded: usize,
    prefill: Duration,
    decode: Duration,
}

impl<'a> Generation<'a> {
    /// Reads the prompt; there is room for `limit` more tokens.
    pub fn start(
        ops: &'a dyn Ops,
        model: &'a LanguageModel,
        tokens: &[u32],
        limit: usize,
        sampling: Sampling,
        recorded: bool,
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
            reader: if recorded && Decoder::can_choose(&sampling) {
                repeatable(ops, &caches)?;
                Reader::Choosing(Box::new(Decoder::choosing(model, caches, &sampling)?))
            } else {
                Reader::Given(Steps::new(ops, model, caches, recorded, 1)?)
            },
            sampling,
            next: Next::Logits(logits.flatten_all()?),
            prompt: tokens.len(),
            decoded: 0,
            prefill,
            decode: Duration::ZERO,
        })
    }

    /// Chooses the next token by the logits and the sampling.
    pub fn next(&mut self) -> anyhow::Result<u32> {
        let start = Instant::now();
        let token = match &self.next {
            Next::Logits(logits) => self.ops.next_token(logits, &mut self.sampling)?,
            Next::Token(token) => *token,
        };
        // The first token comes from the prompt's logits, so neither time includes it.
        if self.decoded > 0 {
            self.decode += start.elapsed();
        }
        Ok(token)
    }

    /// Decodes a token.
    pub fn push(&mut self, token: u32) -> anyhow::Result<()> {
        let start = Instant::now();
        let (ops, model) = (self.ops, self.model);
        self.next = match &mut self.reader {
            Reader::Given(steps) => {
                let ids = ids(&[vec![token]], model.device())?;
                Next::Logits(steps.read(ops, model, &ids)?.flatten_all()?)
            }
            Reader::Choosing(decoder) => {
                Next::Token(decoder.next(ops, model, token, &mut self.sampling)?)
            }
        };
        self.decoded += 1;
        self.decode += start.elapsed();
        Ok(())
    }

    /// Prints the speed on stderr, if times are measured. `warm`: an earlier pass has packed the weights.
    pub fn report(&self, level: &str, model: &str, warm: bool) {
        if is_simulated() {
            return data::note(format_args!("{level}, {model}"));
        }
        let speed = |tokens: usize, time: Duration| match tokens {
            0 => "no tokens".to_string(),
            n => format!(
                "{} at {:.0} tokens/s",
                data::counted(n, "token"),
                n as f64 / time.as_secs_f64()
            ),
        };
        let simulating = if level_kit::simulated_file().is_some() {
            " and simulating your kernels"
        } else {
            ""
        };
        let packing = if warm {
            String::new()
        } else {
            format!(" (first pass: includes packing the weights{simulating})")
        };
        let prefill = speed(self.prompt, self.prefill) + &packing;
        let decode = speed(self.decoded, self.decode);
        data::note(format_args!(
            "{level}, {model}: prefill {prefill}, decode {decode} after the first"
        ));
    }
}
