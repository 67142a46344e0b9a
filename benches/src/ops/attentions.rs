//! The three kinds of attention.

use std::sync::Arc;

use crate::gnn::{LARGE, power_law_edges, regular};
use candle_core::{Result, Tensor, bail};
use kernels::cost::Cost;
use kernels::edge_attention::Size;
use levels::Level;
use models::{CacheShape, Csr, Heads, KvCache, Rope, Weight};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Bench, Case, Timed, Work, mixed_rows, with_large};

timed! {
    causal_attention_prefill: Attention, Some("128x8x8x64"), causal_prefill;
    causal_attention_decode: Attention, Some("255+1x8x8x64"), causal_decode;
    attention: Attention, Some("1x197x6x64"), attention;
    edge_attention: Graphs, Some("4096x16384"), edge_attention;
}

/// Positions of the rotary table: those of the longest case, 4096 + 1.
const CONTEXT: usize = 4097;

/// Causal attention of T tokens after P that are in the cache.
struct Causal {
    level: Level,
    inputs: Arc<Inputs>,
    cache: KvCache,
}

/// Inputs of all levels.
pub(super) struct Inputs {
    pub rope: Rope,
    pub shape: CacheShape,
    pub past: [Tensor; 3], // q, k, v (B, P, H, D)
    pub new: [Tensor; 3],  // q, k, v (B, T, H, D)
    tokens: usize,         // T
}

impl Inputs {
    pub fn new(
        bench: &impl Bench,
        batch: usize,
        heads: Heads,
        past: usize,
        new: usize,
    ) -> Result<Self> {
        let tensor =
            |name: &str, t: usize, h: usize| bench.tensor(name, &[batch, t, h, heads.head_dim]);
        let (h, h_kv) = (heads.num_heads, heads.num_kv_heads);
        let qkv = |t| -> Result<[Tensor; 3]> {
            Ok([
                tensor("q", t, h)?,
                tensor("k", t, h_kv)?,
                tensor("v", t, h_kv)?,
            ])
        };
        let device = bench.device().clone();
        Ok(Self {
            rope: Rope::new(10_000., heads.head_dim, CONTEXT, bench.dtype(), &device)?,
            past: qkv(past)?,
            new: qkv(new)?,
            tokens: new,
            shape: CacheShape {
                layers: 1,
                batch,
                capacity: past + new,
                heads,
                dtype: bench.dtype(),
                device,
            },
        })
    }

    /// P: what is in the cache before.
    pub fn past(&self) -> usize {
        self.shape.capacity - self.tokens
    }

    /// `128x8x8x64` for a prompt, `4x4096x16x16x128` for several, and `255+1x8x8x64` after P tokens: (B ×) (P +) T × H × Hkv × D.
    pub fn name(&self) -> String {
        let (heads, past, tokens) = (self.shape.heads, self.past(), self.tokens);
        let (h, h_kv, d) = (heads.num_heads, heads.num_kv_heads, heads.head_dim);
        let batch = match self.shape.batch {
            1 => String::new(),
            batch => format!("{batch}x"),
        };
        let past = match past {
            0 => String::new(),
            past => format!("{past}+"),
        };
        format!("{batch}{past}{tokens}x{h}x{h_kv}x{d}")
    }

    /// An empty cache of a level, for one layer.
    pub fn cache(&self, level: &Level) -> Result<KvCache> {
        match level.new_caches(&self.shape)?.pop() {
            Some(cache) => Ok(cache),
            None => bail!("causal attention: expected a cache a layer, found none"),
        }
    }

    /// The rotation and the attention; keys and values into the cache, and the angles out of their table.
    fn cost(&self) -> Cost {
        let CacheShape {
            batch,
            heads,
            dtype,
            ..
        } = self.shape;
        let (t, d) = (self.tokens, heads.head_dim);
        let pair = (heads.num_heads, heads.num_kv_heads);
        kernels::attention::cached_cost(batch, t, self.past(), pair, d, dtype)
    }
}

impl Causal {
    /// With the P tokens in the cache.
    fn new(level: Level, inputs: &Arc<Inputs>) -> Result<Self> {
        let mut new = Self {
            cache: inputs.cache(&level)?,
            inputs: inputs.clone(),
            level,
        };
        if new.inputs.past() > 0 {
            new.attend(true)?;
        }
        Ok(new)
    }

    fn attend(&mut self, past: bool) -> Result<Tensor> {
        let Inputs {
            rope,
            past: before,
            new,
            ..
        } = &*self.inputs;
        let [q, k, v] = if past { before } else { new };
        let cache = &mut self.cache;
        self.level.causal_attention(q, k, v, rope, cache)
    }
}

