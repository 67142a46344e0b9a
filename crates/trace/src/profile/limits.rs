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

/// How near an op comes to the limit that holds it back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reached {
    /// This share of the limit, at most 1.
    Share(f64),
    /// All of it: as fast as what measured the limit, or a little faster.
    All,
    /// More than memory can deliver, because the operands were in the caches.
    InCache,
}

/// The most that a measured bandwidth may be exceeded by without caches: a copy reads and writes, and reading alone is
/// faster on some GPUs.
const MARGIN: f64 = 1.1;

impl Reached {
    /// From the least time over the time taken.
    pub fn of(fraction: f64, limit: Limit) -> Self {
        match limit {
            _ if fraction <= 1. => Self::Share(fraction),
            Limit::Memory if fraction > MARGIN => Self::InCache,
            Limit::Memory | Limit::Arithmetic => Self::All,
        }
    }
}

impl fmt::Display for Reached {
    /// `40.0%`, `at limit` or `in cache`
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{:.1}%", 100. * share),
            Self::All => f.write_str("at limit"),
            Self::InCache => f.write_str("in cache"),
        }
    }
}

impl Limits {
    /// Seconds that `needs` take at the least, the larger of bytes over bandwidth and FLOPs over rate, and which
    /// that is.
    pub fn least(&self, needs: Total) -> (f64, Limit) {
        let (memory, arithmetic) = (
            needs.bytes / self.bytes_per_s,
            needs.flops / self.flops_per_s,
        );
        if memory >= arithmetic {
            (memory, Limit::Memory)
        } else {
            (arithmetic, Limit::Arithmetic)
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
