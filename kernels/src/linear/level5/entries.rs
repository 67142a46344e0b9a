//! The names of a tile's kernels.

use crate::linear::level4::Op;

/// For [`Op::Linear`], [`Op::Gelu`] and [`Op::SwiGlu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries(pub [&'static str; 3]);

impl Entries {
    /// That of the plain product, which stands for all in the registry.
    pub const fn name(self) -> &'static str {
        self.0[0]
    }

    /// The one for `op`.
    pub const fn of(self, op: Op) -> &'static str {
        match op {
            Op::Linear => self.0[0],
            Op::Gelu => self.0[1],
            Op::SwiGlu => self.0[2],
        }
    }
}
