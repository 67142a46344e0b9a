//! Measures all kernels on a grid of shapes, and makes rules of the fastest.

mod calls;
mod grid;
mod merge;
mod sampler;

use candle_core::{Device, Result};
use rand::seq::SliceRandom;

use super::{Facts, Problem, Rule};
pub use calls::PICKED;
use calls::{CallOn, calls};
pub use grid::{Axis, Grid};
use sampler::Sampler;

/// Measurements of a problem.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The problem.
    pub problem: Problem,
    /// Kernels and microseconds, in the order of the registry.
    pub times: Vec<(&'static str, f64)>,
    /// The same, but each call follows a rest of the library's threads.
    rested: Vec<f64>,
}

/// Minimum speed-up over the kernel that runs without a table; smaller differences are noise.
const MARGIN: f64 = 1.05;

/// Samples per kernel, taken in turns in random order, so that disturbances affect all alike.
const SAMPLES: usize = 7;

/// Samples per kernel for slow kernels, whose times vary less.
const FEW: usize = 3;
const LONG: f64 = 1e3;

impl Measured {
    /// Measures each kernel that can run, on new operands; the fastest of a few samples counts.
    ///
    /// # Errors
    /// The errors of the kernels.
    pub fn new(problem: Problem, device: &Device) -> Result<Self> {
        let mut all = calls(&problem, device)?;
        all.truncate(all.iter().take_while(|call| call.name != PICKED).count());
        Self::of(problem, device, all, SAMPLES, fastest)
    }

    /// Measures by the median of `samples` samples, and adds the picked kernel including the cost of picking,
    /// as [`PICKED`], and candle's matmul.
    ///
    /// # Errors
    /// The errors of the kernels.
    pub fn with_picked(problem: Problem, device: &Device, samples: usize) -> Result<Self> {
        Self::of(problem, device, calls(&problem, device)?, samples, median)
    }

    /// Returns the microseconds of the kernel with this name.
    pub fn us(&self, name: &str) -> Option<f64> {
        let (_, us) = self.times.iter().find(|(known, _)| *known == name)?;
        Some(*us)
    }

    fn of(
        problem: Problem,
        device: &Device,
        calls: Vec<CallOn>,
        samples: usize,
        of: fn(&[f64]) -> f64,
    ) -> Result<Self> {
        let mut runs = vec![];
        for CallOn { name, sets, call } in calls {
            let sampler = Sampler::new(device, sets, call)?;
            runs.push((name, sampler, vec![], vec![]));
        }
        for done in 0..samples {
            let slow = |(_, _, us, _): &(_, _, Vec<f64>, _)| us.iter().any(|us| *us > LONG);
            if done >= FEW && runs.iter().any(slow) {
                break;
            }
            // Each kernel finds the caches and threads as the previous one left them.
            let mut turn: Vec<_> = runs.iter_mut().collect();
            turn.shuffle(&mut rand::rng());
            for (_, sampler, us, rested) in turn {
                us.push(sampler.sample()?);
                rested.push(sampler.rested()?.unwrap_or(us[us.len() - 1]));
            }
        }
        Ok(Self {
            problem,
            times: runs
                .iter()
                .map(|(name, _, us, _)| (*name, of(us)))
                .collect(),
            rested: runs.iter().map(|(_, _, _, rested)| of(rested)).collect(),
        })
    }

    // ANCHOR: places
    /// Indices of the fastest and the second fastest kernel.
    fn places(&self) -> (usize, Option<usize>) {
        let us = |&i: &usize| self.times[i].1;
        // The first kernel of a registry runs without a table. Another one replaces it only if it is faster
        // both with awake threads, as between two long matmuls, and with sleeping ones, as after a
        // single-threaded op.
        let faster =
            |&i: &usize| us(&i) * MARGIN < us(&0) && self.rested[i] * MARGIN < self.rested[0];
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by(|a, b| us(a).total_cmp(&us(b)));
        let first = order.iter().copied().find(faster).unwrap_or(0);
        order.retain(|&i| i != first);
        (first, order.first().copied())
    }
    // ANCHOR_END: places
}

