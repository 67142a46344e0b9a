//! Who accessed a word of memory last, and what an access does to that.

use super::race::{Acquired, Known, Record, Stamp, in_order};

/// The last write to a word (or a byte) and the reads since then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cell {
    /// The last write.
    pub writer: Record,
    /// A read since then; with [`Record::has_others`], others besides.
    pub reader: Record,
    /// The instructions of the two.
    pub writer_pc: u32,
    /// The instructions of the two.
    pub reader_pc: u32,
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
        Record::new(self.stamp, self.bytes, self.strong)
    }

    /// Whether it comes after all of what a record stands for, or needs no order with it.
    fn is_after(&self, record: Record) -> bool {
        let Some(other) = record.stamp() else {
            return true;
        };
        if record.is_strong() && self.strong || record.bytes() & self.bytes == 0 {
            return true;
        }
        if !record.has_others() {
            return in_order(self.stamp, other, self.known, self.acquired);
        }
        // Several of them: all are before it if they are before what it knows of everyone.
        let everyone = self.known.warps.iter().enumerate();
        other.block == self.stamp.block
            && everyone.clone().all(|(warp, &time)| {
                other.time < time || warp as u32 == self.stamp.warp && self.knows_own(other.time)
            })
    }

    /// Whether all of its own warp's accesses up to a time are before it.
    fn knows_own(&self, time: u32) -> bool {
        (0..32).all(|lane| {
            let other = Stamp {
                lane,
                time,
                ..self.stamp
            };
            in_order(self.stamp, other, self.known, self.acquired)
        })
    }

    fn is_same_thread(&self, record: Record) -> bool {
        record.stamp().is_some_and(|s| {
            (s.block, s.warp, s.lane) == (self.stamp.block, self.stamp.warp, self.stamp.lane)
        }) && !record.has_others()
    }
}

impl Cell {
    /// Reads; the write that it is not in order with.
    #[inline]
    pub fn read(&mut self, access: &Access) -> Option<Conflict> {
        let conflict = self.conflict_with_writer(access);
        let new = access.record();
        if self.reader.0 == 0 || access.is_same_thread(self.reader) || access.is_after(self.reader) {
            self.reader = new;
            self.reader_pc = access.pc;
        } else {
            self.reader = self.reader.and_others();
        }
        conflict
    }

    /// Writes; the access that it is not in order with.
    #[inline]
    pub fn write(&mut self, access: &Access) -> Option<Conflict> {
        let conflict = self.conflict_with_writer(access).or_else(|| {
            let reader = self.reader.stamp()?;
            if access.is_same_thread(self.reader) || access.is_after(self.reader) {
                return None;
            }
            Some(Conflict {
                other: reader,
                pc: self.reader_pc,
                wrote: false,
            })
        });
        self.writer = access.record();
        self.writer_pc = access.pc;
        self.reader = Record::default();
        conflict
    }

    fn conflict_with_writer(&self, access: &Access) -> Option<Conflict> {
        let other = self.writer.stamp()?;
        if access.is_same_thread(self.writer) || access.is_after(self.writer) {
            return None;
        }
        Some(Conflict {
            other,
            pc: self.writer_pc,
            wrote: true,
        })
    }
}
