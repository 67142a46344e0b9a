//! Limits of a device: "Roofline", Williams, Waterman, Patterson, 2009.

use std::fmt;

use super::Total;

/// Measured limits of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bandwidth in bytes per second for data larger than the caches: of a copy, or on a CPU of a read if
    /// that is faster.
    pub bytes_per_s: f64,
    /// FLOP/s of a large matmul.
    pub flops_per_s: f64,
}

/// The limit of an op, independent of its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Memory-bound: too few operations for its bytes.
    Memory,
    /// Compute-bound.
    Arithmetic,
}

/// How close an op comes to its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reached {
    /// Share of the limit, at most 1.
    Share(f64),
    /// At the limit: as fast as the measurement of the limit, or slightly faster.
    All,
    /// Above the memory limit, because the operands were in caches.
    InCache,
}

/// Maximum excess over a measured bandwidth without caches: a copy reads and writes, and on some GPUs reading
/// alone is faster.
const MARGIN: f64 = 1.1;

impl Reached {
    /// Classifies the ratio of minimum to measured time.
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
    /// Returns the minimum seconds for `needs`, the larger of bytes over bandwidth and FLOPs over FLOP/s, and
    /// which of the two it is.
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