/// Disturbances only make a sample longer.
fn fastest(us: &[f64]) -> f64 {
    us.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(us: &[f64]) -> f64 {
    let mut us = us.to_vec();
    us.sort_by(f64::total_cmp);
    us[us.len() / 2]
}

/// Returns the rules of all grids, in order; calls `seen` with every measurement.
///
/// # Errors
/// The errors of the kernels and the driver.
pub fn tune(device: &Device, grids: &[Grid], mut seen: impl FnMut(&Measured)) -> Result<Vec<Rule>> {
    let facts = Facts::of(device)?;
    let mut rules = vec![];
    for grid in grids {
        let mut cells = vec![];
        for (ranges, problem) in grid.problems(facts) {
            let measured = Measured::new(problem, device)?;
            seen(&measured);
            cells.push(merge::Cell::new(ranges, &measured));
        }
        rules.extend(merge::rules(grid, cells));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;
    use crate::dispatch::{Layout, Op, Range};

    fn measured(times: &[(&'static str, f64)]) -> Measured {
        let problem = Problem {
            op: Op::Matmul,
            batch: 1,
            m: 8,
            n: 8,
            k: 8,
            dtype: DType::F32,
            layout: [Layout::Rows; 2],
        };
        Measured {
            problem,
            times: times.to_vec(),
            rested: times.iter().map(|(_, us)| *us).collect(),
        }
    }

    #[test]
    fn the_first_kernel_is_replaced_only_if_slower_awake_and_rested() {
        let places = |rested: [f64; 3]| {
            let mut measured = measured(&[("a", 3.0), ("b", 2.0), ("c", 2.5)]);
            measured.rested = rested.to_vec();
            measured.places()
        };
        assert_eq!(places([9.0, 3.0, 3.0]), (1, Some(2)));
        assert_eq!(places([3.0, 9.0, 2.5]), (2, Some(1)), "b has to be woken");
        assert_eq!(places([3.0, 9.0, 9.0]), (0, Some(1)));
    }

    #[test]
    fn noise_does_not_replace_the_first_kernel() {
        let places = |times: &[_]| measured(times).places();
        assert_eq!(places(&[("a", 3.0), ("b", 2.0), ("c", 2.5)]), (1, Some(2)));
        assert_eq!(places(&[("a", 2.05), ("b", 2.0), ("c", 2.5)]), (0, Some(1)));
        assert_eq!(places(&[("a", 2.0)]), (0, None));
    }

    #[test]
    fn a_grid_becomes_rules_for_the_measured_shapes() -> Result<()> {
        let sizes = |sizes: &[usize]| Axis::up_to(sizes);
        let grid = Grid {
            op: Op::Matmul,
            dtype: DType::F32,
            batch: sizes(&[1]),
            m: sizes(&[4, 8]),
            n: sizes(&[8, 16]).and_above(),
            k: Axis::only(8),
        };
        let mut seen = 0;
        let rules = tune(&Device::Cpu, &[grid], |measured| {
            assert!(measured.times.iter().all(|(_, us)| *us > 0.));
            seen += 1;
        })?;
        assert_eq!(seen, 4);
        for (m, n, k, holds) in [
            (1, 8, 8, true),
            (8, 9, 8, true),
            (8, 9000, 8, true),
            (9, 8, 8, false),
            (8, 8, 9, false),
        ] {
            let problem = Problem {
                m,
                n,
                k,
                ..measured(&[]).problem
            };
            let found = rules.iter().filter(|rule| rule.holds(&problem)).count();
            assert_eq!(found, usize::from(holds), "{problem}");
        }
        assert!(rules.iter().all(|rule| rule.batch == Range(0, 1)));
        Ok(())
    }
}
