//! Barriers in shared memory: arrivals, bytes of copies, and phases.

use crate::ast::Space;
use crate::code::{Address, Mbarrier, Scope, Slot};
use crate::report::Class;

use super::access::{Kind, Lanes};
use super::block::Block;
use super::cluster::{offset_of, rank_of};
use super::coalesce::{Group, lanes};
use super::known::Peers;
use super::race::{Spread, Stamp, in_order};
use super::shadow::Conflict;
use super::shared_access::access;

/// Bytes of an mbarrier.
const BYTES: u32 = 8;
/// Arrivals of a phase, at most (PTX ISA, `mbarrier.init`).
const MOST_ARRIVALS: u32 = (1 << 20) - 1;

/// An mbarrier.
pub struct Barrier {
    /// Its number, in the order of initialisation in the block.
    pub number: usize,
    /// Who initialised it, by which instruction.
    initialised: (Stamp, u32),
    /// Arrivals of a phase.
    count: u32,
    /// Arrivals that this phase lacks.
    pending: u32,
    /// Bytes that this phase waits for.
    bytes: i64,
    /// Phases that are complete.
    phase: u64,
    /// Knowledge of the threads that arrived in this phase.
    gathering: Peers,
    /// Knowledge of the threads that arrived in completed phases.
    known: Peers,
}

impl Barrier {
    /// The phase is complete if nothing is lacking.
    fn complete(&mut self) {
        if self.pending != 0 || self.bytes != 0 {
            return;
        }
        self.phase += 1;
        self.pending = self.count;
        for (block, knowledge) in self.gathering.drain() {
            self.known.entry(block).or_default().join(&knowledge);
        }
    }

    /// Counts the bytes of a finished copy: a thread that sees the phase complete gets the knowledge `done`.
    pub fn bytes_are_there(&mut self, bytes: u32, done: Peers) {
        for (block, knowledge) in done {
            self.gathering.entry(block).or_default().join(&knowledge);
        }
        self.bytes -= i64::from(bytes);
        self.complete();
    }
}

