//! Findings: one for each class and instruction. A race of two warps or blocks takes the place of one within a warp,
//! because a reader looks for the barrier that is missing.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;

use crate::report::{Class, Finding, Thread};

use super::block::Block;
use super::coalesce::lanes;
use super::race::Stamp;
use super::warp::{Fragment, State};

/// Findings of a launch that is still running, by instruction and class.
pub type Findings = BTreeMap<(u32, Class), Finding>;

/// Adds the finding of an instruction to others, or counts it with the one of its class.
pub fn join(pc: u32, finding: Finding, all: &mut Findings) {
    match all.entry((pc, finding.class)) {
        Entry::Vacant(vacant) => {
            vacant.insert(finding);
        }
        Entry::Occupied(known) => {
            let known = known.into_mut();
            let count = known.count + finding.count;
            if known.within_warp && !finding.within_warp {
                *known = finding;
            }
            known.count = count;
        }
    }
}

impl Block<'_> {
    /// Identifies lane `lane` in a report.
    pub fn thread(&self, w: usize, lane: usize) -> Thread {
        let shape = &self.grid.shape;
        let [x, y, _] = shape.block;
        let number = 32 * w as u32 + lane as u32;
        Thread {
            block: self.id,
            thread: [number % x, number / x % y, number / (x * y)],
            flat: [shape.grid, shape.block].map(|[_, y, z]| y * z == 1),
        }
    }

    /// The same of a thread of another block.
    pub fn thread_of(&self, stamp: Stamp) -> Thread {
        let [x, y, _] = self.grid.shape.grid;
        let number = stamp.block;
        Thread {
            block: [number % x, number / x % y, number / (x * y)],
            ..self.thread(stamp.warp as usize, stamp.lane as usize)
        }
    }

    /// A block by its number, as a thread's display has it.
    pub fn block_name(&self, number: u32) -> String {
        let [x, y, z] = self.grid.shape.grid;
        if y * z == 1 {
            return number.to_string();
        }
        format!("({}, {}, {})", number % x, number / x % y, number / (x * y))
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
        let thread = self.thread(w, lane);
        self.find_by(class, thread, pc, what);
    }

    /// Two unordered accesses, the later one at `pc`; `within_warp` as in [`Finding`].
    pub fn find_race(
        &mut self,
        (w, lane): (usize, usize),
        pc: u32,
        within_warp: bool,
        what: impl FnOnce() -> String,
    ) {
        let thread = self.thread(w, lane);
        self.keep(Class::Race, thread, (pc, within_warp), what);
    }

    /// The same of any thread.
    pub fn find_by(
        &mut self,
        class: Class,
        thread: Thread,
        pc: u32,
        what: impl FnOnce() -> String,
    ) {
        self.keep(class, thread, (pc, false), what);
    }

    fn keep(
        &mut self,
        class: Class,
        thread: Thread,
        (pc, within_warp): (u32, bool),
        what: impl FnOnce() -> String,
    ) {
        if let Some(known) = self.findings.get_mut(&(pc, class))
            && (within_warp || !known.within_warp)
        {
            known.count += 1;
            return;
        }
        let step = &self.grid.kernel.code[pc as usize];
        let finding = Finding {
            class,
            line: step.location.line,
            source: step.location.source.clone(),
            called: step.location.called.clone(),
            form: step.form.clone(),
            thread,
            what: what(),
            count: 1,
            within_warp,
        };
        join(pc, finding, &mut self.findings);
    }

    /// Reports a read of an unwritten register.
    pub fn unwritten_register(&mut self, w: usize, pc: u32, lanes: u32, what: &str) {
        let lane = lanes.trailing_zeros() as usize;
        self.find(Class::Uninitialised, w, pc, lane, || {
            format!("{what} is a register that was never written")
        });
    }

    /// Reports that the block, or the launch, has run out of fuel.
    pub fn endless(&mut self, w: usize, whose: &str, fuel: u64) {
        let fragment = self.warps[w].fragments.first().cloned();
        if let Some(Fragment { pc, mask, .. }) = fragment {
            let pc = pc.min(self.grid.kernel.code.len() as u32 - 1);
            let lane = mask.trailing_zeros() as usize;
            let later = if self.grid.shape.grid == [1; 3] {
                ""
            } else {
                "; it cannot wait for a later block, which may start only after this one has ended"
            };
            self.find(Class::Endless, w, pc, lane, || {
                format!(
                    "still running after {fuel} instructions of {whose}: its loop never ends, or waits for \
                     something that no thread does{later}"
                )
            });
        }
        self.grid.halted.store(true, Relaxed);
        self.stop();
    }

    /// Reports each thread that waits when none can go on.
    pub fn deadlock(&mut self) {
        if self.find_out_of_step() {
            return self.stop();
        }
        for id in 0..16 {
            self.check_barrier(id, false);
        }
        let waiting = self.warps.iter().enumerate();
        let all: Vec<(usize, Fragment)> = waiting
            .flat_map(|(w, warp)| warp.fragments.iter().map(move |f| (w, f.clone())))
            .collect();
        let total: u32 = all.iter().map(|(_, f)| f.mask.count_ones()).sum();
        for (w, fragment) in all {
            let lane = fragment.mask.trailing_zeros() as usize;
            let what = match fragment.state {
                State::Ready => continue,
                State::Lanes(_) if self.is_of_cluster(fragment.pc) => {
                    let others = self.warps[w].live & !fragment.mask;
                    self.parted_from(w, fragment.pc, fragment.mask, others);
                    continue;
                }
                State::Lanes(wanted) => self.absent(w, wanted & !fragment.mask),
                State::Barrier(id) => {
                    format!("waits at barrier {id}, which some of {total} threads never reach")
                }
                State::Cluster => self.missing_at_cluster(),
            };
            self.find(Class::Deadlock, w, fragment.pc, lane, || what);
        }
        self.stop();
    }

    /// Describes the missing lanes and where the first of them is.
    fn absent(&self, w: usize, wanted: u32) -> String {
        let warp = &self.warps[w];
        let first = 1 << wanted.trailing_zeros();
        let location = |pc: u32| self.grid.kernel.code[pc as usize].location.words();
        let is_there = |f: &&Fragment| f.mask & first != 0;
        let instead = match warp.fragments.iter().find(is_there) {
            Some(f) if matches!(f.state, State::Barrier(_) | State::Cluster) => {
                format!("waits at the barrier in {}", location(f.pc))
            }
            Some(f) => format!("is in {}", location(f.pc)),
            None => "has returned".into(),
        };
        let (lanes, first) = (names(wanted), names(first));
        match wanted.count_ones() {
            1 => format!("waits for {lanes}, which {instead}"),
            _ => format!("waits for {lanes}; {first} {instead}"),
        }
    }
}

