//! Decode steps: launched one by one, or recorded once and replayed.

use candle_core::Tensor;
use data::BadInput;
use models::lm::Logits;
use models::{KvCache, LanguageModel, Ops};
use replay::Decoder;

/// Decoding after a prompt.
pub enum Steps {
    /// The host launches every kernel.
    Eager(Vec<KvCache>),
    /// A recorded step is replayed.
    Recorded(Box<Decoder>),
}

impl Steps {
    /// Starts after the prompt in `caches`, with `batch` sequences.
    pub fn new(
        ops: &dyn Ops,
        model: &LanguageModel,
        caches: Vec<KvCache>,
        recorded: bool,
        batch: usize,
    ) -> anyhow::Result<Self> {
        if recorded {
            repeatable(ops, &caches)?;
            Ok(Self::Recorded(Box::new(Decoder::new(
                model, caches, batch,
            )?)))
        } else {
            Ok(Self::Eager(caches))
        }
    }

    /// ids (B, 1) → logits (B, 1, V); the next step may overwrite them.
    pub fn read(
        &mut self,
        ops: &dyn Ops,
        model: &LanguageModel,
        ids: &Tensor,
    ) -> candle_core::Result<Tensor> {
        match self {
            Self::Eager(caches) => model.forward(ops, ids, caches, Logits::Last),
            Self::Recorded(decoder) => decoder.read(ops, model, ids),
        }
    }
}

/// Checks that decode steps of `ops` with `caches` can be recorded.
pub fn repeatable(ops: &dyn Ops, caches: &[KvCache]) -> Result<(), BadInput> {
    if Decoder::can_follow(caches) {
        Ok(())
    } else {
        let expected = "level 5, the only one whose decode steps can be recorded";
        let found = match ops.level() {
            0 => "a level of your own".into(),
            number => format!("level {number}"),
        };
        Err(BadInput::new("--cuda-graph on", expected, found))
    }
}
