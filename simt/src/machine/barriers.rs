//! Barriers of a block: arrivals and releases.

use crate::code::{Op, Vote};
use crate::report::Class;

use super::block::{Block, Next};
use super::findings::{counted, names};
use std::sync::Arc;

use super::known::{Known, Peers};
use super::warp::{Fragment, State, Warp};

/// Number of barriers per block.
const BARRIERS: u32 = 16;

/// Maximum threads that arrive at a barrier before any thread waits there: 16 times the largest block.
const MOST_ARRIVALS: u32 = 1 << 14;

/// A warp that arrived at a barrier without waiting.
pub struct Arrival {
    pub barrier: u32,
    pub warp: usize,
    pub threads: u32,
    /// Time of arrival; threads released by the barrier know what the warp did before it.
    pub time: u32,
    /// Knowledge of other blocks at the arrival.
    peers: Arc<Peers>,
}

/// Number of threads of a warp that a barrier counts: 32 once all its live lanes have arrived, because a
/// barrier counts whole warps (PTX ISA, `barrier`).
fn arrived(warp: &Warp, here: u32) -> u32 {
    match here {
        0 => 0,
        here if here == warp.live => 32,
        here => here.count_ones(),
    }
}

impl Block<'_> {
    /// Executes `bar.sync`, `bar.arrive` or `bar.red` at `pc`.
    pub fn barrier(&mut self, w: usize, i: usize, pc: u32, active: u32) -> Next {
        let Op::Barrier {
            id,
            threads,
            wait,
            aligned,
            reduce,
        } = &self.grid.kernel.code[pc as usize].op
        else {
            return Next::Step;
        };
        let lane = active.trailing_zeros() as usize;
        let id = self.warps[w].words[*id as usize][lane];
        if id >= BARRIERS {
            self.find(Class::OutOfBounds, w, pc, lane, || {
                format!(
                    "barrier {id}: a block has the barriers 0 to {}",
                    BARRIERS - 1
                )
            });
        }
        let id = id % BARRIERS;
        if let Some(count) = threads.map(|r| self.warps[w].words[r as usize][lane])
            && count % 32 != 0
        {
            self.find(Class::BarrierDivergence, w, pc, lane, || {
                format!("barrier {id} of {count} threads: PTX asks for a multiple of 32")
            });
        }
        if !*wait {
            if *aligned && active != self.warps[w].live {
                self.parted(w, pc, active);
            }
            self.arrive_only(w, id, active);
            return Next::Step;
        }
        if self.warps[w].fragments[i].mask != active {
            // Lanes whose guard is false skip the barrier.
            self.warps[w].part(i, active, pc + 1);
        }
        if let Some((_, p, ..)) = reduce {
            self.check_pred(w, pc, active, *p, "the predicate");
        }
        self.warps[w].fragments[i].state = State::Barrier(id);
        self.release_barrier(id);
        Next::Moved
    }

    /// Reports that some lanes of a warp are missing at a barrier.
    fn parted(&mut self, w: usize, pc: u32, here: u32) {
        self.parted_from(w, pc, here, self.warps[w].live & !here);
    }

    /// The same without those others.
    pub fn parted_from(&mut self, w: usize, pc: u32, here: u32, others: u32) {
        self.find(Class::BarrierDivergence, w, pc, here.trailing_zeros() as usize, || {
            format!(
                "only part of warp {w} reaches the barrier, which all threads of the block must reach: \
                 {} without {}",
                names(here),
                names(others),
            )
        });
    }

    /// Checks the threads that wait at a barrier once it is complete or the block is stuck. Whole warps must
    /// wait, each at one instruction, and all warps if the barrier is the block's. Before that, lanes may
    /// still arrive.
    pub fn check_barrier(&mut self, id: u32, complete: bool) {
        let gone: Vec<u32> = self.warps.iter().map(|w| w.born & !w.live).collect();
        let first_gone = gone.iter().position(|&lanes| lanes != 0);
        for w in 0..self.warps.len() {
            for (pc, here) in self.warps[w].waiting_at(id) {
                let Op::Barrier {
                    threads,
                    aligned: true,
                    ..
                } = &self.grid.kernel.code[pc as usize].op
                else {
                    continue;
                };
                if here != self.warps[w].live {
                    self.parted(w, pc, here);
                }
                if let Some(first) = first_gone.filter(|_| complete && threads.is_none()) {
                    let missing = self.thread(first, gone[first].trailing_zeros() as usize);
                    let count: u32 = gone.iter().map(|lanes| lanes.count_ones()).sum();
                    self.find(Class::BarrierDivergence, w, pc, here.trailing_zeros() as usize, || {
                        format!(
                            "{} of the block returned without reaching the barrier, the first of them {missing}",
                            counted(count, "thread")
                        )
                    });
                }
            }
        }
    }

    /// When no warp can run, releases complete barriers and lanes that wait for others which cannot come.
    pub fn wake(&mut self) -> bool {
        if self.release_barriers() {
            return true;
        }
        let mut any = false;
        for warp in &mut self.warps {
            any |= warp.stop_waiting();
        }
        any
    }

    /// Releases complete barriers; returns whether there was one.
    pub fn release_barriers(&mut self) -> bool {
        (0..16).any(|id| self.release_barrier(id))
    }

    /// Releases a barrier if it is complete; returns whether it was.
    pub fn release_barrier(&mut self, id: u32) -> bool {
        let waiting = |warp: &Warp| -> u32 {
            let waits = |f: &&Fragment| f.state == State::Barrier(id);
            (warp.fragments.iter().filter(waits)).fold(0, |all, f| all | f.mask)
        };
        if self.warps.iter().all(|warp| waiting(warp) == 0) {
            return false;
        }
        let here: u32 = (self.warps.iter().map(|warp| arrived(warp, waiting(warp)))).sum();
        let came = self.arrivals.iter().filter(|a| a.barrier == id);
        let arrived: u32 = came.map(|a| a.threads).sum();
        if here + arrived < self.barrier_threads(id) {
            return false;
        }
        self.check_barrier(id, true);
        let came = self.arrivals.iter().filter(|a| a.barrier == id);
        let came: Vec<_> = came.map(|a| (a.warp, a.time, a.peers.clone())).collect();
        self.arrivals.retain(|a| a.barrier != id);
        self.reduce(id);
        let members: Vec<usize> = (0..self.warps.len())
            .filter(|&w| waiting(&self.warps[w]) != 0)
            .collect();
        let mut known: Vec<&mut Known> = (self.warps.iter_mut().enumerate())
            .filter(|(w, _)| members.contains(w))
            .map(|(_, warp)| &mut warp.known)
            .collect();
        Known::barrier(&mut known, &members, &came, &mut self.clock);
        if members.iter().any(|&w| self.warps[w].waited != 0) {
            members.iter().for_each(|&w| self.warps[w].waited = !0);
        }
        for warp in &mut self.warps {
            warp.leave_barrier(id);
        }
        true
    }

    /// Number of threads of a barrier, from those that wait there.
    fn barrier_threads(&self, id: u32) -> u32 {
        let all: u32 = self.warps.iter().map(|warp| arrived(warp, warp.live)).sum();
        let given = self.warps.iter().find_map(|warp| {
            let fragment = warp
                .fragments
                .iter()
                .find(|f| f.state == State::Barrier(id))?;
            match &self.grid.kernel.code[fragment.pc as usize].op {
                Op::Barrier {
                    threads: Some(r), ..
                } => {
                    let lane = fragment.mask.trailing_zeros() as usize;
                    Some(warp.words[*r as usize][lane])
                }
                _ => None,
            }
        });
        given.unwrap_or(all)
    }

    /// Arrives at a barrier without waiting.
    pub fn arrive_only(&mut self, w: usize, id: u32, active: u32) {
        let clock = &mut self.clock;
        self.warps[w].known.fence(w, active, clock, true);
        self.arrivals.push(Arrival {
            barrier: id,
            warp: w,
            threads: arrived(&self.warps[w], active),
            time: self.clock,
            peers: self.warps[w].known.peers.clone(),
        });
        if !self.release_barrier(id) {
            self.check_arrivals(w, id, active);
        }
    }

    /// Reports a barrier with more arrivals than a block could produce while no thread waits.
    fn check_arrivals(&mut self, w: usize, id: u32, active: u32) {
        let came = self.arrivals.iter().filter(|a| a.barrier == id);
        let came: u32 = came.map(|a| a.threads).sum();
        let Some(fragment) = self.warps[w]
            .fragments
            .iter()
            .find(|f| f.mask & active != 0)
        else {
            return;
        };
        let pc = fragment.pc;
        if came > MOST_ARRIVALS {
            self.find(
                Class::BarrierDivergence,
                w,
                pc,
                active.trailing_zeros() as usize,
                || format!("{came} threads have arrived at barrier {id}, and none waits there"),
            );
            self.stop();
        }
    }

    /// `bar.red`: reduces the predicates of all waiting threads and gives each the result.
    fn reduce(&mut self, id: u32) {
        let kernel = self.grid.kernel;
        let mut asked = vec![];
        for (w, warp) in self.warps.iter().enumerate() {
            for f in warp
                .fragments
                .iter()
                .filter(|f| f.state == State::Barrier(id))
            {
                if let Op::Barrier {
                    reduce: Some((vote, p, negated, d)),
                    ..
                } = &kernel.code[f.pc as usize].op
                {
                    let value = warp.preds[*p as usize] ^ if *negated { !0 } else { 0 };
                    asked.push((w, f.mask, *vote, value & f.mask, *d));
                }
            }
        }
        let yes: u32 = asked.iter().map(|a| a.3.count_ones()).sum();
        let all: u32 = asked.iter().map(|a| a.1.count_ones()).sum();
        for (w, mask, vote, _, d) in asked {
            let holds = if vote == Vote::All {
                yes == all
            } else {
                yes != 0
            };
            match d {
                Ok(pred) => self.warps[w].set_pred(pred, mask, if holds { !0 } else { 0 }),
                Err(word) => self.warps[w].set_word(word, mask, [yes; 32]),
            }
        }
    }
}
