//! A block: its warps, what they share, and whose turn it is.

use crate::ast::Space;
use crate::code::{Kernel, Op, Vote};
use crate::report::{Class, Counts, Finding, Thread};

use super::global::Global;
use super::race::{Acquired, Board, Known, Stamp};
use super::shared::Shared;
use super::warp::{Fragment, Shape, State, Warp};
use super::{Options, Schedule};

/// What all blocks of a launch have in common.
pub struct Grid<'a> {
    pub kernel: &'a Kernel,
    pub shape: Shape,
    pub params: Vec<u8>,
    pub global: Global,
    pub board: Board,
    pub options: Options,
    /// Addresses of the module's own variables, by number of the kernel's list.
    pub addresses: Vec<u64>,
}

/// A block that runs.
pub struct Block<'a> {
    pub grid: &'a Grid<'a>,
    pub id: [u32; 3],
    pub number: u32,
    pub warps: Vec<Warp>,
    pub shared: Shared,
    /// Ticks when lanes synchronise.
    pub clock: u32,
    pub acquired: Acquired,
    pub counts: Vec<Counts>,
    pub findings: Vec<(u32, Finding)>,
    pub printed: String,
    /// Instructions that are left.
    pub fuel: u64,
    /// Who came to a barrier by `bar.arrive` and does not wait.
    arrivals: Vec<Arrival>,
    random: u64,
    stopped: bool,
}

/// A warp that came to a barrier and went on.
struct Arrival {
    barrier: u32,
    warp: usize,
    threads: u32,
    /// What it did before this time, those who wait know afterwards.
    time: u32,
}

/// What comes after an instruction.
pub enum Next {
    /// The next one.
    Step,
    /// Whatever the fragments say: it has been moved, split or stopped.
    Moved,
}

/// Instructions that a warp runs before the next one has its turn.
const SLICE: u64 = 4096;

/// Turns after which lanes that wait to meet others wait no longer.
const PATIENCE: u64 = 64;

impl<'a> Block<'a> {
    /// Before its first instruction.
    pub fn new(grid: &'a Grid<'a>, id: [u32; 3], number: u32) -> Self {
        let kernel = grid.kernel;
        let threads = grid.shape.block.iter().product::<u32>();
        let warps = 0..threads.div_ceil(32) as usize;
        let mut warps: Vec<Warp> = warps
            .map(|i| Warp::new(kernel, &grid.shape, id, i))
            .collect();
        for warp in &mut warps {
            let variables = kernel.global_addresses.iter().zip(&grid.addresses);
            for ((r, _, _), &address) in variables {
                warp.set_double(*r, !0, [address; 32]);
            }
        }
        Self {
            grid,
            id,
            number,
            warps,
            shared: Shared::new(grid.shape.total_smem as usize),
            clock: 1,
            acquired: Acquired::new(),
            counts: vec![Counts::default(); kernel.code.len()],
            findings: vec![],
            printed: String::new(),
            fuel: grid.options.fuel,
            random: grid.options.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            arrivals: vec![],
            stopped: false,
        }
    }

    /// To the end, or to where it cannot go on.
    pub fn run(&mut self) {
        while !self.stopped && self.warps.iter().any(|w| w.live != 0) {
            let before = self.fuel;
            for w in self.order() {
                self.run_warp(w);
                if self.stopped {
                    return;
                }
            }
            if self.fuel == before && !self.wake() {
                self.deadlock();
                return;
            }
        }
    }

