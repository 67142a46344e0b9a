//! Tokens after a prompt, one at a time: given ones, and those that the model chooses.

use std::ops::Range;

use candle_core::{DType, Error, Result, Tensor};
use models::{KvCache, LanguageModel, Sampling};
use replay::Decoder;

use super::{Shared, ids};
use crate::job::Job;

/// A model that reads tokens after a prompt.
pub struct AfterPrompt {
    model: Shared,
    prompt: Tensor, // (1, T)
    /// Tokens of a run.
    count: usize,
    steps: Option<Steps>,
    cuda_graph: bool,
}

enum Steps {
    Eager(Vec<KvCache>),
    Recorded(Decoder),
}

impl AfterPrompt {
    pub fn new(model: Shared, prompt: Tensor, count: usize, cuda_graph: bool) -> Self {
        Self {
            model,
            prompt,
            count,
            steps: None,
            cuda_graph,
        }
    }

    /// The prompt's keys and values, and `count` places after them.
    fn read_prompt(&self) -> Result<Vec<KvCache>> {
        let t = self.prompt.dim(1)?;
        let mut caches = self.model.caches(1, t + self.count)?;
        self.model.forward(&self.prompt, &mut caches)?;
        Ok(caches)
    }

    /// Goes back to the end of the prompt. `recorded` makes the steps of a CUDA graph.
    fn prepare(
        &mut self,
        recorded: impl FnOnce(&LanguageModel, Vec<KvCache>) -> Result<Decoder>,
    ) -> Result<()> {
        if let Some(Steps::Recorded(decoder)) = &mut self.steps {
            return decoder.rewind(self.prompt.dim(1)?); // what it has recorded is kept
        }
        self.steps = None;
        let caches = self.read_prompt()?;
        self.steps = Some(if self.cuda_graph {
            Steps::Recorded(recorded(&self.model.model, caches)?)
        } else {
            Steps::Eager(caches)
        });
        Ok(())
    }

    /// Queues the step that reads ids (1, 1) → logits (1, 1, V).
    fn step(&mut self, ids: &Tensor) -> Result<Tensor> {
        let Shared { model, level } = &self.model;
        match &mut self.steps {
            Some(Steps::Eager(caches)) => self.model.read(ids, caches),
            Some(Steps::Recorded(decoder)) => decoder.read(&**level, model, ids),
            None => Err(Error::msg("tokens without a prompt")),
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.prompt.device().synchronize()
    }

    fn recorded(&self) -> Option<usize> {
        match &self.steps {
            Some(Steps::Recorded(decoder)) => decoder.nodes().map(|nodes| nodes.kernels).max(),
            _ => None,
        }
    }
}

/// One token after the other, after a prompt. The tokens are given, so that every level reads the
/// same ones.
pub struct Decode {
    pub after: AfterPrompt,
    pub next: Vec<Tensor>, // (1, 1) each
}

impl Decode {
    /// Reads tokens, and the device done with each step; the logits of the last.
    fn read(&mut self, steps: Range<usize>) -> Result<Option<Tensor>> {
        let mut logits = None;
        for i in steps {
            logits = Some(self.after.step(&self.next[i])?);
            self.after.synchronize()?;
        }
        Ok(logits)
    }
}

impl Job for Decode {
    fn reset(&mut self) {
        self.after.steps = None;
    }

    fn prepare(&mut self) -> Result<()> {
        let decoder = |model: &_, caches| Decoder::new(model, caches, 1);
        self.after.prepare(decoder)
    }

    fn run(&mut self) -> Result<Tensor> {
        let logits = self.read(0..self.next.len())?;
        logits.ok_or_else(|| Error::msg("no token to decode"))
    }

    fn prepare_pass(&mut self) -> Result<()> {
        self.prepare()?;
        self.read(0..self.next.len() / 2).map(drop)
    }

    fn queue(&mut self) -> Result<Tensor> {
        self.after.step(&self.next[self.next.len() / 2])
    }

    fn forwards(&self) -> usize {
        self.next.len()
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let next = Tensor::cat(&self.next, 1)?.to_dtype(DType::I64)?;
        let prompt = self.after.prompt.to_dtype(DType::I64)?;
        Ok(vec![("input_ids", prompt), ("next", next)])
    }

    fn recorded(&self) -> Option<usize> {
        self.after.recorded()
    }
}

/// Tokens that follow a prompt, each the most probable one after those before, as the caller of `lm` reads them.
///
/// Rounding may make another token the most probable one, so that levels read different tokens; each reads its own.
pub struct Generate {
    pub after: AfterPrompt,
    /// The first token after the prompt.
    pub first: u32,
    /// (1, 1, V) after `first`: the only ones that all levels compute of the same tokens.
    pub first_logits: Option<Tensor>,
}

impl Generate {
    /// (1, 1)
    fn first_ids(&self) -> Result<Tensor> {
        ids(&[self.first], self.after.prompt.device())
    }

    /// Reads a token; the most probable next one.
    fn next(&mut self, token: u32) -> Result<u32> {
        let Shared { model, level } = self.after.model.clone();
        let (ops, mut greedy) = (&*level, Sampling::greedy());
        if let Some(Steps::Recorded(decoder)) = &mut self.after.steps {
            return decoder.next(ops, &model, token, &mut greedy);
        }
        let ids = ids(&[token], self.after.prompt.device())?;
        let logits = self.after.step(&ids)?;
        ops.next_token(&logits.flatten_all()?, &mut greedy)
    }
}

impl Job for Generate {
    fn reset(&mut self) {
        self.after.steps = None;
    }

    fn prepare(&mut self) -> Result<()> {
        if self.first_logits.is_none() {
            let mut caches = self.after.read_prompt()?;
            let logits = self.after.model.forward(&self.first_ids()?, &mut caches)?;
            self.first_logits = Some(logits);
        }
        let decoder = |model: &_, caches| Decoder::choosing(model, caches, &Sampling::greedy());
        self.after.prepare(decoder)
    }

    /// The logits after the first token.
    fn run(&mut self) -> Result<Tensor> {
        let mut token = self.first;
        for _ in 0..self.after.count {
            token = self.next(token)?;
        }
        let logits = self.first_logits.clone();
        logits.ok_or_else(|| Error::msg("no token to read"))
    }

    fn prepare_pass(&mut self) -> Result<()> {
        self.prepare()?;
        for _ in 0..self.after.count / 2 {
            self.queue()?;
        }
        self.after.synchronize()
    }

    /// A step without its copy to the host, which would wait for it.
    fn queue(&mut self) -> Result<Tensor> {
        let ids = self.first_ids()?;
        self.after.step(&ids)
    }

    fn forwards(&self) -> usize {
        self.after.count
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let prompt = self.after.prompt.to_dtype(DType::I64)?;
        let first = self.first_ids()?.to_dtype(DType::I64)?;
        let count = Tensor::zeros(self.after.count, DType::I64, prompt.device())?; // its length says how many tokens follow
        Ok(vec![
            ("input_ids", prompt),
            ("first", first),
            ("count", count),
        ])
    }

    fn recorded(&self) -> Option<usize> {
        self.after.recorded()
    }
}
