//! Rotation and the append to the cache alone, which the models have only inside causal attention.

use std::any::Any;
use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use kernels::{attention, level3, level4, level5, rope};
use levels::Level;
use models::{KvCache, Rope};

use super::attentions::{Inputs, at_all_levels, heads, prompts};
use super::{Bench, Case, Timed, Work};

timed! {
    rope: Rows, Some("128x8x8x64"), rope_append;
}

/// `rope_append` of a level with a cache of type C: q, k, v, cos, sin, the cache and the position of the first token.
type RopeAppend<C> =
    fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &mut C, usize) -> Result<Tensor>;

/// Rotates q and k, and appends k and v to the cache of a level.
type Append = Box<dyn Fn([&Tensor; 3], &Rope, &mut KvCache) -> Result<Tensor>>;

/// Rotation of T tokens after P that are in the cache.
struct Rotation {
    level: u8,
    append: Append,
    inputs: Arc<Inputs>,
    cache: KvCache,
}

impl Rotation {
    /// With the P tokens in the cache.
    fn new(level: Level, inputs: &Arc<Inputs>) -> Result<Self> {
        let mut cache = inputs.cache(&level)?;
        let append = append(level.level())?;
        if inputs.past() > 0 {
            append(inputs.past.each_ref(), &inputs.rope, &mut cache)?;
        }
        Ok(Self {
            level: level.level(),
            append,
            inputs: inputs.clone(),
            cache,
        })
    }
}

impl Timed for Rotation {
    fn not_recorded(&self) -> Option<&str> {
        (self.level == 1).then_some("each call keeps keys and values in new memory")
    }

    /// At the same position each time.
    fn call(&mut self) -> Result<Tensor> {
        let Inputs { new, rope, .. } = &*self.inputs;
        self.cache.rewind(self.inputs.past());
        (self.append)(new.each_ref(), rope, &mut self.cache)
    }
}

fn append(level: u8) -> Result<Append> {
    Ok(match level {
        1 => at_host_position(level1::ops::rope_append),
        2 => at_host_position(level2::ops::rope_append),
        3 => at_host_position::<attention::Cache>(level3::rope_append),
        4 => at_host_position::<attention::Cache>(level4::rope_append),
        5 => Box::new(append_level5),
        _ => bail!("rope: expected levels 1 to 5, found {level}"),
    })
}

/// Passes the angles of the tokens' positions to `rope_append`.
fn at_host_position<C: Any>(rope_append: RopeAppend<C>) -> Append {
    Box::new(move |[q, k, v], rope, cache| {
        let (position, t) = (cache.len(), q.dim(1)?);
        let (cos, sin) = rope.at(position, t)?;
        rope_append(q, k, v, &cos, &sin, cache.advance(t)?, position)
    })
}

/// A few tokens at the position in the device's memory, as in a decode step of several launches; others, and all on a CPU,
/// at the host's.
fn append_level5([q, k, v]: [&Tensor; 3], rope: &Rope, cache: &mut KvCache) -> Result<Tensor> {
    let (position, t) = (cache.len(), q.dim(1)?);
    let cache = cache.advance::<level5::Cache>(t)?;
    if let Some(cache) = cache.on_device(q, position)? {
        return rope::level5::rope_append_step(q, k, v, &rope.cos, &rope.sin, &cache);
    }
    let (cos, sin) = rope.at(position, t)?;
    level5::rope_append(q, k, v, &cos, &sin, cache.inner(), position)
}

/// Prompts of T tokens, and one token after P.
fn rope_append(bench: &mut impl Bench) -> Result<()> {
    let prompts = prompts(bench)
        .into_iter()
        .map(|(b, t, heads)| (b, 0, t, heads));
    let steps = heads().map(|heads| (1, 255, 1, heads));
    for (b, past, t, heads) in prompts.chain(steps) {
        let (h, h_kv, d) = (heads.num_heads, heads.num_kv_heads, heads.head_dim);
        let cost = rope::cost(b, t, (h, h_kv), d, bench.dtype());
        let inputs = Inputs::new(bench, b, heads, past, t)?;
        let case = Case {
            op: "rope",
            shape: &inputs.name(),
            work: Work::Bytes(cost.bytes as usize),
            cost,
        };
        at_all_levels(bench, case, inputs, Rotation::new)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::ops::attentions::tests::Random;

    /// In a second call, too: the position stays.
    #[test]
    fn every_level_rotates_the_same_tokens() -> Result<()> {
        let bench = Random(Device::Cpu);
        let [_, grouped] = heads();
        for (past, new) in [(0, 3), (5, 1)] {
            let inputs = Arc::new(Inputs::new(&bench, 2, grouped, past, new)?);
            let mut answers = vec![];
            for level in levels::all() {
                let mut rotation = Rotation::new(level, &inputs)?;
                answers.extend([rotation.call()?, rotation.call()?]);
                assert_eq!(rotation.cache.len(), past + new);
            }
            let turned = (&answers[0] - &inputs.new[0])?.abs()?.max_all()?;
            let is_turned = turned.to_scalar::<f32>()? > 0.1;
            assert!(is_turned, "{new} tokens at {past}");
            for (i, answer) in answers.iter().enumerate() {
                let apart = (answer - &answers[0])?.abs()?.max_all()?;
                let apart = apart.to_scalar::<f32>()?;
                assert!(apart <= 1e-5, "level {}: {apart}", i / 2 + 1);
            }
        }
        Ok(())
    }
}