impl Block<'_> {
    /// `mbarrier`.
    pub fn mbarrier(&mut self, w: usize, pc: u32, active: u32, at: &Address, act: Mbarrier) {
        let read: Vec<Slot> = match act {
            Mbarrier::Init { count } => vec![Slot::Word(count)],
            Mbarrier::Arrive { count, bytes, .. } => {
                count.or(bytes).map(Slot::Word).into_iter().collect()
            }
            Mbarrier::Expect { bytes } | Mbarrier::Complete { bytes } => vec![Slot::Word(bytes)],
            Mbarrier::Wait { phase, .. } => vec![phase],
            Mbarrier::Invalidate => vec![],
        };
        self.check_read(w, pc, active, &read);
        let (at, spaces) = self.resolve(w, pc, active, at);
        if let Mbarrier::Arrive {
            release: Some(scope),
            ..
        } = act
        {
            let (known, clock) = (&mut self.warps[w].known, &mut self.clock);
            known.fence(w, active, clock, scope != Scope::Block);
        }
        let (mut phases, mut complete) = ([0; 32], 0);
        for (space, mask) in spaces.iter() {
            for lane in lanes(mask) {
                let Some((rank, at)) = self.barrier_at(w, pc, lane, space, at[lane]) else {
                    continue;
                };
                let phase = self.at_home_of(rank, |block| block.act(w, pc, lane, at, act));
                phases[lane] = phase.unwrap_or(0);
                complete |= u32::from(phase.is_some()) << lane;
            }
        }
        match act {
            Mbarrier::Arrive { d: Some(d), .. } => self.warps[w].set(d, active, phases),
            Mbarrier::Wait { d, .. } => {
                self.warps[w].set_pred(d, active, complete);
                self.pauses |= complete != active;
                self.warps[w].spins |= self.pauses;
            }
            _ => {}
        }
    }

    /// The rank of the block in whose shared memory an mbarrier may lie, and its first byte; what is wrong with the
    /// address is a finding.
    pub fn barrier_at(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        space: Space,
        at: u64,
    ) -> Option<(usize, u64)> {
        if !matches!(space, Space::Shared | Space::Cluster) {
            self.find(Class::OutOfBounds, w, pc, lane, || {
                "an mbarrier that is not in shared memory".into()
            });
            return None;
        }
        let fine = self.is_fine(w, pc, lane, space, at, BYTES, Kind::Update);
        let rank = match space {
            Space::Cluster => rank_of(at).unwrap_or(self.rank),
            _ => self.rank,
        };
        fine.then(|| (rank, offset_of(at)))
    }

    /// Executes a lane's operation on the mbarrier at `at`; returns the phase of an arrival, and of a wait whose phase is
    /// complete.
    fn act(&mut self, w: usize, pc: u32, lane: usize, at: u64, act: Mbarrier) -> Option<u64> {
        let (addresses, group) = ([at; 32], Group::one(lane));
        let strong = !matches!(act, Mbarrier::Init { .. } | Mbarrier::Invalidate);
        let on = Lanes::one(w, pc, Space::Shared, &addresses, &group, strong);
        if self.home != self.rank {
            self.visit(&on);
        }
        if let Mbarrier::Init { count } = act {
            let count = self.warps[w].words[count as usize][lane];
            self.initialise(on, lane, count);
            return None;
        }
        if !self.shared.mbarriers.contains_key(&at) {
            let at = self.shared_byte(at);
            self.find(Class::Uninitialised, w, pc, lane, || {
                format!("the mbarrier at {at} was not initialised")
            });
            return None;
        }
        let value = |r: u32| self.warps[w].words[r as usize][lane];
        match act {
            Mbarrier::Arrive {
                count,
                bytes,
                completes,
                drops,
                ..
            } => {
                let (count, bytes) = (count.map_or(1, value), bytes.map_or(0, value));
                self.touch(on, true);
                self.arrive(on, (count, bytes), drops, completes)
            }
            Mbarrier::Expect { bytes } | Mbarrier::Complete { bytes } => {
                let sign = if matches!(act, Mbarrier::Expect { .. }) {
                    1
                } else {
                    -1
                };
                let bytes = sign * i64::from(value(bytes));
                self.touch(on, true);
                let barrier = self.shared.mbarriers.get_mut(&at)?;
                barrier.bytes += bytes;
                if sign < 0 {
                    barrier.complete();
                }
                None
            }
            Mbarrier::Wait {
                phase, acquires, ..
            } => {
                let wanted = self.warps[w].wide(phase)[lane];
                self.touch(on, false);
                let is_parity = matches!(phase, Slot::Word(_));
                self.has_completed(at, wanted, is_parity)
                    .inspect(|_| self.acquire_phase(on, lane, acquires))
            }
            Mbarrier::Invalidate => {
                self.shared.mbarriers.remove(&at);
                self.write_shared(on, BYTES, &[0; 32]);
                None
            }
            Mbarrier::Init { .. } => None,
        }
    }

    fn initialise(&mut self, on: Lanes, lane: usize, count: u32) {
        if count == 0 || count > MOST_ARRIVALS {
            self.find(Class::OutOfBounds, on.w, on.pc, lane, || {
                format!("an mbarrier of {count} arrivals: it has 1 to {MOST_ARRIVALS}")
            });
        }
        let number = self.shared.mbarriers.len();
        let barrier = Barrier {
            number,
            initialised: (self.stamp(&on, lane), on.pc),
            count,
            pending: count,
            bytes: 0,
            phase: 0,
            gathering: Peers::new(),
            known: Peers::new(),
        };
        self.shared.mbarriers.insert(on.at[lane], barrier);
        self.write_shared(on, BYTES, &[0; 32]);
    }

    /// For the shadow a lane reads an mbarrier, and writes it perhaps: what has to come after its initialisation.
    fn touch(&mut self, on: Lanes, writes: bool) {
        if !self.grid.options.races {
            return;
        }
        let lane = on.mask.trailing_zeros() as usize;
        if let Some(barrier) = self.shared.mbarriers.get(&on.at[lane]) {
            let (other, pc) = barrier.initialised;
            let (mine, known) = (self.stamp(&on, lane), &self.warps[on.w].known);
            if !in_order(mine, other, known) {
                let conflict = Conflict {
                    other,
                    pc,
                    wrote: true,
                    spread: Spread::One,
                    is_exact: true,
                };
                self.report_shared(&on, true, vec![(lane, on.at[lane], conflict)]);
                return;
            }
        }
        self.races_of_reads(on, (BYTES, 1));
        if !writes {
            return;
        }
        let blocks = (self.number, self.number_of(self.home));
        let access = access(blocks, &on, &self.warps[on.w].known);
        let (shared, at) = (&mut self.shared, on.at);
        let conflicts = shared.write(Some(&access), at, on.groups, BYTES, &[0; 32]);
        self.report_shared(&on, true, conflicts);
    }

    /// Who accesses, and when.
    fn stamp(&self, on: &Lanes, lane: usize) -> Stamp {
        Stamp {
            block: self.number,
            warp: on.w as u32,
            lane: lane as u32,
            time: self.warps[on.w].known.now[lane],
        }
    }

    fn arrive(
        &mut self,
        on: Lanes,
        (count, bytes): (u32, u32),
        drops: bool,
        completes: bool,
    ) -> Option<u64> {
        let lane = on.mask.trailing_zeros() as usize;
        let known = &self.warps[on.w].known;
        let barrier = self.shared.mbarriers.get_mut(&on.at[lane])?;
        if let Some(knowledge) = &known.fenced[lane] {
            let gathered = barrier.gathering.entry(self.number).or_default();
            gathered.join(knowledge);
            for (block, knowledge) in &*known.peers {
                barrier.gathering.entry(*block).or_default().join(knowledge);
            }
        }
        let (phase, pending) = (barrier.phase, barrier.pending);
        barrier.bytes += i64::from(bytes);
        barrier.pending = pending.saturating_sub(count);
        if drops {
            barrier.count = barrier.count.saturating_sub(count);
        }
        if completes {
            barrier.complete();
        }
        if count > pending {
            self.find(Class::BarrierDivergence, on.w, on.pc, lane, || {
                format!("{count} arrivals at an mbarrier that lacks {pending} in this phase")
            });
        }
        Some(phase)
    }

    /// The number of completed phases, if that which is waited for is among them. Who asks in vain lets copies go on
    /// that were in flight the last time.
    fn has_completed(&mut self, at: u64, wanted: u64, is_parity: bool) -> Option<u64> {
        let complete = |barrier: &Barrier| {
            if is_parity {
                barrier.phase & 1 != wanted & 1
            } else {
                wanted < barrier.phase
            }
        };
        if !complete(self.shared.mbarriers.get(&at)?) {
            self.finish_loads(at);
        }
        let barrier = self.shared.mbarriers.get(&at)?;
        complete(barrier).then_some(barrier.phase)
    }

    /// A lane has seen a phase complete.
    fn acquire_phase(&mut self, on: Lanes, lane: usize, acquires: bool) {
        let Some(barrier) = self.shared.mbarriers.get(&on.at[lane]) else {
            return;
        };
        let known = &mut self.warps[on.w].known;
        if acquires {
            known.meet((self.number, on.w), 1 << lane, &barrier.known);
        }
        known.tick(1 << lane, &mut self.clock);
    }
}
