//! Who accessed a word of memory last, and what an access does to that.

use super::race::{Acquired, Known, Record, Stamp, in_order};

/// The last write to a word (or a byte) and the reads since then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cell {
    /// The last write.
    pub writer: Record,
    /// A read since then, the first of those between which there is no order.
    pub reader: Record,
    /// The warps of its block that read, if several did: a bit each.
    pub reader_warps: u32,
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
    fn is_after(&self, record: Record, warps: u32) -> bool {
        let Some(other) = record.stamp() else {
            return true;
        };
        if record.is_strong() && self.strong || record.bytes() & self.bytes == 0 {
            return true;
        }
        if record.has_blocks() {
            return false;
        }
        if record.has_warps() && other.block == self.stamp.block {
            return super::coalesce::lanes(warps).all(|warp| {
                match warp as u32 == self.stamp.warp {
                    true => self.knows_own(other.time),
                    false => other.time < self.known.warps[warp],
                }
            });
        }
        let same_warp = (other.block, other.warp) == (self.stamp.block, self.stamp.warp);
        if record.has_lanes() && same_warp {
            return self.knows_own(other.time);
        }
        in_order(self.stamp, other, self.known, self.acquired)
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
        }) && !record.has_lanes()
            && !record.has_warps()
            && !record.has_blocks()
    }
}

impl Cell {
    /// Reads; the write that it is not in order with.
    #[inline]
    pub fn read(&mut self, access: &Access) -> Option<Conflict> {
        let conflict = self.conflict_with_writer(access);
        let new = access.record();
        let before = self.reader.stamp();
        let passed =
            access.is_same_thread(self.reader) || access.is_after(self.reader, self.reader_warps);
        let mine = 1 << (access.stamp.warp & 31);
        match before {
            Some(other) if !passed => {
                self.reader_warps |= mine | 1 << (other.warp & 31);
                self.reader = match other {
                    _ if other.block != access.stamp.block => self.reader.and_blocks(),
                    _ if other.warp != access.stamp.warp => self.reader.and_warps(),
                    _ => self.reader.and_lanes(),
                };
            }
            _ => {
                self.reader = new;
                self.reader_pc = access.pc;
                self.reader_warps = mine;
            }
        }
        conflict
    }

    /// Writes; the access that it is not in order with.
    #[inline]
    pub fn write(&mut self, access: &Access) -> Option<Conflict> {
        let conflict = self.conflict_with_writer(access).or_else(|| {
            let reader = self.reader.stamp()?;
            if access.is_same_thread(self.reader) || access.is_after(self.reader, self.reader_warps)
            {
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
        if access.is_same_thread(self.writer) || access.is_after(self.writer, 0) {
            return None;
        }
        Some(Conflict {
            other,
            pc: self.writer_pc,
            wrote: true,
        })
    }
}
