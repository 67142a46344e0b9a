//! Ops that say what each needs before it runs.

use std::cell::Cell;

use candle_core::{Result, Tensor};
use models::trace::{Needs, needs, span};
use models::{
    CacheShape, Csr, DecoderPass, EncoderPass, GraphPass, HeadPass, Heads, KvCache, Linear, Norm,
    Ops, Rope, Sampling, Segments, Weight, WholePass, for_each_op,
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

thread_local! {
    static WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with the whole passes of [`Costed`] levels, as they are without it. Elsewhere their models run op by op, so that
/// each op says what it needs.
pub fn whole<T>(f: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            WHOLE.set(self.0);
        }
    }
    let _before = Before(WHOLE.replace(true));
    f()
}

macro_rules! whole_passes {
    ($($pass:ident($of:ty);)*) => {
        $(fn $pass(&self, pass: $of) -> Result<Option<Tensor>> {
            if WHOLE.get() { self.0.$pass(pass) } else { Ok(None) }
        })*
    };
}

impl WholePass for Costed {
    whole_passes! {
        graph_pass(&GraphPass);
        encoder_pass(&EncoderPass);
        decoder_pass(&mut DecoderPass);
        head_pass(&HeadPass);
    }
}

impl Ops for Costed {
    fn level(&self) -> u8 {
        self.0.level()
    }

    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        self.0.new_caches(shape)
    }

    for_each_op!(costed);
}
