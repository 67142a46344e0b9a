//! Decode steps of a language model as replays of one recorded step.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};
use kernels::attention::level5::{Cache, Position};
use kernels::cuda_graph::{Buffers, CudaGraph, Nodes, Readback, warm};
use kernels::launch::chained;
use kernels::next_token::level5::{argmax, can_draw, draw};
use models::{KvCache, LanguageModel, NextStep, Ops, Sampling};

use crate::copy;

/// A recorded step.
struct Recorded {
    /// Logits (B, 1, V) in the graph's memory; dropped before the graph.
    logits: Tensor,
    graph: CudaGraph,
}

/// A draw needs two values of the host: a uniform random number, and top_p, or infinity.
type Chance = [f64; 2];

/// The choice of the next token.
enum Choice {
    /// The caller chooses.
    Callers,
    /// The most probable token.
    Greedy,
    /// One of the k most probable tokens, by a [`Chance`] on the device.
    Drawn {
        k: usize,
        temperature: f64,
        chance: Tensor,
    },
}

impl Choice {
    /// The choice of `sampling`, which must be [possible on the device](Decoder::can_choose).
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

    /// Rejects a sampling that differs from the recorded one; the seed and top_p may change per step.
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

    /// The next values of `sampling`; `None` if the choice needs none.
    fn chance(&self, sampling: &mut Sampling) -> Option<Chance> {
        matches!(self, Self::Drawn { .. })
            .then(|| [sampling.uniform(), sampling.top_p.unwrap_or(f64::INFINITY)])
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

/// Decodes one token after another from a prompt, with the launches of one recorded step.
///
/// The position is in the device's memory, and each step increments it. The token is there, too, if the
/// device chooses the next one. When the cache outgrows its bucket, a step is recorded again.
pub struct Decoder {
    caches: Vec<KvCache>,
    position: Arc<Position>,
    ids: Tensor, // (B, 1)
    choice: Choice,
    /// Written by the head's kernel if it can: the position, and `ids` if the most probable token is chosen.
    next: NextStep,
    /// The token in `ids`, if a step has written it.
    chosen: Option<u32>,
    /// Brings each chosen token to the host.
    readback: Option<Readback>,
    /// The token that a step already reads, though the caller has not passed it yet, and the values that it draws by.
    ahead: Option<(u32, Option<Chance>)>,
    /// Recorded steps by the maximum number of positions they can be replayed for.
    recorded: BTreeMap<usize, Recorded>,
}

impl Decoder {
    /// Whether steps after `caches` can be replayed: their level must keep the position in a GPU's memory.
    pub fn can_follow(caches: &[KvCache]) -> bool {
        let state = caches.first().and_then(KvCache::state::<Cache>);
        state.is_some_and(|cache| cache.position().is_some())
    }

    /// Starts after the tokens in `caches`, for `batch` sequences.
    ///
    /// # Errors
    /// If the caches' level passes the position as a launch argument, because such steps cannot be replayed.
    pub fn new(model: &LanguageModel, caches: Vec<KvCache>, batch: usize) -> Result<Self> {
        let state = caches.first().and_then(KvCache::state::<Cache>);
        let Some(position) = state.and_then(Cache::position).cloned() else {
            bail!(
                "a recorded decode step: expected a level that keeps the position in a GPU's memory, which is 5, \
                 found another or a CPU"
            )
        };
        let next = NextStep {
            position: position.value().clone(),
            token: None,
            scratch: Tensor::zeros(4, DType::U32, model.device())?,
        };
        Ok(Self {
            position,
            next,
            caches,
            ids: Tensor::zeros((batch, 1), DType::U32, model.device())?,
            choice: Choice::Callers,
            chosen: None,
            readback: None,
            ahead: None,
            recorded: BTreeMap::new(),
        })
    }

    /// Whether the device can choose the token for `sampling`: the most probable one, or one of several most
    /// probable. If all tokens may be drawn, the host draws.
    pub fn can_choose(sampling: &Sampling) -> bool {
        sampling.is_greedy() || sampling.top_k.is_some_and(can_draw)
    }

    /// The same, but the device chooses each token by `sampling` as the next step's input, for one sequence.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and if the host must [choose](Self::can_choose).
    pub fn choosing(
        model: &LanguageModel,
        caches: Vec<KvCache>,
        sampling: &Sampling,
    ) -> Result<Self> {
        let mut decoder = Self {
            choice: Choice::of(sampling, model.device())?,
            readback: Some(Readback::new(model.device())?),
            ..Self::new(model, caches, 1)?
        };
        if let Choice::Greedy = decoder.choice {
            decoder.next.token = Some(decoder.ids.clone());
        }
        Ok(decoder)
    }

    /// Number of tokens read, including the prompt's.
    pub fn len(&self) -> usize {
        self.launched() - usize::from(self.ahead.is_some())
    }

    /// Number of tokens read by the steps that have been launched.
    fn launched(&self) -> usize {
        self.caches.first().map_or(0, KvCache::len)
    }

    /// Whether no token has been read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of nodes of each bucket's step.
    pub fn nodes(&self) -> impl Iterator<Item = Nodes> {
        self.recorded.values().map(|r| r.graph.nodes())
    }

    /// Forgets all but the first `len` tokens.
    ///
    /// # Errors
    /// If the driver fails.
    pub fn rewind(&mut self, len: usize) -> Result<()> {
        if let Some(readback) = &mut self.readback {
            while readback.pending() > 0 {
                readback.wait()?;
            }
        }
        (self.ahead, self.chosen) = (None, None);
        self.caches.iter_mut().for_each(|cache| cache.rewind(len));
        self.position.set(self.launched())
    }

    /// Reads ids (B, 1) → logits (B, 1, V), which the next step overwrites.
    ///
    /// # Errors
    /// If the caches are full, or the device fails.
    pub fn read(&mut self, ops: &dyn Ops, model: &LanguageModel, ids: &Tensor) -> Result<Tensor> {
        copy(ids, &self.ids)?;
        self.step(ops, model)
    }

    /// Reads `token` and returns the next one, which stays on the device as the next step's input. `sampling`
    /// is that of [`choosing`](Self::choosing), and provides the step's random number.
    ///
    /// The step that reads the token is launched before the host has it, with the values that `sampling` would provide next:
    /// while the caller handles a token, the device computes the next. If the caller then passes another token, or a
    /// sampling that provides other values, that step is taken back.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and if a logit is NaN, if [`new`](Self::new) made the decoder, or if
    /// `sampling` is another one.
    pub fn next(
        &mut self,
        ops: &dyn Ops,
        model: &LanguageModel,
        token: u32,
        sampling: &mut Sampling,
    ) -> Result<u32> {
        self.choice.check(sampling)?;
        let chance = self.choice.chance(sampling);
        if self.ahead == Some((token, chance)) {
            self.ahead = None;
        } else {
            self.rewind_to_len()?;
            if self.chosen != Some(token) {
                copy(&Tensor::new(&[[token]], model.device())?, &self.ids)?;
            }
            self.choose(ops, model, chance)?;
        }
        // The token that this step chooses is where the next one reads it: the host need not have it before.
        let goes_ahead = self.can_go_ahead();
        let chance = self.choice.chance(&mut sampling.clone());
        if goes_ahead {
            self.choose(ops, model, chance)?;
        }
        let next = self.readback()?.wait()?;
        if goes_ahead {
            self.ahead = Some((next, chance));
        } else {
            self.chosen = Some(next);
        }
        let vocab = model.config().vocab_size;
        if next as usize >= vocab {
            bail!("next_token: expected finite logits, found NaN")
        }
        Ok(next)
    }

    /// Whether the step after the one just launched can be launched before its token is known: there is room in the caches,
    /// and its launches are recorded.
    fn can_go_ahead(&self) -> bool {
        let len = self.launched();
        let cache = &self.caches[0];
        let bucket = cache.state::<Cache>().map(|state| state.bucket(len + 1));
        let is_recorded = bucket.is_some_and(|bucket| self.recorded.contains_key(&bucket));
        len < cache.capacity() && is_recorded
    }

    /// Takes back a step that was launched ahead.
    fn rewind_to_len(&mut self) -> Result<()> {
        match self.ahead {
            Some(_) => self.rewind(self.len()),
            None => Ok(()),
        }
    }

    /// Launches a step, and after it the copy of the token that it chooses by `values`. All are in one stream, so that the
    /// step before has used its own values by then.
    fn choose(
        &mut self,
        ops: &dyn Ops,
        model: &LanguageModel,
        values: Option<Chance>,
    ) -> Result<()> {
        if let (Choice::Drawn { chance, .. }, Some(values)) = (&self.choice, values) {
            copy(&Tensor::new(&values, model.device())?, chance)?;
        }
        self.step(ops, model)?;
        let ids = self.ids.clone();
        self.readback()?.queue(&ids)
    }

    fn readback(&mut self) -> Result<&mut Readback> {
        match &mut self.readback {
            Some(readback) => Ok(readback),
            None => bail!("a decoder that chooses: expected memory for its tokens, found none"),
        }
    }

    // ANCHOR: step
    fn step(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Tensor> {
        let len = self.launched();
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
        self.position.note_advanced(1);
        Ok(recorded.logits.clone())
    }
    // ANCHOR_END: step

    /// Records the step after the tokens read so far, and restores the state.
    fn record(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Recorded> {
        let (len, device) = (self.launched(), model.device().clone());
        self.position.set(len)?;
        // The warm-up writes this token's keys and values where the step will write the same; the token and
        // the position are restored.
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

    /// Launches a step, whose kernels may overlap.
    fn launch(&mut self, ops: &dyn Ops, model: &LanguageModel) -> Result<Tensor> {
        chained(|| {
            let caches = &mut self.caches;
            let (logits, ends) = model.forward_step(ops, &self.ids, caches, &self.next)?;
            if !ends || self.next.token.is_none() {
                self.choice.launch(&logits, &self.ids)?;
            }
            if ends {
                self.position.note_launched(1);
            } else {
                self.position.advance(1)?;
            }
            Ok(logits)
        })
    }

    /// Restores what a launched step has changed.
    fn put_back(&mut self, ids: &Tensor, len: usize) -> Result<()> {
        copy(ids, &self.ids)?;
        self.rewind(len)
    }
}