impl Timed for Causal {
    fn not_recorded(&self) -> Option<&str> {
        let moves = self.level.level() == 1;
        moves.then_some("each call keeps keys and values in new memory")
    }

    /// At the same position each time.
    fn call(&mut self) -> Result<Tensor> {
        self.cache.rewind(self.inputs.past());
        self.attend(false)
    }
}

/// `lm.readme` and `lm.smollm-135m`, whose query heads share key heads.
pub(super) fn heads() -> [Heads; 2] {
    let grouped = Heads {
        num_heads: 9,
        num_kv_heads: 3,
        head_dim: 64,
    };
    [Heads::full(8, 64), grouped]
}

/// Prompts with nothing in the cache, as B and T; long ones on a GPU, too.
pub(super) fn prompts(bench: &impl Bench) -> Vec<(usize, usize, Heads)> {
    let shapes = heads().map(|heads| (1, 128, heads));
    let large = [
        (1, 2048, Heads::full(8, 64)),
        (4, 4096, Heads::full(16, 128)),
    ];
    with_large(bench, &shapes, &large)
}

/// B prompts of T tokens: what is not masked of two products of B·H·T·T·D, and the rotation.
fn causal_prefill(bench: &mut impl Bench) -> Result<()> {
    for (b, t, heads) in prompts(bench) {
        let inputs = Inputs::new(bench, b, heads, 0, t)?;
        let case = Case {
            op: "causal_attention_prefill",
            shape: &inputs.name(),
            work: Work::Flops(inputs.cost().flops as usize),
            cost: inputs.cost(),
        };
        at_all_levels(bench, case, inputs, Causal::new)?;
    }
    Ok(())
}

/// One token after P tokens in the cache: all keys and values are read. On a GPU after 4096 tokens, too, whose keys
/// levels 4 and 5 split over several blocks.
fn causal_decode(bench: &mut impl Bench) -> Result<()> {
    let shapes = heads().map(|heads| (255, heads));
    let large = [(4096, Heads::full(8, 64))];
    for (past, heads) in with_large(bench, &shapes, &large) {
        let (h_kv, d) = (heads.num_kv_heads, heads.head_dim);
        let inputs = Inputs::new(bench, 1, heads, past, 1)?;
        let case = Case {
            op: "causal_attention_decode",
            shape: &inputs.name(),
            work: Work::Bytes(2 * (past + 1) * h_kv * d * bench.dtype().size_in_bytes()),
            cost: inputs.cost(),
        };
        at_all_levels(bench, case, inputs, Causal::new)?;
    }
    Ok(())
}

/// Times what `setup` makes of `inputs` at each level.
pub(super) fn at_all_levels<T: Timed>(
    bench: &mut impl Bench,
    case: Case,
    inputs: Inputs,
    setup: impl Fn(Level, &Arc<Inputs>) -> Result<T>,
) -> Result<()> {
    let (positions, inputs) = (inputs.shape.capacity, Arc::new(inputs));
    let table = |angles: &Tensor| angles.narrow(0, 0, positions);
    let (cos, sin) = (table(&inputs.rope.cos)?, table(&inputs.rope.sin)?);
    let ([q, k, v], [_, past_k, past_v]) = (&inputs.new, &inputs.past);
    let mut operands = vec![("q", q), ("k", k), ("v", v), ("cos", &cos), ("sin", &sin)];
    if past_k.elem_count() > 0 {
        operands.extend([("past_k", past_k), ("past_v", past_v)]);
    }
    bench.method(case, &operands, |level| setup(level, &inputs))
}

/// B images of T patches: `vit.s16`, and small images; on a GPU 32 of the former, too.
fn attention(bench: &mut impl Bench) -> Result<()> {
    let (shapes, large) = ([[1, 197, 6, 64], [10, 65, 4, 32]], [[32, 197, 6, 64]]);
    for [b, t, h, d] in with_large(bench, &shapes, &large) {
        let tensor = |name| bench.tensor(name, &[b, t, h, d]);
        let (q, k, v) = (tensor("q")?, tensor("k")?, tensor("v")?);
        let case = Case {
            op: "attention",
            shape: &format!("{b}x{t}x{h}x{d}"),
            work: Work::Flops(4 * b * h * t * t * d),
            cost: kernels::attention::cost(b, t, (h, h), d, bench.dtype()),
        };
        bench.function(case, &[("q", &q), ("k", &k), ("v", &v)], |level| {
            let (q, k, v) = (q.clone(), k.clone(), v.clone());
            Ok(move || (level.attention)(&q, &k, &v))
        })?;
    }
    Ok(())
}

