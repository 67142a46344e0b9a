//! `--swap`: the ops of one level, with some from others.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use data::BadInput;
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

use crate::{Level, one_of};

/// The ops that can be swapped: every method of [`Ops`] that computes something, in its order.
pub const OPS: [&str; 14] = [
    "embedding",
    "linear",
    "qkv",
    "qkv_skip",
    "linear_gelu",
    "linear_swiglu",
    "add_rms_norm",
    "add_layer_norm",
    "causal_attention",
    "attention",
    "edge_attention",
    "segment_mean",
    "patch_embed",
    "next_token",
];

/// A base level, and the ops that other levels do in its place.
///
/// What is swapped is what the model calls. An op that calls another one on its way (level 2's `qkv` its
/// `linear`) calls that of its own level: a level is taken op by op, as it is. The cache belongs to
/// `causal_attention` and is swapped with it.
pub struct Swap {
    base: Level,
    swapped: Vec<(&'static str, Level)>,
}

impl Swap {
    /// `base` with the ops that `spec` names, `linear=2,causal_attention=4`.
    ///
    /// # Errors
    /// [`BadInput`] for an op or a level that is not there, an op that is named twice, or anything else.
    pub fn new(base: Level, spec: &str) -> std::result::Result<Self, BadInput> {
        let levels = crate::all();
        let mut swap = Self {
            base,
            swapped: vec![],
        };
        for part in spec.split(',').map(str::trim) {
            let Some((op, number)) = part.split_once('=') else {
                return Err(BadInput::new("--swap", "OP=LEVEL,…", format!("{part:?}")));
            };
            let op = find_op(op.trim())?;
            if swap.swapped.iter().any(|(name, _)| *name == op) {
                return Err(BadInput::new("--swap", format!("{op} once"), "it twice"));
            }
            swap.swapped
                .push((op, find_level(op, number.trim(), &levels)?));
        }
        Ok(swap)
    }

    /// Numbers of the levels that take part, in order.
    pub fn levels(&self) -> Vec<u8> {
        let swapped = self.swapped.iter().map(|(_, level)| level.level());
        let mut levels: Vec<u8> = swapped.chain([self.base.level()]).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// The level that does `op`.
    fn of(&self, op: &'static str) -> &dyn Ops {
        let swapped = self.swapped.iter().find(|(name, _)| *name == op);
        swapped.map_or(&*self.base, |(_, level)| &**level)
    }
}

fn find_op(name: &str) -> std::result::Result<&'static str, BadInput> {
    let op = OPS.iter().find(|op| **op == name);
    op.copied().ok_or_else(|| {
        let expected = format!("an op ({})", one_of(&OPS, "or"));
        BadInput::new("--swap", expected, format!("{name:?}"))
    })
}

fn find_level(op: &str, number: &str, levels: &[Level]) -> std::result::Result<Level, BadInput> {
    let level = levels
        .iter()
        .find(|level| number.parse() == Ok(level.level()));
    level.map(Arc::clone).ok_or_else(|| {
        let expected = format!("level {}", one_of(&crate::numbers(), "or"));
        BadInput::new(format!("--swap {op}"), expected, format!("{number:?}"))
    })
}

impl Ops for Swap {
    fn level(&self) -> u8 {
        self.base.level()
    }

    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        self.of("causal_attention").new_caches(shape)
    }

    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        self.of("embedding").embedding(ids, w)
    }

    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        self.of("linear").linear(x, w, b)
    }

    fn qkv(
        &self,
        x: &Tensor,
        w: &Weight,
        b: Option<&Tensor>,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        self.of("qkv").qkv(x, w, b, heads)
    }

    fn qkv_skip(
        &self,
        x: &Tensor,
        w: &Weight,
        b: &Tensor,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        self.of("qkv_skip").qkv_skip(x, w, b, heads)
    }

    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        self.of("linear_gelu").linear_gelu(x, w, b)
    }

    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        self.of("linear_swiglu").linear_swiglu(x, w)
    }

    fn add_rms_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        self.of("add_rms_norm").add_rms_norm(x, residual, w, eps)
    }

    fn add_layer_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        b: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        self.of("add_layer_norm")
            .add_layer_norm(x, residual, w, b, eps)
    }

    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        self.of("causal_attention")
            .causal_attention(q, k, v, rope, cache)
    }

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        self.of("attention").attention(q, k, v)
    }

    fn edge_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        self.of("edge_attention")
            .edge_attention(q, k, v, skip, edges, w, graph)
    }

    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        self.of("segment_mean").segment_mean(x, residual, segments)
    }

    fn patch_embed(
        &self,
        pixels: &Tensor,
        w: &Weight,
        b: &Tensor,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        self.of("patch_embed")
            .patch_embed(pixels, w, b, class, positions)
    }

    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        self.of("next_token").next_token(logits, sampling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(spec: &str) -> std::result::Result<Swap, String> {
        Swap::new(crate::all().remove(0), spec).map_err(|bad| bad.to_string())
    }

    fn refusal(spec: &str) -> String {
        swap(spec).err().unwrap_or_else(|| panic!("{spec} is fine"))
    }

    #[test]
    fn every_method_that_computes_can_be_swapped() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/src/ops.rs");
        let source = std::fs::read_to_string(path).unwrap();
        let methods = source[source.find("pub trait Ops").unwrap()..]
            .lines()
            .filter_map(|line| line.strip_prefix("    fn ")?.split('(').next())
            .filter(|name| !["level", "new_caches"].contains(name));
        assert_eq!(methods.collect::<Vec<_>>(), OPS);
    }

    #[test]
    fn ops_and_levels_are_read() {
        let swap = swap("linear=2, attention = 2,qkv=1").unwrap();
        assert_eq!(swap.level(), 1);
        assert_eq!(swap.levels(), [1, 2]);
        assert_eq!(swap.of("linear").level(), 2);
        assert_eq!(swap.of("attention").level(), 2);
        assert_eq!(swap.of("qkv").level(), 1);
        assert_eq!(swap.of("embedding").level(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for spec in ["", "linear", "linear=2,", "linear:2"] {
            let complaint = refusal(spec);
            assert!(
                complaint.starts_with("--swap: expected OP=LEVEL,…, found \""),
                "{complaint}"
            );
        }
        let complaint = refusal("gelu=2");
        assert!(complaint.contains("embedding, linear, qkv"), "{complaint}");
        assert!(
            complaint.ends_with("patch_embed or next_token), found \"gelu\""),
            "{complaint}"
        );
        for number in ["0", "9", "two", "", "2.5", "-1", "258"] {
            let complaint = refusal(&format!("linear={number}"));
            let expected = one_of(&crate::numbers(), "or");
            let expected = format!("--swap linear: expected level {expected}, found \"{number}\"");
            assert_eq!(complaint, expected);
        }
        assert_eq!(
            refusal("linear=1,qkv=2,linear=2"),
            "--swap: expected linear once, found it twice"
        );
    }
}