    /// The order in which warps have their turns.
    fn order(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.warps.len()).collect();
        match self.grid.options.schedule {
            Schedule::PostDominator | Schedule::MinPc => {}
            Schedule::MaxPc => order.reverse(),
            Schedule::Random => {
                for i in (1..order.len()).rev() {
                    order.swap(i, self.draw(i + 1));
                }
            }
        }
        order
    }

    /// A random number below `n`: xorshift, the same for the same seed and block.
    fn draw(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % n as u64) as usize
    }

    /// Which of a warp's fragments goes on, if any can.
    fn choose(&mut self, w: usize) -> Option<usize> {
        let fragments = &self.warps[w].fragments;
        if let [one] = &fragments[..] {
            return (one.state == State::Ready).then_some(0);
        }
        let ready = |i: &usize| fragments[*i].state == State::Ready;
        let ready: Vec<usize> = (0..fragments.len()).filter(ready).collect();
        match self.grid.options.schedule {
            Schedule::PostDominator => ready.last().copied(),
            Schedule::MinPc => ready.into_iter().min_by_key(|&i| fragments[i].pc),
            Schedule::MaxPc => ready.into_iter().max_by_key(|&i| fragments[i].pc),
            Schedule::Random if ready.is_empty() => None,
            Schedule::Random => {
                let i = self.draw(ready.len());
                Some(ready[i])
            }
        }
    }

    /// Runs a warp until it waits, returns or has had its turn.
    fn run_warp(&mut self, w: usize) {
        let until = self.fuel.saturating_sub(SLICE);
        while self.fuel > until {
            self.meet_at_sync(w);
            let Some(i) = self.choose(w) else { break };
            self.run_fragment(w, i, until);
            if self.stopped {
                return;
            }
        }
        if self.fuel == 0 {
            self.endless(w);
        } else if self.fuel <= until {
            self.take_turns(w);
        }
    }

    /// After a whole turn another fragment goes first; after many, those who wait to meet go on: lanes may be
    /// spinning until these, which wait for them, have done something.
    fn take_turns(&mut self, w: usize) {
        let warp = &mut self.warps[w];
        warp.fragments.rotate_right(1);
        warp.turns += 1;
        if warp.turns.is_multiple_of(PATIENCE) {
            warp.stop_waiting();
        }
    }

    /// Runs fragment `i` until it splits, waits or returns.
    fn run_fragment(&mut self, w: usize, i: usize, until: u64) {
        let kernel = self.grid.kernel;
        let random = self.grid.options.schedule != Schedule::PostDominator;
        let mut steps = 0;
        loop {
            let Fragment { pc, mask, .. } = self.warps[w].fragments[i];
            let Some(step) = kernel.code.get(pc as usize) else {
                self.exit(w, i, mask);
                return;
            };
            if self.fuel <= until {
                return;
            }
            self.fuel -= 1;
            steps += 1;
            self.warps[w].steps += 1;
            let active = match step.guard {
                None => mask,
                Some((p, negated)) => {
                    let warp = &self.warps[w];
                    let value = warp.preds[p as usize];
                    let missing = mask & !warp.preds_written[p as usize];
                    if missing != 0 {
                        self.unwritten_register(w, pc, missing, "the guard");
                    }
                    mask & if negated { !value } else { value }
                }
            };
            let counts = &mut self.counts[pc as usize];
            counts.warps += 1;
            counts.threads += u64::from(active.count_ones());
            match self.step(w, i, pc, mask, active) {
                Next::Step => {}
                Next::Moved => return,
            }
            let warp = &mut self.warps[w];
            let fragment = &mut warp.fragments[i];
            fragment.pc += 1;
            if fragment.meet.is_some() {
                let before = warp.fragments.len();
                warp.arrive(i);
                if warp.fragments.len() != before
                    || warp.fragments.get(i).is_none_or(|f| f.pc != pc + 1)
                {
                    return;
                }
            }
            // Other schedules look for another fragment now and then.
            if random && steps == 8 && self.warps[w].fragments.len() > 1 {
                return;
            }
        }
    }

    /// Lanes of fragment `i` return.
    pub fn exit(&mut self, w: usize, i: usize, lanes: u32) {
        let warp = &mut self.warps[w];
        let fragment = &mut warp.fragments[i];
        fragment.mask &= !lanes;
        if fragment.mask == 0 {
            warp.fragments.swap_remove(i);
        }
        warp.retire(lanes);
        if warp.live == 0 {
            self.release_barriers();
        }
    }

    /// When no warp can run: barriers that are complete, or lanes that wait for others that cannot come.
    fn wake(&mut self) -> bool {
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
        let waits = |f: &Fragment| f.state == State::Barrier(id);
        let waiting = |warp: &Warp| -> u32 {
            let masks = warp.fragments.iter().filter(|f| waits(f)).map(|f| f.mask);
            masks.fold(0, |all, mask| all | mask)
        };
        let here: u32 = self.warps.iter().map(|w| waiting(w).count_ones()).sum();
        if here == 0 {
            return false;
        }
        let came = self.arrivals.iter().filter(|a| a.barrier == id);
        let arrived: u32 = came.clone().map(|a| a.threads).sum();
        if here + arrived < self.barrier_threads(id) {
            return false;
        }
        let came: Vec<(usize, u32)> = came.map(|a| (a.warp, a.time)).collect();
        self.arrivals.retain(|a| a.barrier != id);
        self.reduce(id);
        let members: Vec<usize> = (0..self.warps.len())
            .filter(|&w| waiting(&self.warps[w]) != 0)
            .collect();
        // Who has returned did all it did before.
        let gone = self
            .warps
            .iter()
            .filter(|w| w.live == 0)
            .map(|w| (w.index, self.clock + 1));
        let came: Vec<(usize, u32)> = came.into_iter().chain(gone).collect();
        let mut known: Vec<&mut Known> = (self.warps.iter_mut().enumerate())
            .filter(|(w, _)| members.contains(w))
            .map(|(_, warp)| &mut warp.known)
            .collect();
        Known::barrier(&mut known, &members, &came, &mut self.clock);
        for warp in &mut self.warps {
            for i in (0..warp.fragments.len()).rev() {
                if waits(&warp.fragments[i]) {
                    warp.fragments[i].state = State::Ready;
                    warp.fragments[i].pc += 1;
                    warp.arrive(i);
                }
            }
        }
        true
    }

    /// How many threads the barrier that somebody waits at is for.
    fn barrier_threads(&self, id: u32) -> u32 {
        let all: u32 = self.warps.iter().map(|w| w.live.count_ones()).sum();
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
        self.warps[w].known.fence(w, active, clock);
        self.arrivals.push(Arrival {
            barrier: id,
            warp: w,
            threads: active.count_ones(),
            time: self.clock,
        });
        self.release_barrier(id);
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

    /// Who lane `lane` is, for a report.
    pub fn thread(&self, w: usize, lane: usize) -> Thread {
        let [x, y, _] = self.grid.shape.block;
        let number = 32 * w as u32 + lane as u32;
        Thread {
            block: self.id,
            thread: [number % x, number / x % y, number / (x * y)],
        }
    }

    /// Who lane `lane` is, for a race.
    pub fn stamp(&self, w: usize, lane: usize) -> Stamp {
        Stamp {
            block: self.number,
            warp: w as u32,
            lane: lane as u32,
            time: self.warps[w].known.now[lane],
        }
    }

    /// Something is wrong at `pc`: kept once for each class and instruction.
    pub fn find(
        &mut self,
        class: Class,
        w: usize,
        pc: u32,
        lane: usize,
        what: impl FnOnce() -> String,
    ) {
        let known = self
            .findings
            .iter_mut()
            .find(|(at, f)| *at == pc && f.class == class);
        if let Some((_, finding)) = known {
            finding.count += 1;
            return;
        }
        let step = &self.grid.kernel.code[pc as usize];
        let finding = Finding {
            class,
            line: step.place.line,
            source: step.place.source.clone(),
            form: step.form.clone(),
            thread: self.thread(w, lane),
            what: what(),
            count: 1,
        };
        self.findings.push((pc, finding));
    }

    /// A register is read that nobody wrote.
    pub fn unwritten_register(&mut self, w: usize, pc: u32, lanes: u32, what: &str) {
        let lane = lanes.trailing_zeros() as usize;
        self.find(Class::Uninitialised, w, pc, lane, || {
            format!("{what} is a register that was never written")
        });
    }

    fn endless(&mut self, w: usize) {
        let fuel = self.grid.options.fuel;
        let fragment = self.warps[w].fragments.first().cloned();
        if let Some(Fragment { pc, mask, .. }) = fragment {
            let pc = pc.min(self.grid.kernel.code.len() as u32 - 1);
            let lane = mask.trailing_zeros() as usize;
            self.find(Class::Endless, w, pc, lane, || {
                format!("still running after {fuel} instructions of its block")
            });
        }
        self.stopped = true;
    }

    fn deadlock(&mut self) {
        let waiting = self.warps.iter().enumerate();
        let all: Vec<(usize, Fragment)> = waiting
            .flat_map(|(w, warp)| warp.fragments.iter().map(move |f| (w, f.clone())))
            .collect();
        let total: u32 = all.iter().map(|(_, f)| f.mask.count_ones()).sum();
        for (w, fragment) in all {
            let lane = fragment.mask.trailing_zeros() as usize;
            let what = match fragment.state {
                State::Ready => continue,
                State::Lanes(wanted) => format!(
                    "waits for the lanes {:#010x}, which do not come",
                    wanted & !fragment.mask
                ),
                State::Barrier(id) => {
                    format!("waits at barrier {id}, which some of {total} threads never reach")
                }
            };
            self.find(Class::Deadlock, w, fragment.pc, lane, || what);
        }
        self.stopped = true;
    }

    /// Ends the block: what comes after would be wrong anyway.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Which of a space's window an address lies in, and its offset there.
    pub fn space_of(address: u64) -> (Space, u64) {
        use crate::code::{CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW};
        let window = address & !(WINDOW - 1);
        let offset = address & (WINDOW - 1);
        match window {
            SHARED_WINDOW => (Space::Shared, offset),
            LOCAL_WINDOW => (Space::Local, offset),
            CONST_WINDOW => (Space::Const, offset),
            PARAM_WINDOW => (Space::Param, offset),
            _ => (Space::Global, address),
        }
    }
}