/// `gnn.base`: 128 graphs of 32 nodes, four incoming edges per node. On a GPU one large graph, too, from level 3 on: `index_add`
/// of levels 1 and 2 goes over its edges one after the other, a second a call.
fn edge_attention(bench: &mut impl Bench) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let graph = |g: u32| {
        let edges = regular(&mut rng).edges.into_iter();
        edges.map(move |edge| edge.map(|node| 32 * g + node))
    };
    let edges: Vec<[u32; 2]> = (0..128).flat_map(graph).collect();
    attend(bench, 32 * 128, &edges, 1)?;
    if bench.large() {
        let (nodes, edges) = LARGE;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        attend(bench, nodes, &power_law_edges(nodes, edges, &mut rng), 3)?;
    }
    Ok(())
}

/// A graph of N nodes, at the levels from `lowest` on.
fn attend(bench: &mut impl Bench, n: usize, edges: &[[u32; 2]], lowest: u8) -> Result<()> {
    let (edge_width, h, d, e) = (16, 4, 32, edges.len());
    let tensor = |name| mixed_rows(bench, name, n, h * d)?.reshape((n, h, d));
    let (q, k, v) = (tensor("q")?, tensor("k")?, tensor("v")?);
    let skip = mixed_rows(bench, "skip", n, h * d)?;
    let residual = mixed_rows(bench, "residual", n, h * d)?;
    let edge_attr = mixed_rows(bench, "edge_attr", e, edge_width)?;
    let w = bench.tensor("w", &[h * d, edge_width])?;
    let (csr, _) = Csr::new(n, edges, bench.device())?;
    let size = Size {
        nodes: n,
        heads: h,
        head_dim: d,
        edges: e,
        features: edge_width,
    };
    let case = Case {
        op: "edge_attention",
        shape: &format!("{n}x{e}"),
        // Each of q, k, v, skip, residual and the result once, edge features and both ends of each edge.
        work: Work::Bytes(bench.dtype().size_in_bytes() * (6 * n * h * d + e * edge_width) + 8 * e),
        cost: kernels::edge_attention::cost(size, bench.dtype()),
    };
    let operands = [
        ("q", &q),
        ("k", &k),
        ("v", &v),
        ("skip", &skip),
        ("residual", &residual),
        ("edge_attr", &edge_attr),
        ("w", &w),
        ("source", &csr.col_idx),
        ("target", &csr.row_idx),
    ];
    bench.function_from(lowest, case, &operands, |level| {
        let (csr, w) = (csr.clone(), Weight::new(w.clone()));
        let (q, k, v) = (q.clone(), k.clone(), v.clone());
        let (skip, residual, edge_attr) = (skip.clone(), residual.clone(), edge_attr.clone());
        Ok(move || (level.edge_attention)(&q, &k, &v, &skip, &residual, &edge_attr, &w, &csr))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use candle_core::{DType, Device};
    use levels::Costed;
    use models::trace::{Needs, record};

    use crate::ops::Contenders;

    /// Random operands, and no times.
    pub struct Random(pub Device);

    impl Bench for Random {
        fn device(&self) -> &Device {
            &self.0
        }

        fn dtype(&self) -> DType {
            DType::F32
        }

        fn tensor(&self, _name: &str, shape: &[usize]) -> Result<Tensor> {
            Tensor::rand(-1f32, 1., shape, &self.0)
        }

        fn times(&mut self, _: &str, _: &str, _: Work, _: Contenders) -> Result<()> {
            Ok(())
        }
    }

    /// The rows of single ops and `--trace` count alike.
    #[test]
    fn causal_attention_needs_what_its_method_says() -> Result<()> {
        let [_, grouped] = heads();
        for (past, new) in [(0, 3), (5, 1)] {
            let bench = Random(Device::Cpu);
            let level1 = levels::able(DType::F32, &bench.0).swap_remove(0);
            let inputs = Arc::new(Inputs::new(&bench, 2, grouped, past, new)?);
            let level = Arc::new(Costed::new(level1));
            let mut causal = Causal::new(level, &inputs)?;
            let (_, events) = record(&bench.0, || causal.call())?;
            let Cost { bytes, flops } = inputs.cost();
            assert_eq!(events[0].needs, Some(Needs { bytes, flops }));
        }
        Ok(())
    }
}
