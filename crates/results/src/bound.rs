//! The shortest time that a device's measured limits allow an op.

use crate::{OpResults, OpRow};

/// The op of the rows that hold what a device does in one second, and their two shapes.
pub const LIMITS: &str = "limits";
/// The shape of the row with the bytes of a large copy.
pub const MEMORY: &str = "memory";
/// The shape of the row with the FLOPs of the fastest large matmul.
pub const ARITHMETIC: &str = "arithmetic";

/// Microseconds of a second.
const SECOND: f64 = 1e6;

/// The shortest time that the measured limits allow an op.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Microseconds.
    pub us: f64,
    /// The limit that decides.
    pub rate: Rate,
}

/// A measured limit of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Bandwidth of a large copy.
    Memory,
    /// FLOPs per second of the fastest large matmul in the row's dtype.
    Matmul,
}

impl OpResults {
    /// Returns the bound of a row's op, by the limits that were recorded for the row's dtype; `None` where either is not
    /// known.
    pub fn bound(&self, row: &OpRow) -> Option<Bound> {
        let us = |needs: Option<u64>, in_a_second: u64| {
            Some(needs? as f64 / in_a_second as f64 * SECOND)
        };
        let memory = us(
            row.needs_bytes.or(row.bytes),
            self.limit(MEMORY, row)?.bytes?,
        );
        let matmul = us(
            row.needs_flops.or(row.flops),
            self.limit(ARITHMETIC, row)?.flops?,
        );
        let bounds = [(memory, Rate::Memory), (matmul, Rate::Matmul)].into_iter();
        let known = bounds.filter_map(|(us, rate)| Some(Bound { us: us?, rate }));
        known.max_by(|a, b| a.us.total_cmp(&b.us))
    }

    /// The limit of this shape in the dtype of `row`.
    fn limit(&self, shape: &str, row: &OpRow) -> Option<&OpRow> {
        let mut limits = self.rows.iter().filter(|other| other.op == LIMITS);
        limits.find(|other| other.shape == shape && other.dtype == row.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    #[test]
    fn the_slower_of_the_two_limits_decides() {
        let row = |op: &str, shape: &str, bytes, flops| OpRow {
            op: op.into(),
            shape: shape.into(),
            dtype: "f32".into(),
            bytes,
            flops,
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default());
        results.rows = vec![
            row(LIMITS, MEMORY, Some(1_000_000), None),
            row(LIMITS, ARITHMETIC, None, Some(10_000_000)),
        ];
        let bound = |bytes, flops| results.bound(&row("linear", "1x2", bytes, flops));
        let of = |us, rate| Some(Bound { us, rate });
        assert_eq!(bound(Some(5), Some(20)), of(5., Rate::Memory));
        assert_eq!(bound(Some(5), Some(90)), of(9., Rate::Matmul));
        assert_eq!(bound(None, None), None);
        let other = OpRow {
            dtype: "bf16".into(),
            ..row("linear", "1x2", Some(5), Some(20))
        };
        assert_eq!(results.bound(&other), None, "no limits in bf16");
    }
}
