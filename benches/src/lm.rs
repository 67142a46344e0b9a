//! The language model: reading a prompt, and writing on from it.

mod tokens;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use cli::load::{self, Loaded, Request};
use cli::tokenizer::TextTokenizer;
use levels::Level;
use models::lm::Logits;
use models::{KvCache, LanguageModel, Scores};
use replay::Pass;

use crate::job::{Job, Model, Workload};
use crate::sweep::{Point, Sweep, doublings};
use tokens::{AfterPrompt, Decode, Generate};

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

/// `prefill` and `decode`, which share their weights; for a preset on a GPU `prefill4` and `generate` too.
pub fn load(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Workload>> {
    let loaded = load::lm(request)?;
    let context = loaded.model.config().max_position_embeddings;
    let prefill = PREFILL.min(context);
    let end = (POSITION + DECODE / 2).min(context);
    let start = end.saturating_sub(DECODE).max(1);
    let longest = end.max(prefill);
    let size = [1, longest];
    (loaded.model.config()).check_pass(&request.model, size, 0, Logits::Last, Scores::Held)?;
    let tokens = tokens(&loaded, longest)?;
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
        after: AfterPrompt::new(model.clone(), prompt(start)?, end - start, cuda_graph),
        next: tokens[start..end]
            .iter()
            .map(single)
            .collect::<Result<_>>()?,
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
            after: AfterPrompt::new(model, prompt(start)?, end - start, cuda_graph),
            first: tokens[start],
            first_logits: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_reads_as_many_bytes_as_a_preset_needs() {
        assert!(PROMPT.len() >= POSITION + DECODE);
        assert!(PROMPT.is_ascii(), "a byte a character, none above 127");
    }
}
