//! Merges neighbouring cells with the same kernel into one rule.

use super::{Grid, Measured};
use crate::dispatch::{Range, Rule};

/// A box of shapes, and the measurement at its upper end.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Ranges of batch, m, n and k.
    ranges: [Range; 4],
    kernel: (&'static str, f64),
    next: Option<(&'static str, f64)>,
    untuned: (&'static str, f64),
}

impl Cell {
    /// The cell of `measured`.
    pub fn new(ranges: [Range; 4], measured: &Measured) -> Self {
        let (first, second) = measured.places();
        Self {
            ranges,
            kernel: measured.times[first],
            next: second.map(|i| measured.times[i]),
            untuned: measured.times[0],
        }
    }

    /// Whether `other` has the same kernel, is adjacent above this along `axis`, and has equal ranges along
    /// all others.
    fn continues(&self, other: &Self, axis: usize) -> bool {
        let same = |i: usize| i == axis || self.ranges[i] == other.ranges[i];
        self.kernel.0 == other.kernel.0
            && (0..4).all(same)
            && self.ranges[axis].1 + 1 == other.ranges[axis].0
    }
}

/// Returns the rules of a grid. If the largest size represents all above, its ranges are open.
pub fn rules(grid: &Grid, mut cells: Vec<Cell>) -> Vec<Rule> {
    for axis in (0..4).filter(|&axis| grid.above()[axis]) {
        open(&mut cells, axis);
    }
    // k first, because it matters least.
    for axis in [3, 2, 1, 0] {
        cells = joined(cells, axis);
    }
    let round = |us: f64| (us * 1e3).round() / 1e3;
    let rule = |cell: Cell| Rule {
        op: grid.op,
        dtype: grid.dtype.as_str().into(),
        batch: cell.ranges[0],
        m: cell.ranges[1],
        n: cell.ranges[2],
        k: cell.ranges[3],
        kernel: cell.kernel.0.into(),
        us: round(cell.kernel.1),
        next: cell.next.map_or("", |next| next.0).into(),
        next_us: round(cell.next.map_or(0., |next| next.1)),
        untuned: cell.untuned.0.into(),
        untuned_us: round(cell.untuned.1),
    };
    cells.into_iter().map(rule).collect()
}

/// Opens the ranges of the uppermost cells along an axis.
fn open(cells: &mut [Cell], axis: usize) {
    let all = cells.to_vec();
    for cell in cells {
        let above = |other: &Cell| {
            let beside = (0..4).all(|i| i == axis || other.ranges[i] == cell.ranges[i]);
            beside && other.ranges[axis].0 > cell.ranges[axis].1
        };
        if !all.iter().any(above) {
            cell.ranges[axis].1 = usize::MAX;
        }
    }
}

/// Merges adjacent cells along an axis; the upper cell's times are kept.
fn joined(cells: Vec<Cell>, axis: usize) -> Vec<Cell> {
    let mut joined: Vec<Cell> = vec![];
    for cell in cells {
        match joined.iter_mut().find(|below| below.continues(&cell, axis)) {
            Some(below) => {
                let from = below.ranges[axis].0;
                *below = cell;
                below.ranges[axis].0 = from;
            }
            None => joined.push(cell),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;
    use crate::dispatch::{Op, tune::Axis};

    fn cell(m: (usize, usize), n: (usize, usize), kernel: &'static str) -> Cell {
        let (any, times) = (Range(0, 1), (kernel, m.1 as f64));
        Cell {
            ranges: [any, Range(m.0, m.1), Range(n.0, n.1), any],
            kernel: times,
            next: None,
            untuned: times,
        }
    }

    #[test]
    fn neighbours_are_merged() {
        let grid = Grid {
            op: Op::Matmul,
            dtype: DType::F32,
            batch: Axis::up_to(&[1]),
            m: Axis::up_to(&[4, 8]).and_above(),
            n: Axis::up_to(&[4, 8]),
            k: Axis::up_to(&[1]),
        };
        let cells = vec![
            cell((0, 4), (0, 4), "a"),
            cell((0, 4), (5, 8), "a"),
            cell((5, 8), (0, 4), "a"),
            cell((5, 8), (5, 8), "b"),
        ];
        let rules = rules(&grid, cells);
        let found: Vec<_> = rules.iter().map(|r| (r.m, r.n, &*r.kernel, r.us)).collect();
        let any = usize::MAX;
        assert_eq!(
            found,
            [
                (Range(0, 4), Range(0, 8), "a", 4.),
                (Range(5, any), Range(0, 4), "a", 8.),
                (Range(5, any), Range(5, 8), "b", 8.),
            ]
        );
    }
}
