//! Launches that are in flight at the same time: programmatic dependent launch.
//!
//! Launches run one after the other, as if each waited for the one before. What each of them accesses before and after
//! its `griddepcontrol.wait` is recorded, and a pair of accesses that the GPU may execute in either order is a finding.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use crate::alu::D;
use crate::code::Kernel;
use crate::report::{Class, Finding, Thread};

use super::access::Lanes;
use super::block::Block;
use super::coalesce::lanes;
use super::global::Buffer;
use super::pages::Earlier;

/// How a block stands to the launches that are in flight.
#[derive(Default)]
pub struct Overlap {
    /// Whether a thread has executed `griddepcontrol.wait`.
    waits: bool,
    /// Whether a thread has executed `griddepcontrol.launch_dependents`, and whether before any waited.
    triggers: Option<bool>,
}

/// An access to bytes of a buffer, from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Access {
    buffer: usize,
    start: u64,
    end: u64,
    pc: u32,
    wrote: bool,
    /// Whether it came before `griddepcontrol.wait`, or without any.
    before: bool,
}

/// Accesses and waits of a launch that matter to the launches in flight at the same time.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Each with the first thread that made it, by numbers of the block and of the thread.
    accesses: HashMap<Access, ((u32, u32), Thread)>,
    /// Whether a block executes `griddepcontrol.launch_dependents`.
    triggers: bool,
    /// Whether a block waits before it does.
    waits_first: bool,
    /// Whether a thread executes `griddepcontrol.wait`.
    waits: bool,
    /// Bytes written so far to each buffer that the host did not write.
    pub written: Vec<Earlier>,
}

/// Records what the blocks of a launch do.
#[derive(Default)]
pub struct Recorder(Mutex<Recorded>);

impl Recorder {
    /// Returns the record.
    pub fn into_inner(self) -> Recorded {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Block<'_> {
    /// `griddepcontrol.launch_dependents`.
    pub fn trigger(&mut self) {
        let early = !self.overlap.waits;
        self.overlap.triggers.get_or_insert(early);
    }

    /// `griddepcontrol.wait`.
    pub fn wait_for_grid(&mut self, w: usize, active: u32) {
        self.warps[w].waited |= active;
        self.overlap.waits = true;
    }

    /// Lanes access `bytes` bytes each of a buffer.
    pub fn note(&self, on: &Lanes, buffer: usize, (here, at): (u32, &D), bytes: u32, wrote: bool) {
        let Some(recorder) = &self.grid.recorder else {
            return;
        };
        let waited = self.warps[on.w].waited;
        let mut found: Vec<(Access, usize)> = vec![];
        for lane in lanes(here) {
            let access = Access {
                buffer,
                start: at[lane],
                end: at[lane] + u64::from(bytes),
                pc: on.pc,
                wrote,
                before: waited >> lane & 1 == 0,
            };
            // Lanes that lie side by side are one access.
            match found.last_mut() {
                Some((last, _)) if (last.end, last.before) == (access.start, access.before) => {
                    last.end = access.end;
                }
                Some((last, _)) if *last == access => {}
                _ => found.push((access, lane)),
            }
        }
        let mut recorded = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (access, lane) in found {
            let number = (self.number, 32 * on.w as u32 + lane as u32);
            let first = (number, self.thread(on.w, lane));
            match recorded.accesses.entry(access) {
                Entry::Occupied(mut known) if number < known.get().0 => _ = known.insert(first),
                Entry::Occupied(_) => {}
                Entry::Vacant(new) => _ = new.insert(first),
            }
        }
    }

    /// The block has come to its end.
    pub fn note_end(&self) {
        let Some(recorder) = &self.grid.recorder else {
            return;
        };
        let Overlap { waits, triggers } = self.overlap;
        let mut recorded = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.waits |= waits;
        recorded.triggers |= triggers.is_some();
        recorded.waits_first |= waits && triggers != Some(true);
    }
}

/// A launch that has run.
pub struct Ran<'a> {
    pub kernel: &'a Kernel,
    /// Whether it may start before the one before it has ended.
    pub programmatic: bool,
    pub recorded: Recorded,
}

/// The launches, by number, that may be in flight while another one runs.
#[derive(Default, Clone)]
struct InFlight {
    /// Before its `griddepcontrol.wait`.
    before: Vec<usize>,
    /// After it.
    after: Vec<usize>,
}

