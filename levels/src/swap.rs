//! `--swap`: the ops of one level, with some from others.

use candle_core::{Result, Tensor};
use data::BadInput;
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight,
    WholePass, for_each_op,
};

use crate::{Level, Name, one_of, own};

macro_rules! names {
    ($($op:ident($($argument:tt)*) -> $result:ty;)*) => {
        /// The ops that can be swapped: every method of [`Ops`] that computes something, in its order.
        pub const OPS: &[&str] = &[$(stringify!($op)),*];
    };
}
for_each_op!(names);

/// A base level, and the ops that other levels do in its place, a learner's own among them.
///
/// The methods that a model calls are swapped, each with all the kernels that it launches: `norm_qkv=2` takes the norm and
/// the matmul of level 2. The cache belongs to `causal_attention` and is swapped with it.
pub struct Swap {
    base: Level,
    swapped: Vec<(&'static str, Level)>,
}

impl Swap {
    /// `base` with the ops that `spec` names, `norm_qkv=2,causal_attention=4`, among `model_ops`, which the model runs.
    ///
    /// # Errors
    /// [`BadInput`] for an op or a level that is not there, an op that is named twice, or anything else.
    pub fn new(
        base: Level,
        spec: &str,
        model_ops: &[&'static str],
    ) -> std::result::Result<Self, BadInput> {
        let mut swap = Self {
            base,
            swapped: vec![],
        };
        for part in spec.split(',').map(str::trim) {
            let Some((op, number)) = part.split_once('=') else {
                return Err(BadInput::new("--swap", "OP=LEVEL,…", format!("{part:?}")));
            };
            let op = find_op(op.trim(), model_ops)?;
            if swap.swapped.iter().any(|(name, _)| *name == op) {
                return Err(BadInput::new("--swap", format!("{op} once"), "it twice"));
            }
            swap.swapped.push((op, find_level(op, number.trim())?));
        }
        Ok(swap)
    }

    /// Numbers of the levels that take part, in order; 0 for a learner's own.
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

fn find_op(name: &str, model_ops: &[&'static str]) -> std::result::Result<&'static str, BadInput> {
    let op = model_ops.iter().find(|op| **op == name);
    op.copied().ok_or_else(|| {
        let expected = format!("an op that this model runs ({})", one_of(model_ops, "or"));
        BadInput::new("--swap", expected, format!("{name:?}"))
    })
}

fn find_level(op: &str, name: &str) -> std::result::Result<Level, BadInput> {
    let option = format!("--swap {op}");
    match name.parse::<Name>() {
        Ok(level) => level.find(&option),
        Err(_) => Err(BadInput::new(option, own::expected(), format!("{name:?}"))),
    }
}

macro_rules! forward {
    ($($op:ident($($name:ident: $of:ty),*) -> $result:ty;)*) => {
        $(fn $op(&self, $($name: $of),*) -> Result<$result> {
            self.of(stringify!($op)).$op($($name),*)
        })*
    };
}

/// Op by op, so that those that are swapped run.
impl WholePass for Swap {}

impl Ops for Swap {
    fn level(&self) -> u8 {
        self.base.level()
    }

    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        self.of("causal_attention").new_caches(shape)
    }

    for_each_op!(forward);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(spec: &str) -> std::result::Result<Swap, String> {
        Swap::new(crate::all().remove(0), spec, OPS).map_err(|bad| bad.to_string())
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
        let swap = swap("linear=2, attention = 2,norm_qkv=1").unwrap();
        assert_eq!(swap.level(), 1);
        assert_eq!(swap.levels(), [1, 2]);
        assert_eq!(swap.of("linear").level(), 2);
        assert_eq!(swap.of("attention").level(), 2);
        assert_eq!(swap.of("norm_qkv").level(), 1);
        assert_eq!(swap.of("embedding").level(), 1);
    }

    #[test]
    fn a_swap_that_cannot_be_read_is_named() {
        for spec in ["", "linear", "linear=2,", "linear:2"] {
            let complaint = refusal(spec);
            assert!(
                complaint.starts_with("--swap: expected OP=LEVEL,…, found \""),
                "{complaint}"
            );
        }
        let complaint = refusal("gelu=2");
        assert!(
            complaint.contains("linear, norm_linear, norm_qkv"),
            "{complaint}"
        );
        assert!(
            complaint.ends_with("segment_mean or next_token), found \"gelu\""),
            "{complaint}"
        );
        let other = Swap::new(crate::all().remove(0), "attention=2", &["linear"]);
        let complaint = other.err().map(|bad| bad.to_string());
        let expected = "--swap: expected an op that this model runs (linear), found \"attention\"";
        assert_eq!(complaint.as_deref(), Some(expected));
        for number in ["0", "9", "Two", "", "2.5", "-1", "258"] {
            let complaint = refusal(&format!("linear={number}"));
            let expected = "level 1, 2, 3, 4, 5 or the name of your own";
            let expected = format!("--swap linear: expected {expected}, found \"{number}\"");
            assert_eq!(complaint, expected);
        }
        assert_eq!(
            refusal("linear=1,norm_qkv=2,linear=2"),
            "--swap: expected linear once, found it twice"
        );
    }
}
