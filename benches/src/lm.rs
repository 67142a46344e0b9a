//! The language model: reading a prompt, and writing on from it.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use cli::load::{self, Loaded, Request};
use cli::tokenizer::TextTokenizer;
use levels::Level;
use models::lm::Logits;
use models::{KvCache, LanguageModel, Sampling};
use replay::{Decoder, Pass};

use crate::job::{Job, Model, Workload};
use crate::sweep::{Point, Sweep, doublings};

/// English prose, which a trained model can continue.
const PROMPT: &str = include_str!("prompt.txt");
/// Tokens that a prefill reads, if the context has room for them.
const PREFILL: usize = 128;
/// Sequences that a GPU reads at once besides.
const BATCH: usize = 4;
/// Tokens of one run of decode, half of them before and half after position [`POSITION`].
const DECODE: usize = 16;
/// Where decode is measured, if the context has room.
const POSITION: usize = 255;

/// `prefill` and `decode`, which share their weights; for a preset on a GPU `prefill4` too.
pub fn load(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Workload>> {
    let loaded = load::lm(request)?;
    let context = loaded.model.config().max_position_embeddings;
    let prefill = PREFILL.min(context);
    let end = (POSITION + DECODE / 2).min(context);
    let start = end.saturating_sub(DECODE).max(1);
    let tokens = tokens(&loaded, end.max(prefill))?;
    let preset = loaded.folder.is_none();
    let model = Shared {
        model: Arc::new(loaded.model),
        level: level.clone(),
    };
    let prompt = |length: usize| ids(&tokens[..length], &request.device);
    let single = |token: &u32| ids(&[*token], &request.device);
    let workload = |name: &str, input: String, items: usize, job: Box<dyn Job>| Workload {
        model: Model::Lm,
        preset: request.model.clone(),
        name: name.into(),
        input,
        items,
        job,
    };
    let decode = Decode {
        model: model.clone(),
        prompt: prompt(start)?,
        next: tokens[start..].iter().map(single).collect::<Result<_>>()?,
        steps: None,
        cuda_graph,
    };
    let read = |batch: usize| {
        let job = Prefill {
            model: model.clone(),
            prompt: prompt(prefill)?.repeat((batch, 1))?,
            caches: vec![],
            pass: Pass::new(cuda_graph),
        };
        let name = match batch {
            1 => "prefill".to_string(),
            _ => format!("prefill{batch}"),
        };
        let input = format!("{batch} × {prefill} tokens");
        Ok::<_, candle_core::Error>(workload(&name, input, batch * prefill, Box::new(job)))
    };
    let mut workloads = vec![read(1)?];
    if preset && !request.device.is_cpu() {
        workloads.push(read(BATCH)?);
    }
    let positions = format!("positions {start} to {}", end - 1);
    let written = format!("a token at a time, {positions}");
    workloads.push(workload("decode", written, 1, Box::new(decode)));
    if preset && !request.device.is_cpu() {
        let generate = Generate {
            model,
            prompt: prompt(start)?,
            first: tokens[start],
            count: end - start,
            steps: None,
            first_logits: None,
            cuda_graph,
        };
        let chosen = format!("the most probable token each, {positions}");
        workloads.push(workload("generate", chosen, 1, Box::new(generate)));
    }
    Ok(workloads)
}

/// Tokens of a prefill, the smallest and the largest on a CPU and on a GPU; each is twice the one before.
const SWEPT: [usize; 2] = [16, 512];
const SWEPT_GPU: [usize; 2] = [16, 2048];

/// A prefill for each length that the context has room for.
pub fn sweep(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Sweep>> {
    let loaded = load::lm(request)?;
    let context = loaded.model.config().max_position_embeddings;
    let [first, last] = if request.device.is_cpu() {
        SWEPT
    } else {
        SWEPT_GPU
    };
    let tokens = tokens(&loaded, last.min(context))?;
    let model = Shared {
        model: Arc::new(loaded.model),
        level: level.clone(),
    };
    let point = |length: usize| {
        let job = Prefill {
            model: model.clone(),
            prompt: ids(&tokens[..length], &request.device)?,
            caches: vec![],
            pass: Pass::new(cuda_graph),
        };
        Ok(Point::new(length, job))
    };
    let points = doublings(first, last.min(context)).map(point);
    Ok(vec![Sweep {
        axis: "tokens",
        what: "tokens of a prompt".into(),
        points: points.collect::<Result<_>>()?,
    }])
}

/// The first `count` tokens of the prompt, over again where it is too short. A preset has no
/// tokenizer and reads bytes.
fn tokens(loaded: &Loaded<LanguageModel>, count: usize) -> models::Result<Vec<u32>> {
    let ids: Vec<u32> = match &loaded.folder {
        None => PROMPT.bytes().map(u32::from).collect(),
        Some(folder) => TextTokenizer::open(&folder.join("tokenizer.json"))?.encode(
            PROMPT,
            true,
            loaded.model.config().vocab_size,
        )?,
    };
    Ok(ids.into_iter().cycle().take(count).collect())
}

/// (1, T)
fn ids(tokens: &[u32], device: &Device) -> Result<Tensor> {
    Tensor::new(tokens, device)?.unsqueeze(0)
}

#[derive(Clone)]
struct Shared {
    model: Arc<LanguageModel>,
    level: Level,
}

impl Shared {
    fn caches(&self, batch: usize, capacity: usize) -> Result<Vec<KvCache>> {
        self.model.new_caches(&*self.level, batch, capacity)
    }

    fn read(&self, ids: &Tensor, caches: &mut [KvCache]) -> Result<Tensor> {
        let level = &*self.level;
        self.model.forward(level, ids, caches, Logits::Last)
    }

    /// [`read`](Self::read), and the device done with it.
    fn forward(&self, ids: &Tensor, caches: &mut [KvCache]) -> Result<Tensor> {
        let logits = self.read(ids, caches)?;
        self.model.device().synchronize()?;
        Ok(logits)
    }
}

/// The whole prompt at once, into empty caches.
struct Prefill {
    model: Shared,
    prompt: Tensor, // (B, T)
    caches: Vec<KvCache>,
    pass: Pass,
}

impl Job for Prefill {
    fn reset(&mut self) {
        self.caches.clear();
    }

    fn prepare(&mut self) -> Result<()> {
        self.reset();
        if let Pass::Eager = self.pass {
            let (batch, t) = self.prompt.dims2()?;
            self.caches = self.model.caches(batch, t)?;
        }
        Ok(())
    }

    fn queue(&mut self) -> Result<Tensor> {
        let (model, device) = (&self.model, self.prompt.device());
        let Pass::Graph(replay) = &mut self.pass else {
            return model.read(&self.prompt, &mut self.caches);
        };
        replay.run(device, &[&self.prompt], |ids| {
            // Recorded with the rest: a replay begins with empty caches.
            let (batch, t) = ids[0].dims2()?;
            model.read(&ids[0], &mut model.caches(batch, t)?)
        })
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        Ok(vec![("input_ids", self.prompt.to_dtype(DType::I64)?)])
    }

    fn recorded(&self) -> Option<usize> {
        self.pass.kernels()
    }
}

/// One token after the other, after a prompt. The tokens are given, so that every level reads the
/// same ones.
struct Decode {
    model: Shared,
    prompt: Tensor,    // (1, T)
    next: Vec<Tensor>, // (1, 1) each
    steps: Option<Steps>,
    cuda_graph: bool,
}

/// After the prompt.
enum Steps {
    Eager(Vec<KvCache>),
    Recorded(Decoder),
}

impl Decode {
    /// Reads the `i`-th token.
    fn step(&mut self, i: usize) -> Result<Tensor> {
        let Shared { model, level } = &self.model;
        match &mut self.steps {
            Some(Steps::Eager(caches)) => self.model.read(&self.next[i], caches),
            Some(Steps::Recorded(decoder)) => decoder.read(&**level, model, &self.next[i]),
            None => candle_core::bail!("decode without a prompt"),
        }
    }

    /// The same, and the device done with each step; the logits of the last.
    fn read(&mut self, steps: Range<usize>) -> Result<Option<Tensor>> {
        let mut logits = None;
        for i in steps {
            logits = Some(self.step(i)?);
            self.prompt.device().synchronize()?;
        }
        Ok(logits)
    }
}

impl Job for Decode {
    fn reset(&mut self) {
        self.steps = None;
    }

    fn prepare(&mut self) -> Result<()> {
        let t = self.prompt.dim(1)?;
        if let Some(Steps::Recorded(decoder)) = &mut self.steps {
            return decoder.rewind(t); // what it has recorded is kept
        }
        self.reset();
        let mut caches = self.model.caches(1, t + self.next.len())?;
        self.model.forward(&self.prompt, &mut caches)?;
        self.steps = Some(if self.cuda_graph {
            Steps::Recorded(Decoder::new(&self.model.model, caches, 1)?)
        } else {
            Steps::Eager(caches)
        });
        Ok(())
    }

    fn run(&mut self) -> Result<Tensor> {
        let logits = self.read(0..self.next.len())?;
        logits.ok_or_else(|| candle_core::Error::msg("no token to decode"))
    }

    fn prepare_pass(&mut self) -> Result<()> {
        self.prepare()?;
        self.read(0..self.next.len() / 2).map(drop)
    }

    fn queue(&mut self) -> Result<Tensor> {
        self.step(self.next.len() / 2)
    }

    fn forwards(&self) -> usize {
        self.next.len()
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let next = Tensor::cat(&self.next, 1)?.to_dtype(DType::I64)?;
        let prompt = self.prompt.to_dtype(DType::I64)?;
        Ok(vec![("input_ids", prompt), ("next", next)])
    }

    fn recorded(&self) -> Option<usize> {
        match &self.steps {
            Some(Steps::Recorded(decoder)) => decoder.kernels().max(),
            _ => None,
        }
    }
}

/// Tokens that follow a prompt, each the most probable one after those before, as the caller of `lm` reads them.
///
/// Rounding may make another token the most probable one, so that levels read different tokens; each reads its own.
struct Generate {
    model: Shared,
    prompt: Tensor, // (1, T)
    /// The first token after the prompt.
    first: u32,
    /// Tokens of a run.
    count: usize,
    steps: Option<Steps>,
    /// (1, 1, V) after `first`: the only ones that all levels compute of the same tokens.
    first_logits: Option<Tensor>,
    cuda_graph: bool,
}

impl Generate {
    /// Reads a token; the most probable next one.
    fn next(&mut self, token: u32) -> Result<u32> {
        let Shared { model, level } = &self.model;
        let (ops, mut greedy) = (&**level, Sampling::greedy());
        match &mut self.steps {
            Some(Steps::Recorded(decoder)) => decoder.next(ops, model, token, &mut greedy),
            Some(Steps::Eager(caches)) => {
                let ids = ids(&[token], self.prompt.device())?;
                let logits = self.model.read(&ids, caches)?;
                ops.next_token(&logits.flatten_all()?, &mut greedy)
            }
            None => candle_core::bail!("tokens without a prompt"),
        }
    }

    /// The prompt's keys and values, and `count` places after them.
    fn read_prompt(&mut self) -> Result<Vec<KvCache>> {
        let t = self.prompt.dim(1)?;
        let mut caches = self.model.caches(1, t + self.count)?;
        self.model.forward(&self.prompt, &mut caches)?;
        if self.first_logits.is_none() {
            let first = ids(&[self.first], self.prompt.device())?;
            self.first_logits = Some(self.model.forward(&first, &mut caches)?);
            caches.iter_mut().for_each(|cache| cache.rewind(t));
        }
        Ok(caches)
    }
}

impl Job for Generate {
    fn reset(&mut self) {
        self.steps = None;
    }

    fn prepare(&mut self) -> Result<()> {
        let t = self.prompt.dim(1)?;
        if let Some(Steps::Recorded(decoder)) = &mut self.steps {
            return decoder.rewind(t); // what it has recorded is kept
        }
        self.reset();
        let caches = self.read_prompt()?;
        let (model, greedy) = (&self.model.model, Sampling::greedy());
        self.steps = Some(if self.cuda_graph {
            Steps::Recorded(Decoder::choosing(model, caches, &greedy)?)
        } else {
            Steps::Eager(caches)
        });
        Ok(())
    }

    /// The logits after the first token.
    fn run(&mut self) -> Result<Tensor> {
        let mut token = self.first;
        for _ in 0..self.count {
            token = self.next(token)?;
        }
        let logits = self.first_logits.clone();
        logits.ok_or_else(|| candle_core::Error::msg("no token to read"))
    }

    fn prepare_pass(&mut self) -> Result<()> {
        self.prepare()?;
        for _ in 0..self.count / 2 {
            self.queue()?;
        }
        self.prompt.device().synchronize()
    }

    /// A step without its copy to the host, which would wait for it.
    fn queue(&mut self) -> Result<Tensor> {
        let Shared { model, level } = &self.model;
        let ids = ids(&[self.first], self.prompt.device())?;
        match &mut self.steps {
            Some(Steps::Recorded(decoder)) => decoder.read(&**level, model, &ids),
            Some(Steps::Eager(caches)) => self.model.read(&ids, caches),
            None => candle_core::bail!("tokens without a prompt"),
        }
    }

    fn forwards(&self) -> usize {
        self.count
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let device = self.prompt.device();
        let prompt = self.prompt.to_dtype(DType::I64)?;
        let first = ids(&[self.first], device)?.to_dtype(DType::I64)?;
        let count = Tensor::zeros(self.count, DType::I64, device)?; // its length says how many tokens follow
        Ok(vec![
            ("input_ids", prompt),
            ("first", first),
            ("count", count),
        ])
    }

    fn recorded(&self) -> Option<usize> {
        match &self.steps {
            Some(Steps::Recorded(decoder)) => decoder.kernels().max(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_reads_as_many_bytes_as_a_preset_needs() {
        assert!(PROMPT.len() >= POSITION + DECODE);
        assert!(PROMPT.is_ascii(), "a byte a character, none above 127");
    }
}
