//! The barrier of a cluster: `barrier.cluster.arrive` and `barrier.cluster.wait`.

use crate::code::Op;
use crate::report::Class;

use super::block::{Block, Next};
use super::coalesce::lanes;
use super::known::Peers;
use super::warp::{Fragment, State};

/// The barrier of a cluster.
#[derive(Default)]
pub struct Barrier {
    /// Phases that are complete.
    phase: u32,
    /// Threads that have not returned.
    live: u32,
    /// Those of them that have arrived in this phase.
    arrived: u32,
    /// Whether one that arrived came after `griddepcontrol.wait`.
    waited: bool,
    /// Accesses that happened before the arrivals of this phase.
    gathering: Peers,
    /// Accesses that happened before the arrivals of the phases that are complete.
    known: Peers,
}

impl Barrier {
    /// For this many threads.
    pub fn of(threads: u32) -> Self {
        Self {
            live: threads,
            ..Self::default()
        }
    }

    /// The phase is complete if all threads have arrived.
    fn complete(&mut self) {
        if self.arrived == 0 || self.arrived < self.live {
            return;
        }
        self.phase += 1;
        self.arrived = 0;
        for (block, knowledge) in self.gathering.drain() {
            self.known.entry(block).or_default().join(&knowledge);
        }
    }
}

impl Block<'_> {
    /// `barrier.cluster.arrive`.
    pub fn arrive_cluster(
        &mut self,
        (w, i, pc): (usize, usize, u32),
        (mask, active): (u32, u32),
        aligned: bool,
        release: bool,
    ) -> Next {
        if aligned && active != self.warps[w].live {
            return self.wait_for_warp(w, i, pc, mask, active);
        }
        self.arrive_lanes(w, pc, active, release);
        Next::Step
    }

    /// Lanes of a warp wait for its others, which have to execute an `.aligned` instruction with them.
    fn wait_for_warp(&mut self, w: usize, i: usize, pc: u32, mask: u32, active: u32) -> Next {
        let warp = &mut self.warps[w];
        if mask != active {
            warp.part(i, active, pc + 1);
        }
        warp.awaited |= warp.live;
        warp.fragments[i].state = State::Lanes(warp.born);
        Next::Moved
    }

    /// Lanes of a warp that came one after the other to an `.aligned` instruction: all, and to one instruction.
    pub fn check_aligned(&mut self, w: usize, parts: &[(u32, u32)]) {
        let awaited = std::mem::take(&mut self.warps[w].awaited);
        for &(pc, _) in parts {
            let same = parts.iter().filter(|(other, _)| *other == pc);
            let here = same.fold(0, |all, (_, mask)| all | mask);
            if awaited & !here != 0 {
                self.parted_from(w, pc, here, awaited & !here);
            }
        }
    }

    /// Lanes come to the barrier of the cluster.
    pub fn arrive_lanes(&mut self, w: usize, pc: u32, active: u32, release: bool) {
        if release {
            let clock = &mut self.clock;
            self.warps[w].known.fence(w, active, clock, true);
        }
        let known = &self.warps[w].known;
        if lanes(active).any(|lane| known.fenced[lane].is_some()) {
            for (block, knowledge) in &*known.peers {
                let gathering = &mut self.cluster.barrier.gathering;
                gathering.entry(*block).or_default().join(knowledge);
            }
        }
        for lane in lanes(active) {
            let arrived = &mut self.warps[w].arrived[lane];
            let before = arrived.replace(self.cluster.barrier.phase);
            if before.is_some() {
                self.find(Class::BarrierDivergence, w, pc, lane, || {
                    "arrives at the barrier of the cluster a second time without a wait between"
                        .into()
                });
            }
            let barrier = &mut self.cluster.barrier;
            barrier.waited |= self.warps[w].waited >> lane & 1 != 0;
            if before != Some(barrier.phase) {
                barrier.arrived += 1;
            }
            let fenced = &self.warps[w].known.fenced[lane];
            if let Some(knowledge) = fenced.as_ref().filter(|k| k.device) {
                let gathered = barrier.gathering.entry(self.number).or_default();
                gathered.join(knowledge);
            }
        }
        self.cluster.barrier.complete();
    }

    /// `barrier.cluster.wait`.
    pub fn wait_cluster(
        &mut self,
        (w, i, pc): (usize, usize, u32),
        (mask, active): (u32, u32),
        aligned: bool,
    ) -> Next {
        if aligned && active != self.warps[w].live {
            return self.wait_for_warp(w, i, pc, mask, active);
        }
        if self.has_passed(w, active) {
            self.pass_cluster(w, pc, active);
            return Next::Step;
        }
        let warp = &mut self.warps[w];
        if mask != active {
            warp.part(i, active, pc + 1);
        }
        warp.fragments[i].state = State::Cluster;
        Next::Moved
    }

    /// Whether the phase of these lanes' arrival is complete.
    fn has_passed(&self, w: usize, active: u32) -> bool {
        let phase = self.cluster.barrier.phase;
        lanes(active).all(|lane| self.warps[w].arrived[lane] != Some(phase))
    }

    /// Lanes go on after the barrier of the cluster, and know what came before it.
    fn pass_cluster(&mut self, w: usize, pc: u32, active: u32) {
        for lane in lanes(active) {
            if self.warps[w].arrived[lane].take().is_none() {
                self.find(Class::BarrierDivergence, w, pc, lane, || {
                    "waits at the barrier of the cluster without having arrived there".into()
                });
            }
        }
        if self.cluster.barrier.waited {
            self.warps[w].waited |= active;
        }
        let known = &mut self.warps[w].known;
        known.meet((self.number, w), active, &self.cluster.barrier.known);
        known.tick(active, &mut self.clock);
    }

    /// Lets those go on that wait at the barrier of the cluster and whose phase is complete: whether there were any.
    pub fn release_cluster(&mut self) -> bool {
        let mut any = false;
        for w in 0..self.warps.len() {
            for i in 0..self.warps[w].fragments.len() {
                let Fragment {
                    pc, mask, state, ..
                } = self.warps[w].fragments[i];
                if state != State::Cluster || !self.has_passed(w, mask) {
                    continue;
                }
                any = true;
                self.pass_cluster(w, pc, mask);
                let fragment = &mut self.warps[w].fragments[i];
                fragment.state = State::Ready;
                fragment.pc += 1;
            }
            if any {
                self.warps[w].merge();
                self.warps[w].arrive_all();
            }
        }
        any
    }

    /// Lanes return: the barrier of the cluster no longer waits for them.
    pub fn retire_from_cluster(&mut self, w: usize, mask: u32) {
        let barrier = &mut self.cluster.barrier;
        for lane in lanes(mask) {
            let arrived = self.warps[w].arrived[lane].take();
            barrier.live = barrier.live.saturating_sub(1);
            if arrived == Some(barrier.phase) {
                barrier.arrived -= 1;
            }
        }
        barrier.complete();
    }

    /// Whether an instruction is of the barrier of the cluster.
    pub fn is_of_cluster(&self, pc: u32) -> bool {
        let op = &self.grid.kernel.code[pc as usize].op;
        matches!(op, Op::ClusterArrive { .. } | Op::ClusterWait { .. })
    }

    /// Those who have not arrived at the barrier of the cluster, in words.
    pub fn missing_at_cluster(&self) -> String {
        let Barrier { live, arrived, .. } = self.cluster.barrier;
        format!(
            "waits at the barrier of the cluster, which {} of {live} threads never reach",
            live - arrived
        )
    }
}
