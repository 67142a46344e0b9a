//! A text token by token, with its times.

use std::io::Write;
use std::time::{Duration, Instant};

use candle_core::Tensor;
use kernels::launch::is_simulated;
use models::lm::Logits;
use models::{KvCache, LanguageModel, Ops, Sampling};

use super::ids;
use crate::tensors::finite;

/// A text in progress.
pub struct Generation<'a> {
    ops: &'a dyn Ops,
    model: &'a LanguageModel,
    caches: Vec<KvCache>,
    sampling: Sampling,
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
    pub fn start(
        ops: &'a dyn Ops,
        model: &'a LanguageModel,
        tokens: &[u32],
        limit: usize,
        sampling: Sampling,
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
            sampling,
            logits: logits.flatten_all()?,
            prompt: tokens.len(),
            decoded: 0,
            prefill,
            decode: Duration::ZERO,
        })
    }

    /// The token that the logits and the sampling choose.
    pub fn next(&mut self) -> anyhow::Result<u32> {
        let start = Instant::now();
        let token = self.ops.next_token(&self.logits, &mut self.sampling)?;
        // The first token belongs to neither: it is drawn from the prompt's logits.
        if self.decoded > 0 {
            self.decode += start.elapsed();
        }
        Ok(token)
    }

    /// Reads a token.
    pub fn push(&mut self, token: u32) -> anyhow::Result<()> {
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

    /// On stderr: how fast it was, where time counts.
    pub fn report(&self, level: &str, model: &str) -> std::io::Result<()> {
        if is_simulated() {
            return writeln!(std::io::stderr(), "{level}, {model}");
        }
        let speed = |tokens: usize, time: Duration| match tokens {
            0 => "no tokens".to_string(),
            n => format!(
                "{n} tokens at {:.0} tokens/s",
                n as f64 / time.as_secs_f64()
            ),
        };
        let prefill = speed(self.prompt, self.prefill);
        let decode = speed(self.decoded, self.decode);
        let line = format!("{level}, {model}: prefill {prefill}, decode {decode}");
        writeln!(std::io::stderr(), "{line}")
    }
}
