//! What a device can do at the most: "Roofline", Williams, Waterman, Patterson, 2009.

use std::fmt;

use super::Total;

/// The two rates of a device, as somebody has measured them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes a second of what is larger than the caches: copied, or on a CPU read, if that is the faster.
    pub bytes_per_s: f64,
    /// Floating-point operations a second, of a large matrix product.
    pub flops_per_s: f64,
}

/// Which of the two holds an op back, whatever its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// It has too few operations for its bytes.
    Memory,
    /// It has operations enough to keep the arithmetic busy.
    Arithmetic,
}

impl Limits {
    /// Seconds that `needs` take at the least, the larger of bytes over bandwidth and FLOPs over rate, and which
    /// that is.
    pub fn least(&self, needs: Total) -> (f64, Limit) {
        let (memory, arithmetic) = (
            needs.bytes / self.bytes_per_s,
            needs.flops / self.flops_per_s,
        );
        match memory >= arithmetic {
            true => (memory, Limit::Memory),
            false => (arithmetic, Limit::Arithmetic),
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        use crate::table::si;
        let (bytes, flops) = (si(self.bytes_per_s), si(self.flops_per_s));
        write!(f, "memory {bytes}B/s, arithmetic {flops}FLOP/s")
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Arithmetic => "arithmetic",
        })
    }
}
