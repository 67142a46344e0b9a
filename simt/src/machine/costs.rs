//! Counts the cost of accesses. If an instruction repeats its last address pattern, the cost is reused.

use std::rc::Rc;

use crate::alu::D;
use crate::ast::Space;

use super::access::Lanes;
use super::block::Block;
use super::coalesce::{Group, groups, ideal_sectors, ideal_wavefronts, sectors, wavefronts};

/// The last address pattern of an instruction: each lane's distance from the first address.
#[derive(Debug, Clone)]
pub struct Pattern {
    mask: u32,
    space: Space,
    /// Offset of the first address in its sector or word.
    phase: u64,
    distances: D,
    cost: u64,
    groups: Rc<[Group]>,
}

impl Block<'_> {
    /// Counts an access of `bytes` bytes per lane; returns the lanes grouped by address.
    pub fn count(&mut self, on: &Lanes, bytes: u32, load: bool) -> Rc<[Group]> {
        let (cost, groups) = match on.space {
            Space::Global => self.cost(on, 31, |at| sectors(at, on.mask, bytes)),
            Space::Shared => self.cost(on, 3, |at| wavefronts(at, on.mask, bytes, load)),
            Space::Cluster => {
                let counts = &mut self.counts[on.pc as usize];
                counts.cluster_load_requests += u64::from(load);
                counts.cluster_store_requests += u64::from(!load);
                return Rc::default();
            }
            Space::Local => {
                self.counts[on.pc as usize].local_requests += 1;
                return Rc::default();
            }
            _ => return Rc::default(),
        };
        let counts = &mut self.counts[on.pc as usize];
        let (requests, units, least) = match (on.space, load) {
            (Space::Global, true) => (
                &mut counts.global_load_requests,
                &mut counts.global_load_sectors,
                &mut counts.global_load_ideal,
            ),
            (Space::Global, false) => (
                &mut counts.global_store_requests,
                &mut counts.global_store_sectors,
                &mut counts.global_store_ideal,
            ),
            (_, true) => (
                &mut counts.shared_load_requests,
                &mut counts.shared_load_wavefronts,
                &mut counts.shared_load_ideal,
            ),
            (_, false) => (
                &mut counts.shared_store_requests,
                &mut counts.shared_store_wavefronts,
                &mut counts.shared_store_ideal,
            ),
        };
        *requests += 1;
        *units += cost;
        *least += match on.space {
            Space::Global => ideal_sectors(groups.len(), bytes),
            _ => ideal_wavefronts(on.mask, bytes).min(cost),
        };
        groups
    }

    /// Counts an atomic of `bytes` bytes per lane, which hardware counts apart from loads and stores.
    pub fn count_atomic(&mut self, on: &Lanes, bytes: u32) {
        match on.space {
            Space::Global => {
                let (cost, groups) = self.cost(on, 31, |at| sectors(at, on.mask, bytes));
                let counts = &mut self.counts[on.pc as usize];
                counts.global_atomic_requests += 1;
                counts.global_atomic_sectors += cost;
                counts.global_atomic_ideal += ideal_sectors(groups.len(), bytes);
            }
            Space::Shared => {
                let (cost, _) = self.cost(on, 3, |at| wavefronts(at, on.mask, bytes, true));
                let counts = &mut self.counts[on.pc as usize];
                counts.shared_atomic_requests += 1;
                counts.shared_atomic_wavefronts += cost;
            }
            Space::Cluster => {
                let counts = &mut self.counts[on.pc as usize];
                counts.cluster_load_requests += 1;
                counts.cluster_store_requests += 1;
            }
            _ => {}
        }
    }

    /// Returns the cost of a pattern, computed or cached. Moving a pattern by whole sectors or words keeps
    /// its cost.
    fn cost(&mut self, on: &Lanes, phase: u64, compute: impl Fn(&D) -> u64) -> (u64, Rc<[Group]>) {
        let phase = on.at[0] & phase;
        let distances = on.at.map(|at| at.wrapping_sub(on.at[0]));
        let known = &mut self.patterns[on.pc as usize];
        if let Some(p) = known
            && (p.space, p.mask, p.phase) == (on.space, on.mask, phase)
            && p.distances == distances
        {
            return (p.cost, p.groups.clone());
        }
        let cost = compute(on.at);
        let groups: Rc<[Group]> = groups(on.at, on.mask).into();
        let pattern = Pattern {
            mask: on.mask,
            space: on.space,
            phase,
            distances,
            cost,
            groups: groups.clone(),
        };
        match known {
            Some(p) => **p = pattern,
            None => *known = Some(Box::new(pattern)),
        }
        (cost, groups)
    }
}
