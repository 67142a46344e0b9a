//! Decode steps of a language model, all of them replays of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};
use kernels::attention::level5::{Cache, Position};
use kernels::cuda_graph::{Buffers, CudaGraph, warm};
use kernels::next_token::level5::{argmax, can_draw, draw};
use models::lm::Logits;
use models::{KvCache, LanguageModel, Ops, Sampling};

use crate::copy;

/// A recorded step.
struct Recorded {
    /// (B, 1, V), made by the graph: dropped before it.
    logits: Tensor,
    graph: CudaGraph,
}

/// What a step does with its logits.
enum Choice {
    /// Leaves them to the caller.
    Callers,
    /// The most probable token is the next step's.
    Greedy,
    /// One of the k most probable is, drawn by chance (2): a uniform number, and top_p.
    Drawn {
        k: usize,
        temperature: f64,
        chance: Tensor,
    },
}

impl Choice {
    /// As `sampling` has it, of what [can be chosen](Decoder::can_choose) on the device.
    fn of(sampling: &Sampling, device: &Device) -> Result<Self> {
        match sampling.top_k {
            _ if sampling.is_greedy() => Ok(Self::Greedy),
            Some(k) if can_draw(k) => Ok(Self::Drawn {
                k,
                temperature: sampling.temperature,
                chance: Tensor::zeros(2, DType::F64, device)?,
            }),
            found => bail!(
                "a draw in a recorded decode step: expected top_k from 1 to 1024, found {found:?}"
            ),
        }
    }

    /// Refuses another sampling than the one that was recorded, as far as it was: the seed and top_p are a step's own.
    fn check(&self, sampling: &Sampling) -> Result<()> {
        let of = |k: usize, temperature: f64| format!("top_k {k} at temperature {temperature}");
        let (is_it, expected) = match self {
            Self::Callers => bail!(
                "a recorded decode step: expected one that chooses (`Decoder::choosing`), found one whose caller does"
            ),
            Self::Greedy => (sampling.is_greedy(), "temperature 0".to_string()),
            Self::Drawn { k, temperature, .. } => (
                (sampling.top_k, sampling.temperature) == (Some(*k), *temperature),
                of(*k, *temperature),
            ),
        };
        if is_it {
            return Ok(());
        }
        let found = match sampling.top_k {
            Some(k) => of(k, sampling.temperature),
            None => format!("temperature {}", sampling.temperature),
        };
        bail!("a recorded draw: expected {expected}, found {found}")
    }

    /// logits (1, 1, V) → ids (1, 1)
    fn launch(&self, logits: &Tensor, ids: &Tensor) -> Result<()> {
        let logits = logits.flatten_all()?;
        match self {
            Self::Callers => Ok(()),
            Self::Greedy => argmax(&logits, ids),
            Self::Drawn {
                k,
                temperature,
                chance,
            } => draw(&logits, *k, *temperature, chance, ids),
        }
    }
}

/// Reads one token after the other behind a prompt, with the launches of one recorded step.
///
/// The position lies in the device's memory, and each step adds one to it; so does the token, if the next is chosen
/// on the device. A step is recorded again where the cache outgrows its bucket.
pub struct Decoder {
    caches: Vec<KvCache>,
    position: Arc<Position>,
    ids: Tensor, // (B, 1)
    choice: Choice,
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
            choice: Choice::Callers,
            chosen: None,
            recorded: BTreeMap::new(),
        })
    }

    /// Whether what `sampling` asks for can be chosen on the device: the most probable token, or one of some of the
    /// most probable. Where all may be drawn, the host draws.
    pub fn can_choose(sampling: &Sampling) -> bool {
        sampling.is_greedy() || sampling.top_k.is_some_and(can_draw)
    }

    /// The same, with the token that `sampling` chooses as the input of the next step: chosen on the device, for
    /// one sequence.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and when it is the host that has to [choose](Self::can_choose).
    pub fn choosing(
        model: &LanguageModel,
        caches: Vec<KvCache>,
        sampling: &Sampling,
    ) -> Result<Self> {
        Ok(Self {
            choice: Choice::of(sampling, model.device())?,
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

    /// Reads `token` → the next, which lies where the next step reads it. `sampling` is that of
    /// [`choosing`](Self::choosing), for the number that it spends.
    ///
    /// # Errors
    /// As [`read`](Self::read), when a logit is NaN, and when it is [`new`](Self::new) that made the decoder or `sampling` is
    /// another.
    pub fn next(
        &mut self,
        ops: &dyn Ops,
        model: &LanguageModel,
        token: u32,
        sampling: &mut Sampling,
    ) -> Result<u32> {
        self.choice.check(sampling)?;
        if let Choice::Drawn { chance, .. } = &self.choice {
            let of = [sampling.uniform(), sampling.top_p.unwrap_or(f64::INFINITY)];
            copy(&Tensor::new(&of, model.device())?, chance)?;
        }
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
        // The warm-up leaves the keys and values of this token where the step itself will put the same; the token and the
        // position it leaves behind are put back.
        let ids = self.ids.copy()?;
        let buffers = warm(&device, || {
            self.launch(ops, model)?; // loads kernels and packs weights
            self.put_back(&ids, len)?;
            Buffers::of(|| self.launch(ops, model))
        })?;
        self.put_back(&ids, len)?;
        device.synchronize()?;
        let (graph, logits) = CudaGraph::record(&device, buffers, || self.launch(ops, model))?;
        self.caches.iter_mut().for_each(|cache| cache.rewind(len));
        Ok(Recorded { logits, graph })
    }

    /// All that a step launches.
    fn launch(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Tensor> {
        let logits = model.forward(ops, &self.ids, &mut self.caches, Logits::Last)?;
        self.choice.launch(&logits, &self.ids)?;
        self.position.advance(1)?;
        Ok(logits)
    }

    /// What a launched step has changed.
    fn put_back(&mut self, ids: &Tensor, len: usize) -> Result<()> {
        copy(ids, &self.ids)?;
        self.rewind(len)
    }
}
