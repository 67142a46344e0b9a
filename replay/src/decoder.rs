//! Decode steps of a language model, all of them replays of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Result, Tensor, bail};
use kernels::attention::level5::{Cache, Position};
use kernels::graph::{Graph, warm};
use kernels::next_token::level5::argmax;
use models::lm::Logits;
use models::{KvCache, LanguageModel, Ops};

use crate::copy;

/// A recorded step.
struct Recorded {
    /// (B, 1, V), made by the graph: dropped before it.
    logits: Tensor,
    graph: Graph,
}

/// Reads one token after the other behind a prompt, with the launches of one recorded step.
///
/// The position lies in the device's memory, and each step adds one to it; so does the token, if the next is chosen
/// on the device. A step is recorded again where the cache outgrows its bucket.
pub struct Decoder {
    caches: Vec<KvCache>,
    position: Arc<Position>,
    ids: Tensor, // (B, 1)
    greedy: bool,
    /// What is in `ids`, if a step has put it there.
    chosen: Option<u32>,
    /// By the number of positions up to which it can be repeated.
    recorded: BTreeMap<usize, Recorded>,
}

impl Decoder {
    /// Whether steps behind `caches` can be repeated: they are of a level that keeps the position in the memory of
    /// a GPU.
    pub fn can_follow(caches: &[KvCache]) -> bool {
        let state = caches.first().and_then(KvCache::state::<Cache>);
        state.is_some_and(|cache| cache.position().is_some())
    }

    /// Behind what is in `caches`, for as many sequences as `batch`.
    ///
    /// # Errors
    /// When the caches are of a level whose launches are told the position: they cannot be repeated.
    pub fn new(model: &LanguageModel, caches: Vec<KvCache>, batch: usize) -> Result<Self> {
        let state = caches.first().and_then(KvCache::state::<Cache>);
        let Some(position) = state.and_then(Cache::position).cloned() else {
            bail!(
                "a recorded decode step: expected a level that keeps the position in a GPU's memory, which is 5, \
                 found another or a CPU"
            )
        };
        Ok(Self {
            position,
            caches,
            ids: Tensor::zeros((batch, 1), DType::U32, model.device())?,
            greedy: false,
            chosen: None,
            recorded: BTreeMap::new(),
        })
    }

    /// The same, with the most probable token of each step as the input of the next: chosen on the device, for one
    /// sequence.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn greedy(model: &LanguageModel, caches: Vec<KvCache>) -> Result<Self> {
        Ok(Self {
            greedy: true,
            ..Self::new(model, caches, 1)?
        })
    }

    /// Tokens read, the prompt's among them.
    pub fn len(&self) -> usize {
        self.caches.first().map_or(0, KvCache::len)
    }

    /// Whether no token was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Kernels of the step of each bucket.
    pub fn kernels(&self) -> impl Iterator<Item = usize> {
        self.recorded.values().map(|r| r.graph.kernels())
    }

    /// Forgets all but the first `len` tokens.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn rewind(&mut self, len: usize) -> Result<()> {
        self.caches.iter_mut().for_each(|cache| cache.rewind(len));
        self.position.set(self.len())
    }

    /// Reads ids (B, 1) → logits (B, 1, V), which the next step writes over.
    ///
    /// # Errors
    /// When the caches are full, or the device fails.
    pub fn read(&mut self, ops: &dyn Ops, model: &LanguageModel, ids: &Tensor) -> Result<Tensor> {
        copy(ids, &self.ids)?;
        self.step(ops, model)
    }

    /// Reads `token` → the most probable next, which is where the next step reads it.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when a logit is NaN.
    pub fn next(&mut self, ops: &dyn Ops, model: &LanguageModel, token: u32) -> Result<u32> {
        if self.chosen != Some(token) {
            copy(&Tensor::new(&[[token]], model.device())?, &self.ids)?;
        }
        self.step(ops, model)?;
        let token = self.ids.flatten_all()?.to_vec1::<u32>()?[0];
        let vocab = model.config().vocab_size;
        if token as usize >= vocab {
            bail!("next_token: expected finite logits, found NaN")
        }
        self.chosen = Some(token);
        Ok(token)
    }

    // ANCHOR: step
    fn step(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Tensor> {
        let len = self.len();
        let state = self.caches[0].state::<Cache>();
        let bucket = state.map_or(0, |cache| cache.bucket(len + 1));
        if !self.recorded.contains_key(&bucket) {
            let recorded = self.record(ops, model)?;
            self.recorded.insert(bucket, recorded);
        }
        self.position.set(len)?;
        for cache in &mut self.caches {
            cache.advance::<Cache>(1)?;
        }
        let recorded = &self.recorded[&bucket];
        self.chosen = None;
        recorded.graph.launch()?;
        self.position.advanced(1);
        Ok(recorded.logits.clone())
    }
    // ANCHOR_END: step

    /// Records the step behind the tokens read so far, which are the same afterwards.
    fn record(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Recorded> {
        let (len, device) = (self.len(), model.device().clone());
        self.position.set(len)?;
        // The warm-up leaves the keys and values of this token where the step itself will put the same.
        warm(&device, || -> Result<()> {
            for _ in 0..crate::WARM_UP {
                self.forward(ops, model)?;
                self.rewind(len)?;
            }
            Ok(())
        })?;
        device.synchronize()?;
        let (graph, logits) = Graph::record(&device, || {
            let logits = self.forward(ops, model)?;
            if self.greedy {
                argmax(&logits.flatten_all()?, &self.ids)?;
            }
            self.position.advance(1)?;
            Ok(logits)
        })?;
        self.caches.iter_mut().for_each(|cache| cache.rewind(len));
        Ok(Recorded { logits, graph })
    }

    fn forward(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Tensor> {
        model.forward(ops, &self.ids, &mut self.caches, Logits::Last)
    }
}
