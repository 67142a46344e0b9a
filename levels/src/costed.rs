//! Ops that say what each needs before it runs.

use candle_core::{Result, Tensor};
use models::trace::{Needs, needs, span};
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight,
    WholePass, for_each_op,
};

use crate::{Level, costs};

/// A level whose ops open a trace span of their own, around those of the kernels that they launch. It carries the minimum
/// bytes and FLOPs of the op, from the shapes of its operands alone: the same numbers at every level, so that throughputs
/// can be compared.
pub struct Costed(Level);

impl Costed {
    /// Around a level.
    pub fn new(ops: Level) -> Self {
        Self(ops)
    }
}

macro_rules! costed {
    ($($op:ident($($name:ident: $of:ty),*) -> $result:ty;)*) => {
        $(fn $op(&self, $($name: $of),*) -> Result<$result> {
            let cost = costs::$op($(&$name),*)?;
            needs(Needs {
                bytes: cost.bytes,
                flops: cost.flops,
            });
            let _span = span(stringify!($op));
            self.0.$op($($name),*)
        })*
    };
}

/// Op by op, so that each says what it needs.
impl WholePass for Costed {}

impl Ops for Costed {
    fn level(&self) -> u8 {
        self.0.level()
    }

    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        self.0.new_caches(shape)
    }

    for_each_op!(costed);
}
