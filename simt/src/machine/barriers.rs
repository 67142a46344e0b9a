//! Barriers of the block, and who is released when.

use crate::code::{Op, Vote};
use crate::report::Class;

use super::block::{Block, Next};
use super::findings::names;
use super::known::Known;
use super::warp::{Fragment, State, Warp};

/// Barriers of a block.
const BARRIERS: u32 = 16;

/// Threads that arrive at a barrier before anyone waits there, at most: 16 times the largest block.
const MOST_ARRIVALS: u32 = 1 << 14;

/// A warp that came to a barrier and went on.
pub struct Arrival {
    pub barrier: u32,
    pub warp: usize,
    pub threads: u32,
    /// What it did before this time, those who wait know afterwards.
    pub time: u32,
}

/// How many threads of a warp a barrier counts: all 32 of one whose lanes, as many as there are, have all come. A barrier knows
/// warps, and its count is a multiple of their size (PTX ISA, `barrier`).
fn arrived(warp: &Warp, here: u32) -> u32 {
    match here {
        0 => 0,
        here if here == warp.live => 32,
        here => here.count_ones(),
    }
}

impl Block<'_> {
    /// `bar.sync`, `bar.arrive`, `bar.red` at `pc`.
    pub fn barrier(&mut self, w: usize, i: usize, pc: u32, active: u32) -> Next {
        let Op::Barrier {
            id,
            wait,
            aligned,
            reduce,
            ..
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
        if !*wait {
            if *aligned && active != self.warps[w].live {
                self.parted(w, pc, active);
            }
            self.arrive_only(w, id, active);
            return Next::Step;
        }
        if self.warps[w].fragments[i].mask != active {
            // Lanes whose guard does not hold pass by.
            self.warps[w].part(i, active, pc + 1);
        }
        if let Some((_, p, ..)) = reduce {
            self.check_pred(w, pc, active, *p, "the predicate");
        }
        self.warps[w].fragments[i].state = State::Barrier(id);
        self.release_barrier(id);
        Next::Moved
    }

    /// Not all lanes of a warp come to a barrier.
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

    /// Who waits at a barrier, when it is complete or nobody can go on: whole warps, each at one instruction,
    /// and all warps if it is the block's. Until then lanes may come one after the other.
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
                            "{count} threads of the block returned without reaching the barrier, the first of them {missing}"
                        )
                    });
                }
            }
        }
    }

    /// When no warp can run: barriers that are complete, or lanes that wait for others that cannot come.
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

    /// Lets those go on whose barrier is complete: whether any was.
    pub fn release_barriers(&mut self) -> bool {
        (0..16).any(|id| self.release_barrier(id))
    }

    /// The same of one.
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
        let came: Vec<(usize, u32)> = came.map(|a| (a.warp, a.time)).collect();
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

    /// How many threads the barrier that somebody waits at is for.
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

    /// Comes to a barrier and does not wait.
    pub fn arrive_only(&mut self, w: usize, id: u32, active: u32) {
        let clock = &mut self.clock;
        self.warps[w].known.fence(w, active, clock, true);
        self.arrivals.push(Arrival {
            barrier: id,
            warp: w,
            threads: arrived(&self.warps[w], active),
            time: self.clock,
        });
        if !self.release_barrier(id) {
            self.check_arrivals(w, id, active);
        }
    }

    /// More threads come to a barrier and go on than a block has: nobody waits there for them.
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

    /// `bar.red`: what all threads that wait at a barrier ask, and the answer for each.
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