/// Findings of launches in a sequence: the accesses of each that conflict with an earlier one still in flight.
pub fn check(launches: &[Ran], buffers: &[Buffer]) -> Vec<Vec<Finding>> {
    let mut all: Vec<InFlight> = vec![];
    let mut findings = vec![];
    for (number, launch) in launches.iter().enumerate() {
        let in_flight = match number.checked_sub(1) {
            Some(last) if launch.programmatic => after(last, &launches[last].recorded, &all[last]),
            _ => InFlight::default(),
        };
        findings.push(conflicts(launches, number, &in_flight, buffers));
        all.push(in_flight);
    }
    findings
}

/// Launches that may be in flight during the launch after launch `last`.
fn after(last: usize, recorded: &Recorded, during: &InFlight) -> InFlight {
    // When it has ended, what it waited for has ended, too.
    let ended = if recorded.waits {
        &during.after
    } else {
        &during.before
    };
    let mut before = match (recorded.triggers, recorded.waits_first) {
        (false, _) => ended.clone(),
        // The last block that lets the next launch start has waited.
        (true, true) => during.after.clone(),
        (true, false) => during.before.clone(),
    };
    if recorded.triggers {
        before.push(last);
    }
    InFlight {
        before,
        after: ended.clone(),
    }
}

/// Accesses of launch `number` that conflict with an earlier one in flight; one finding for each instruction.
fn conflicts(
    launches: &[Ran],
    number: usize,
    in_flight: &InFlight,
    buffers: &[Buffer],
) -> Vec<Finding> {
    let kernel = launches[number].kernel;
    let mut found: Vec<(u32, Finding)> = vec![];
    let mut mine: Vec<_> = launches[number].recorded.accesses.iter().collect();
    mine.sort_by_key(|(access, (first, _))| (access.pc, *first, access.start));
    for &other in &in_flight.before {
        let others = Sorted::of(&launches[other].recorded);
        let is_after = in_flight.after.contains(&other);
        for (access, (_, thread)) in mine.iter().filter(|(a, _)| a.before || is_after) {
            let Some((earlier, at)) = others.conflict(access) else {
                continue;
            };
            if let Some((_, known)) = found.iter_mut().find(|(pc, _)| *pc == access.pc) {
                known.count += 1;
                continue;
            }
            let Some(buffer) = buffers.get(access.buffer) else {
                continue;
            };
            let verb = if access.wrote { "writes" } else { "reads" };
            let theirs = if earlier.wrote { "writes" } else { "reads" };
            let order = if access.before {
                "before griddepcontrol.wait"
            } else {
                "after griddepcontrol.wait, which waits for the launch before alone"
            };
            let location = launches[other].kernel.code[earlier.pc as usize]
                .location
                .words();
            let (name, entry) = (&buffer.name, &launches[other].kernel.name);
            let step = &kernel.code[access.pc as usize];
            let what = format!(
                "{verb} byte {at} of {name} {order}; launch {other} (`{entry}`), which may be in flight, {theirs} it in \
                 {location}"
            );
            let finding = Finding {
                class: Class::Race,
                line: step.location.line,
                source: step.location.source.clone(),
                called: step.location.called.clone(),
                form: step.form.clone(),
                thread: *thread,
                what,
                count: 1,
                within_warp: false,
            };
            found.push((access.pc, finding));
        }
    }
    found.sort_by_key(|(pc, _)| *pc);
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// Accesses in the order of their first bytes.
struct Sorted {
    accesses: Vec<Access>,
    /// Where the last byte of an access and of all before it lies, in its buffer.
    ends: Vec<(usize, u64)>,
}

impl Sorted {
    fn of(recorded: &Recorded) -> Self {
        let mut accesses: Vec<Access> = recorded.accesses.keys().copied().collect();
        accesses.sort_unstable();
        let mut last = (0, 0);
        let ends = accesses.iter().map(|access| {
            last = last.max((access.buffer, access.end));
            last
        });
        Self {
            ends: ends.collect(),
            accesses,
        }
    }

    /// An access to the same bytes, one of the two a write, and the first of the bytes.
    fn conflict(&self, mine: &Access) -> Option<(&Access, u64)> {
        let key = |a: &Access| (a.buffer, a.start);
        let beyond = self
            .accesses
            .partition_point(|a| key(a) < (mine.buffer, mine.end));
        let near = (0..beyond).rev();
        near.take_while(|&i| self.ends[i] > (mine.buffer, mine.start))
            .map(|i| &self.accesses[i])
            .filter(|other| other.buffer == mine.buffer && other.end > mine.start)
            .find(|other| other.wrote || mine.wrote)
            .map(|other| (other, other.start.max(mine.start)))
    }
}
