//! A block: its warps, their shared state, and their scheduling.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::ast::Space;
use crate::code::Kernel;
use crate::report::{Counts, Step};

use super::barriers::Arrival;
use super::cluster::Cluster;
use super::costs::Pattern;
use super::findings::Findings;
use super::global::Global;
use super::known::Board;
use super::overlap::{Overlap, Recorder};
use super::shared::Shared;
use super::warp::{Fragment, Shape, Warp};
use super::{Options, Schedule};

/// State that all blocks of a launch share.
pub struct Grid<'a> {
    pub kernel: &'a Kernel,
    pub shape: Shape,
    pub params: Vec<u8>,
    pub global: Global,
    pub board: Board,
    pub options: Options,
    /// Addresses of the module's variables, in the order of the kernel's list.
    pub addresses: Vec<u64>,
    /// Instructions executed by all blocks so far.
    pub spent: AtomicU64,
    /// Those of the blocks that have a finding.
    pub spent_faulty: AtomicU64,
    /// Whether a block ran out of fuel, which stops the others.
    pub halted: AtomicBool,
    /// Recorder of accesses, if other launches may be in flight at the same time.
    pub recorder: Option<Recorder>,
}

/// A running block.
pub struct Block<'a> {
    pub grid: &'a Grid<'a>,
    pub id: [u32; 3],
    pub number: u32,
    /// In its cluster.
    pub rank: usize,
    pub cluster: Cluster,
    /// Rank of the block whose shared memory `shared` is at this moment.
    pub home: usize,
    pub warps: Vec<Warp>,
    pub shared: Shared,
    /// Logical time; ticks whenever lanes synchronise.
    pub clock: u32,
    pub counts: Vec<Counts>,
    /// Last address pattern of each instruction.
    pub patterns: Vec<Option<Box<Pattern>>>,
    pub findings: Findings,
    pub printed: String,
    /// Instructions left before the block counts as endless.
    pub fuel: u64,
    /// Warps that arrived by `bar.arrive` and do not wait.
    pub arrivals: Vec<Arrival>,
    /// Whether the last instruction asked in vain whether a phase is complete: the others go on first.
    pub pauses: bool,
    /// How it stands to the launches that are in flight.
    pub overlap: Overlap,
    /// Steps of the watched warp.
    pub trace: Vec<Step>,
    /// Whether the current instruction's addresses are recorded.
    pub recording: bool,
    /// Random state of the schedule.
    pub random: u64,
    stopped: bool,
}

/// The continuation after an instruction.
pub enum Next {
    /// Go on with the next instruction.
    Step,
    /// The fragment was moved, split or stopped; continue from the warp's fragments.
    Moved,
}

/// Instructions that a warp runs before the next warp's turn.
const SLICE: u64 = 4096;
/// Fuel that a failed poll costs, so that a block that only polls comes to an end.
const PAUSE: u64 = 256;

impl<'a> Block<'a> {
    /// Before its first instruction.
    pub fn new(grid: &'a Grid<'a>, id: [u32; 3]) -> Self {
        let kernel = grid.kernel;
        let [x, y, _] = grid.shape.grid;
        let number = id[0] + x * (id[1] + y * id[2]);
        let rank = grid.shape.rank(id) as usize;
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
            rank,
            cluster: Cluster::default(),
            home: rank,
            warps,
            shared: Shared::new(grid.shape.total_smem as usize),
            clock: 1,
            counts: vec![Counts::default(); kernel.code.len()],
            patterns: vec![None; kernel.code.len()],
            findings: Findings::new(),
            printed: String::new(),
            fuel: grid.options.fuel,
            random: grid.options.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            arrivals: vec![],
            pauses: false,
            overlap: Overlap::default(),
            trace: vec![],
            recording: false,
            stopped: false,
        }
    }

    /// Runs each warp until it waits, returns or has had its turn: whether any could go on.
    pub fn turn(&mut self) -> bool {
        let before = self.fuel;
        let released = self.release_cluster();
        for w in self.order() {
            self.run_warp(w);
            if self.stopped {
                break;
            }
        }
        released || self.fuel != before
    }

    /// Whether it has threads that have not returned.
    pub fn is_live(&self) -> bool {
        self.warps.iter().any(|w| w.live != 0)
    }

    /// Whether it was ended before its end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Runs a warp until it waits, returns or its turn ends.
    fn run_warp(&mut self, w: usize) {
        let before = self.fuel;
        let until = before.saturating_sub(SLICE);
        while self.fuel > until {
            self.meet_at_sync(w);
            let Some(i) = self.choose(w) else { break };
            self.run_fragment(w, i, until);
            if self.stopped {
                return;
            }
            if std::mem::take(&mut self.pauses) {
                self.fuel = self.fuel.saturating_sub(PAUSE);
                self.take_turns(w);
                break;
            }
        }
        let spent = before - self.fuel;
        let all = spent + self.grid.spent.fetch_add(spent, Relaxed);
        if self.fuel == 0 {
            self.endless(w, "its block", self.grid.options.fuel);
        } else if all > self.grid.options.launch_fuel {
            self.endless(w, "the launch", self.grid.options.launch_fuel);
        } else if self.grid.halted.load(Relaxed) {
            self.stop();
        } else if !self.findings.is_empty() && self.is_faulty_for_long(spent) {
            self.grid.halted.store(true, Relaxed);
            self.stop();
        } else if self
            .grid
            .options
            .until
            .is_some_and(|end| Instant::now() >= end)
        {
            self.endless(w, "the launch, at its time limit", all);
        } else if self.fuel <= until {
            self.take_turns(w);
        }
    }

    /// Whether blocks with a finding have run as long as they may, with `spent` more instructions of this one.
    fn is_faulty_for_long(&self, spent: u64) -> bool {
        let before = self.grid.spent_faulty.fetch_add(spent, Relaxed);
        before.saturating_add(spent) > self.grid.options.faulty_fuel
    }

    /// Runs fragment `i` until it splits, waits, returns or its turn ends.
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
                    self.check_pred(w, pc, mask, p, "the guard");
                    let value = self.warps[w].preds[p as usize];
                    mask & if negated { !value } else { value }
                }
            };
            let counts = &mut self.counts[pc as usize];
            counts.warps += 1;
            counts.threads += u64::from(active.count_ones());
            if self.grid.options.trace.is_some() {
                self.record(w, pc, active);
            }
            match self.step(w, i, pc, mask, active) {
                Next::Step => {}
                Next::Moved => return,
            }
            let pauses = self.pauses;
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
            if pauses {
                return;
            }
            // Other schedules look for another fragment now and then.
            if random && steps == 8 && self.warps[w].fragments.len() > 1 {
                return;
            }
        }
    }

    /// The lanes return.
    pub fn exit(&mut self, w: usize, i: usize, lanes: u32) {
        self.finish_stores(w, lanes);
        let warp = &mut self.warps[w];
        let fragment = &mut warp.fragments[i];
        fragment.mask &= !lanes;
        if fragment.mask == 0 {
            warp.fragments.swap_remove(i);
        }
        warp.retire(lanes);
        self.retire_from_cluster(w, lanes);
        if self.warps[w].live == 0 {
            self.release_barriers();
        }
        if !self.is_live() {
            self.leave_cluster();
        }
    }

    /// Stops the block, because later results would be wrong.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Splits a generic address into its space and its offset there.
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
