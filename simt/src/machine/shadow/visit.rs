//! The effect of an instruction on a page, lane by lane.

use super::super::coalesce::lanes;
use super::super::race::{Access, Epoch, Order, Spread, Stamp};
use super::{Cell, Conflict, Page, Record};

/// A visit of a page by an instruction of a warp, lane by lane. Results for an epoch are cached for the next
/// lane, which mostly meets the same one.
pub struct Visit<'a> {
    pub(super) page: &'a mut Page,
    pub(super) access: &'a Access<'a>,
    pub(super) writers: (usize, Order),
    pub(super) readers: (usize, Order),
    /// A time, and the index of this instruction's epoch for lanes that last synchronised then.
    pub(super) mine: (u32, usize),
    /// The same for the epoch that stands for several lanes.
    pub(super) ours: (u32, usize),
    /// Whether the lanes share an epoch, so that joint reads are possible.
    pub(super) together: bool,
}

impl Visit<'_> {
    /// A lane reads 1, 2, 4 or 8 bytes at `at` of the page; returns the write it races with.
    #[inline]
    pub fn read(&mut self, lane: usize, at: usize, bytes: u32) -> Option<Conflict> {
        let conflict = self.touch(lane, at, bytes.min(4), false);
        match bytes {
            8 => conflict.or(self.touch(lane, at + 4, 4, false)),
            _ => conflict,
        }
    }

    /// A lane writes; returns the access it races with, and the first byte of the word they share. Threads
    /// that write equal values by one instruction, in one iteration or several, do not race: PTX lets one of
    /// the writes win, and the result is the same.
    #[inline]
    pub fn write(
        &mut self,
        lane: usize,
        at: usize,
        bytes: u32,
        value: u64,
        old: impl Fn(u32) -> u32,
    ) -> Option<(u32, Conflict)> {
        let width = bytes.min(4);
        let pc = self.access.pc;
        let mut found = None;
        for part in (0..bytes).step_by(4) {
            let Some(conflict) = self.touch(lane, at + part as usize, width, true) else {
                continue;
            };
            let new = (value >> (8 * part)) as u32 & (u32::MAX >> (32 - 8 * width));
            if !(conflict.wrote && conflict.pc == pc && new == old(part)) {
                found = found.or(Some((part, conflict)));
            }
        }
        found
    }

    /// A lane accesses 1, 2 or 4 bytes.
    #[inline]
    fn touch(&mut self, lane: usize, at: usize, bytes: u32, write: bool) -> Option<Conflict> {
        if bytes >> self.page.grain == 0 {
            self.page.refine(bytes.ilog2());
        }
        let first = at >> self.page.grain;
        let mut conflict = None;
        for i in first..first + (bytes >> self.page.grain) as usize {
            let found = if write {
                self.write_cell(i, lane)
            } else {
                self.read_cell(i, lane)
            };
            conflict = conflict.or(found);
        }
        conflict
    }

    #[inline]
    fn read_cell(&mut self, i: usize, lane: usize) -> Option<Conflict> {
        let Cell {
            writer,
            reader,
            readers,
        } = self.page.cells[i];
        let conflict = self.after_writer(writer, lane);
        let both_strong = reader.0 != 0 && self.access.strong && self.epoch(reader).strong;
        if !self.is_after_readers(reader, readers, lane)
            || both_strong && !self.is_same_thread(reader, lane)
        {
            self.add_reader(i, lane);
        } else if !(self.access.strong && self.adds_nothing_to(reader, lane)) {
            let reader = self.record(lane);
            let cell = &mut self.page.cells[i];
            cell.reader = reader;
            cell.readers = 0;
        }
        conflict
    }

    #[inline]
    fn write_cell(&mut self, i: usize, lane: usize) -> Option<Conflict> {
        let Cell {
            writer,
            reader,
            readers,
        } = self.page.cells[i];
        let mut conflict = self.after_writer(writer, lane);
        let mine = (self.access.block, self.access.warp.into());
        let is_of_warp = |c: &Conflict| (c.other.block, c.other.warp) == mine;
        if conflict.as_ref().is_none_or(is_of_warp) && !self.is_after_readers(reader, readers, lane)
        {
            let other = self.conflict_of_readers(reader, readers, lane);
            conflict = conflict.filter(|_| is_of_warp(&other)).or(Some(other));
        }
        let keep = self.access.strong && self.adds_nothing_to(writer, lane);
        self.page.cells[i] = Cell {
            writer: if keep { writer } else { self.record(lane) },
            ..Cell::default()
        };
        conflict
    }

    #[inline]
    fn after_writer(&mut self, writer: Record, lane: usize) -> Option<Conflict> {
        let number = writer.epoch();
        if number == 0 {
            return None;
        }
        if self.writers.0 != number {
            self.writers = (number, self.access.order(&self.page.epochs[number - 1]));
        }
        if self.is_after(self.writers.1, writer, 0, lane) {
            None
        } else {
            Some(self.conflict(writer, true))
        }
    }

    #[inline]
    fn is_after_readers(&mut self, reader: Record, readers: u32, lane: usize) -> bool {
        let number = reader.epoch();
        if number == 0 {
            return true;
        }
        if self.readers.0 != number {
            self.readers = (number, self.access.order(&self.page.epochs[number - 1]));
        }
        self.is_after(self.readers.1, reader, readers, lane)
    }

    #[inline]
    fn is_after(&self, order: Order, record: Record, readers: u32, lane: usize) -> bool {
        match order {
            Order::Before => true,
            Order::Unordered => false,
            Order::SameLane => record.lane() == lane,
            Order::SameLanes => readers == 1 << lane,
            Order::Warps(unknown) => readers & unknown == 0,
            Order::Ask => {
                let epoch = self.epoch(record);
                self.access.is_after(epoch, record.lane(), readers, lane)
            }
        }
    }

    /// Adds a reader that is unordered with the earlier ones.
    fn add_reader(&mut self, i: usize, lane: usize) {
        let Cell {
            mut reader,
            mut readers,
            ..
        } = self.page.cells[i];
        let first = *self.epoch(reader);
        let spread = match first.spread {
            _ if first.block != self.access.block => Spread::Blocks,
            Spread::Blocks => Spread::Blocks,
            Spread::One | Spread::Lanes if first.warp == self.access.warp => Spread::Lanes,
            _ => Spread::Warps,
        };
        let of_lanes = spread == Spread::Lanes;
        if spread != first.spread {
            readers = 1
                << if of_lanes {
                    reader.lane()
                } else {
                    first.warp.into()
                };
        }
        readers |= 1
            << if of_lanes {
                lane
            } else {
                self.access.warp.into()
            };
        // A plain read is named rather than an atomic one, which may be ordered with this one, and another block's
        // rather than one of the block whose memory it is.
        let foreign = first.block != self.access.block && first.block == self.access.home;
        if foreign || first.strong && !self.access.strong {
            let number = self.page.number(self.access.epoch(lane, spread));
            reader = Record::new(number, lane);
        } else if spread != first.spread {
            let number = self.page.number(Epoch { spread, ..first });
            reader = Record::new(number, reader.lane());
        }
        let cell = &mut self.page.cells[i];
        (cell.reader, cell.readers) = (reader, readers);
    }

    /// Returns a lane's own record.
    #[inline]
    pub(super) fn record(&mut self, lane: usize) -> Record {
        let time = self.access.known.now[lane];
        if self.mine.0 != time {
            let number = self.page.number(self.access.epoch(lane, Spread::One));
            self.mine = (time, number);
        }
        Record::new(self.mine.1, lane)
    }

    pub(super) fn epoch(&self, record: Record) -> &Epoch {
        &self.page.epochs[record.epoch() - 1]
    }

    fn conflict(&self, record: Record, wrote: bool) -> Conflict {
        let epoch = self.epoch(record);
        Conflict {
            other: epoch.stamp(record.lane()),
            pc: epoch.pc,
            wrote,
            spread: epoch.spread,
            is_exact: true,
        }
    }

    /// The conflict with readers. Where they are of several warps, it names one that is not the writer's, if such a
    /// warp is unordered with it.
    fn conflict_of_readers(&self, record: Record, readers: u32, lane: usize) -> Conflict {
        let conflict = self.conflict(record, false);
        if conflict.spread != Spread::Warps {
            return conflict;
        }
        let epoch = self.epoch(record);
        let of_others = lanes(readers).filter(|&w| {
            let is_mine = epoch.block == self.access.block && w == usize::from(self.access.warp);
            !is_mine && !self.access.is_after(epoch, record.lane(), 1 << w, lane)
        });
        let others: u32 = of_others.fold(0, |mask, w| mask | 1 << w);
        let named = |warp, lane, spread| Conflict {
            other: Stamp {
                warp,
                lane,
                ..conflict.other
            },
            is_exact: false,
            spread,
            ..conflict
        };
        if others == 0 {
            return named(self.access.warp.into(), lane as u32, Spread::Lanes);
        }
        if others >> epoch.warp & 1 == 1 {
            return conflict;
        }
        named(others.trailing_zeros(), 0, Spread::Warps)
    }

    fn is_same_thread(&self, record: Record, lane: usize) -> bool {
        let epoch = self.epoch(record);
        let who = (epoch.block, epoch.warp, record.lane());
        epoch.spread == Spread::One && who == (self.access.block, self.access.warp, lane)
    }

    /// Whether a strong access leaves a record as it is. A plain access of the same thread, with no
    /// synchronisation in between, can race with more accesses.
    fn adds_nothing_to(&self, record: Record, lane: usize) -> bool {
        record.0 != 0
            && !self.epoch(record).strong
            && self.is_same_thread(record, lane)
            && self.epoch(record).time == self.access.known.now[lane]
    }
}