/// `1 byte`, `2 bytes`
pub fn counted(n: impl Display, noun: &str) -> String {
    let n = n.to_string();
    let plural = if n == "1" { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// Describes a read of bytes that nothing was written to.
pub fn unwritten(bytes: impl Display, place: &str) -> String {
    let bytes = counted(bytes, "byte");
    let were = if bytes == "1 byte" { "was" } else { "were" };
    format!("read of {bytes} {place}, which {were} never written")
}

/// Describes lanes: `lane 3`, `lanes 0 to 15`, `lanes 0, 2, 4 and 13 more`.
pub fn names(mask: u32) -> String {
    const MOST: usize = 3;
    let starts = lanes(mask & !(mask << 1));
    let ends = lanes(mask & !(mask >> 1));
    let range = |(start, end): (usize, usize)| match end - start {
        0 => start.to_string(),
        1 => format!("{start}, {end}"),
        _ => format!("{start} to {end}"),
    };
    let ranges: Vec<(usize, usize)> = starts.zip(ends).collect();
    let shown: Vec<String> = ranges.iter().copied().take(MOST).map(range).collect();
    let more: usize = ranges.iter().skip(MOST).map(|(s, e)| e - s + 1).sum();
    let noun = if mask.count_ones() == 1 {
        "lane"
    } else {
        "lanes"
    };
    let more = match more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{noun} {}{more}", shown.join(", "))
}

#[test]
fn one_byte_has_no_plural() {
    let said = |bytes: u32| unwritten(bytes, "at byte 3 of x");
    assert_eq!(
        said(1),
        "read of 1 byte at byte 3 of x, which was never written"
    );
    assert_eq!(
        said(2),
        "read of 2 bytes at byte 3 of x, which were never written"
    );
}

#[test]
fn lanes_are_listed_in_words() {
    for (mask, expected) in [
        (1 << 3, "lane 3"),
        (0xffff, "lanes 0 to 15"),
        (0b11, "lanes 0, 1"),
        (0xf000_000f, "lanes 0 to 3, 28 to 31"),
        (0x5555_5555, "lanes 0, 2, 4 and 13 more"),
        (!0, "lanes 0 to 31"),
    ] {
        assert_eq!(names(mask), expected);
    }
}
