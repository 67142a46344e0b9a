//! Who accessed a word of memory last, and what an access does to that.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::coalesce::lanes;
use super::known::{Acquired, Known};
use super::race::{Record, Spread, Stamp, in_order};

/// The last write to a word (or a byte) and the reads since then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cell {
    writer: Record,
    /// A read since then, and how many others there were.
    reader: Record,
    /// A bit for each of the lanes, or warps, that read.
    readers: u32,
    /// The instructions of the two.
    writer_pc: u32,
    reader_pc: u32,
}

/// An access that is not in order with an earlier one.
#[derive(Debug, Clone, Copy)]
pub struct Conflict {
    /// The earlier one.
    pub other: Stamp,
    /// Its instruction.
    pub pc: u32,
    /// Whether it was a write.
    pub wrote: bool,
}

/// An access.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Who and when.
    pub stamp: Stamp,
    /// Which instruction.
    pub pc: u32,
    /// Which bytes of the word, a bit each.
    pub bytes: u8,
    /// By an atomic or another strong operation: two of those are no race.
    pub strong: bool,
    /// What the warp knows.
    pub known: &'a Known,
    /// What the block knows of others.
    pub acquired: &'a Acquired,
}

impl Access<'_> {
    fn record(&self) -> Record {
        Record::new(self.stamp, self.strong)
    }

    /// Whether it comes after all of what a record stands for, or needs no order with it.
    fn is_after(&self, record: Record, readers: u32) -> bool {
        let Some(other) = record.stamp() else {
            return true;
        };
        let after = |other| in_order(self.stamp, other, self.known, self.acquired);
        let lane_of = |warp, lane| Stamp {
            warp,
            lane,
            ..other
        };
        record.is_strong() && self.strong
            || match record.spread() {
                Spread::One => self.is_same_thread(record) || after(other),
                Spread::Lanes => lanes(readers).all(|l| after(lane_of(other.warp, l as u32))),
                Spread::Warps => lanes(readers).all(|w| {
                    let all = if w as u32 == self.stamp.warp {
                        0..32
                    } else {
                        0..1
                    };
                    all.into_iter().all(|lane| after(lane_of(w as u32, lane)))
                }),
                // Who they were is not kept; the first of them stands for all.
                Spread::Blocks => after(other),
            }
    }

    fn is_same_thread(&self, record: Record) -> bool {
        let who = |s: Stamp| (s.block, s.warp, s.lane);
        record.spread() == Spread::One && record.stamp().map(who) == Some(who(self.stamp))
    }

    /// Whether it leaves a record as it is: a plain access of the same thread, with nothing between, can
    /// race with more.
    fn adds_nothing_to(&self, record: Record) -> bool {
        self.strong
            && !record.is_strong()
            && self.is_same_thread(record)
            && record.stamp() == Some(self.stamp)
    }
}

impl Cell {
    /// An access; the one that it is not in order with.
    #[inline]
    pub fn touch(&mut self, access: &Access, write: bool) -> Option<Conflict> {
        match write {
            true => self.write(access),
            false => self.read(access),
        }
    }

    fn read(&mut self, access: &Access) -> Option<Conflict> {
        let conflict = self.conflict_with_writer(access);
        if !access.is_after(self.reader, self.readers)
            || self.reader.is_strong() && access.strong && !access.is_same_thread(self.reader)
        {
            self.add_reader(access);
        } else if !access.adds_nothing_to(self.reader) {
            self.reader = access.record();
            self.reader_pc = access.pc;
            self.readers = 0;
        }
        conflict
    }

    /// One more reader, which is not in order with those before.
    fn add_reader(&mut self, access: &Access) {
        let Some(first) = self.reader.stamp() else {
            return;
        };
        let mine = access.stamp;
        let spread = match self.reader.spread() {
            _ if first.block != mine.block => Spread::Blocks,
            Spread::Blocks => Spread::Blocks,
            Spread::One | Spread::Lanes if first.warp == mine.warp => Spread::Lanes,
            _ => Spread::Warps,
        };
        if spread != self.reader.spread() {
            let first = if spread == Spread::Lanes {
                first.lane
            } else {
                first.warp
            };
            self.readers = 1 << first;
        }
        self.readers |= 1
            << if spread == Spread::Lanes {
                mine.lane
            } else {
                mine.warp
            };
        // A plain read is named rather than an atomic one, which may be in order with what comes.
        if self.reader.is_strong() && !access.strong {
            self.reader = access.record();
            self.reader_pc = access.pc;
        }
        self.reader = self.reader.with_spread(spread);
    }

    fn write(&mut self, access: &Access) -> Option<Conflict> {
        let conflict = self.conflict_with_writer(access).or_else(|| {
            let other = self.reader.stamp()?;
            (!access.is_after(self.reader, self.readers)).then_some(Conflict {
                other,
                pc: self.reader_pc,
                wrote: false,
            })
        });
        if !access.adds_nothing_to(self.writer) {
            self.writer = access.record();
            self.writer_pc = access.pc;
        }
        self.reader = Record::default();
        self.readers = 0;
        conflict
    }

    fn conflict_with_writer(&self, access: &Access) -> Option<Conflict> {
        let other = self.writer.stamp()?;
        (!access.is_after(self.writer, 0)).then_some(Conflict {
            other,
            pc: self.writer_pc,
            wrote: true,
        })
    }
}

/// A cell that several threads of this program use: an update may be lost, nothing worse.
#[derive(Debug, Default)]
pub struct AtomicCell {
    writer: AtomicU64,
    reader: AtomicU64,
    readers: AtomicU32,
    writer_pc: AtomicU32,
    reader_pc: AtomicU32,
}

impl AtomicCell {
    /// With this in it.
    pub fn new(cell: Cell) -> Self {
        let atomic = Self::default();
        atomic.store(cell);
        atomic
    }

    /// What is in it.
    pub fn load(&self) -> Cell {
        Cell {
            writer: Record(self.writer.load(Relaxed)),
            reader: Record(self.reader.load(Relaxed)),
            readers: self.readers.load(Relaxed),
            writer_pc: self.writer_pc.load(Relaxed),
            reader_pc: self.reader_pc.load(Relaxed),
        }
    }

    fn store(&self, cell: Cell) {
        self.writer.store(cell.writer.0, Relaxed);
        self.reader.store(cell.reader.0, Relaxed);
        self.readers.store(cell.readers, Relaxed);
        self.writer_pc.store(cell.writer_pc, Relaxed);
        self.reader_pc.store(cell.reader_pc, Relaxed);
    }

    /// As for a cell.
    #[inline]
    pub fn touch(&self, access: &Access, write: bool) -> Option<Conflict> {
        let mut cell = self.load();
        let conflict = cell.touch(access, write);
        self.store(cell);
        conflict
    }
}
