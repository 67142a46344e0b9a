//! Who accessed each word of memory last, and what an access does to that.
//!
//! Memory is shadowed in pages, each made when its first byte is accessed. A page has a table of epochs and
//! a cell for each word; once a part of a word is accessed, for each half of its words or for each byte. A
//! cell of 8 bytes names its last writer and the readers since then: numbers of the table, and lanes.
//!
//! Shadow of a page of 512 bytes: 1, 2 or 4 KiB of cells, and 16 bytes an epoch that some cell names.

use crate::alu::D;

use super::coalesce::{Group, lanes};
use super::race::{Access, Epoch, Order, Spread, Stamp};

/// Bytes of memory that a page stands for.
pub const PAGE: usize = 512;

/// Epochs of a page that are kept before those are dropped that no cell names.
const FEW: usize = 32;
/// At most that many: a record's number has 11 bits, and a visit adds at most one for each lane and word,
/// of a vector of 8 words, for its reader and its writer.
const MANY: usize = (1 << 11) - 1 - 2 * 32 * 8;

/// Number of an epoch in its page, from 1, and a lane; 0 is no access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Record(u16);

impl Record {
    fn new(epoch: usize, lane: usize) -> Self {
        Self((epoch << 5 | lane) as u16)
    }

    fn epoch(self) -> usize {
        usize::from(self.0 >> 5)
    }

    fn lane(self) -> usize {
        usize::from(self.0 & 31)
    }
}

/// The last write to a word or a part of it, and the reads since then.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    writer: Record,
    /// A read since then; its epoch says for how many others it stands.
    reader: Record,
    /// A bit for each of the lanes, or warps, that read.
    readers: u32,
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
    /// Whether it stands for others, too: then `other` may even be the thread that it is in conflict with.
    pub spread: Spread,
}

/// What lanes do wrong: the lane, its byte, and the access that it is not in order with.
pub type Conflicts = Vec<(usize, u64, Conflict)>;

/// The shadow of some bytes.
#[derive(Debug)]
pub struct Page {
    epochs: Vec<Epoch>,
    cells: Vec<Cell>,
    /// A cell stands for 1, 2 or 4 bytes: the logarithm.
    grain: u32,
    /// Epochs beyond which those are dropped that no cell names.
    room: usize,
}

/// Nobody has accessed it; its cells are made by the first who does.
impl Default for Page {
    fn default() -> Self {
        Self {
            epochs: vec![],
            cells: vec![],
            grain: 2,
            room: FEW,
        }
    }
}

impl Page {
    /// An instruction of a warp accesses it.
    pub fn visit<'a>(&'a mut self, access: &'a Access<'a>) -> Visit<'a> {
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); PAGE / 4];
        }
        if self.epochs.len() > self.room {
            self.collect();
        }
        Visit {
            page: self,
            access,
            writers: (0, Order::Before),
            readers: (0, Order::Before),
            mine: (0, 0),
            ours: (0, 0),
            together: !access.strong && access.known.is_even(),
        }
    }

    /// Bytes that it takes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.epochs.capacity() * size_of::<Epoch>()
            + self.cells.capacity() * size_of::<Cell>()
    }

    /// A cell for each `1 << grain` bytes.
    #[cold]
    fn refine(&mut self, grain: u32) {
        let times = 1 << (self.grain - grain);
        let parts = self
            .cells
            .iter()
            .flat_map(|&cell| std::iter::repeat_n(cell, times));
        self.cells = parts.collect();
        self.grain = grain;
    }

    /// Drops the epochs that no cell names.
    #[cold]
    fn collect(&mut self) {
        let mut numbers = vec![0; self.epochs.len() + 1];
        let mut kept = Vec::with_capacity(FEW);
        for cell in &mut self.cells {
            for record in [&mut cell.writer, &mut cell.reader] {
                let old = record.epoch();
                if old == 0 {
                    continue;
                }
                if numbers[old] == 0 {
                    kept.push(self.epochs[old - 1]);
                    numbers[old] = kept.len();
                }
                *record = Record::new(numbers[old], record.lane());
            }
        }
        self.room = (2 * kept.len()).clamp(FEW, MANY);
        self.epochs = kept;
    }

    /// The number of an epoch.
    fn number(&mut self, epoch: Epoch) -> usize {
        let last = self.epochs.len().saturating_sub(4);
        if let Some(i) = self.epochs[last..].iter().position(|&e| e == epoch) {
            return last + i + 1;
        }
        self.epochs.push(epoch);
        self.epochs.len()
    }
}

/// What an instruction of a warp does to a page, lane by lane. What it finds out about an epoch it keeps for
/// the next lane, which mostly meets the same one.
pub struct Visit<'a> {
    page: &'a mut Page,
    access: &'a Access<'a>,
    writers: (usize, Order),
    readers: (usize, Order),
    /// A time, and the number of the epoch of this instruction's lanes that last synchronised then.
    mine: (u32, usize),
    /// The same of the epoch that stands for several of them.
    ours: (u32, usize),
    /// Whether its lanes have the same epoch, and may be taken together.
    together: bool,
}

impl Visit<'_> {
    /// Lanes of one address read `n` elements of `bytes` bytes each: what they are not in order with.
    #[inline]
    pub fn read_elements(
        &mut self,
        group: &Group,
        at: &D,
        (bytes, n): (u32, usize),
        conflicts: &mut Conflicts,
    ) {
        let first = at[usize::from(group.lane)];
        for k in 0..n as u64 {
            let at = first + k * u64::from(bytes);
            if self.read_together(group, at as usize % PAGE, bytes) {
                continue;
            }
            for lane in lanes(group.mask) {
                let conflict = self.read(lane, at as usize % PAGE, bytes);
                conflicts.extend(conflict.map(|c| (lane, at, c)));
            }
        }
    }

    /// The same for all lanes at once, if there is nothing to say of single ones: whether it was so. Then no
    /// cell has changed otherwise.
    #[inline]
    fn read_together(&mut self, group: &Group, at: usize, bytes: u32) -> bool {
        let grain = self.page.grain;
        if !self.together || bytes >> grain == 0 {
            return false;
        }
        let cells = at >> grain..(at + bytes as usize) >> grain;
        cells.clone().all(|i| self.can_join(i)) && {
            cells.for_each(|i| self.join(i, group));
            true
        }
    }

    /// Whether the writer of a cell is before all lanes, and how readers stand to them does not depend on
    /// the lane.
    #[inline]
    fn can_join(&mut self, i: usize) -> bool {
        let Cell { writer, reader, .. } = self.page.cells[i];
        let number = writer.epoch();
        if number != 0 && number != self.writers.0 {
            self.writers = (number, self.access.order(&self.page.epochs[number - 1]));
        }
        if number != 0 && self.writers.1 != Order::Before {
            return false;
        }
        let number = reader.epoch();
        if number != 0 && number != self.readers.0 {
            self.readers = (number, self.access.order(&self.page.epochs[number - 1]));
        }
        number == 0
            || matches!(self.readers.1, Order::Before | Order::Warps(_))
                && !self.epoch(reader).strong
    }

    /// The lanes of a group are readers of a cell that they can join.
    #[inline]
    fn join(&mut self, i: usize, group: &Group) {
        let Cell {
            reader, readers, ..
        } = self.page.cells[i];
        let number = reader.epoch();
        if number != 0 && number != self.readers.0 {
            self.readers = (number, self.access.order(&self.page.epochs[number - 1]));
        }
        let cell = match self.readers.1 {
            Order::Warps(unknown) if number != 0 && readers & unknown != 0 => {
                self.page.cells[i].readers |= 1 << self.access.warp;
                return;
            }
            _ => self.joined(group),
        };
        let here = &mut self.page.cells[i];
        (here.reader, here.readers) = (cell.reader, cell.readers);
    }

    /// A lane reads 1, 2, 4 or 8 bytes at `at` of the page: the write that it is not in order with.
    #[inline]
    pub fn read(&mut self, lane: usize, at: usize, bytes: u32) -> Option<Conflict> {
        let conflict = self.touch(lane, at, bytes.min(4), false);
        match bytes {
            8 => conflict.or(self.touch(lane, at + 4, 4, false)),
            _ => conflict,
        }
    }

    /// A lane writes: the access that it is not in order with, and the first byte of the word in which they
    /// meet. Lanes that write the same value by one instruction do no harm: whichever wins, it is the same.
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
            let found = match write {
                true => self.write_cell(i, lane),
                false => self.read_cell(i, lane),
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
        if conflict.is_none() && !self.is_after_readers(reader, readers, lane) {
            conflict = Some(self.conflict(reader, false));
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
        match self.is_after(self.writers.1, writer, 0, lane) {
            true => None,
            false => Some(self.conflict(writer, true)),
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

    /// One more reader, which is not in order with those before.
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
        // A plain read is named rather than an atomic one, which may be in order with what comes.
        if first.strong && !self.access.strong {
            let number = self.page.number(self.access.epoch(lane, spread));
            reader = Record::new(number, lane);
        } else if spread != first.spread {
            let number = self.page.number(Epoch { spread, ..first });
            reader = Record::new(number, reader.lane());
        }
        let cell = &mut self.page.cells[i];
        (cell.reader, cell.readers) = (reader, readers);
    }

    /// A lane's own record.
    #[inline]
    fn record(&mut self, lane: usize) -> Record {
        let time = self.access.known.now[lane];
        if self.mine.0 != time {
            let number = self.page.number(self.access.epoch(lane, Spread::One));
            self.mine = (time, number);
        }
        Record::new(self.mine.1, lane)
    }

    /// The readers of a group, and no others.
    #[inline]
    fn joined(&mut self, group: &Group) -> Cell {
        let lane = usize::from(group.lane);
        if group.mask & (group.mask - 1) == 0 {
            return Cell {
                reader: self.record(lane),
                ..Cell::default()
            };
        }
        let time = self.access.known.now[lane];
        if self.ours.0 != time {
            let number = self.page.number(self.access.epoch(lane, Spread::Lanes));
            self.ours = (time, number);
        }
        Cell {
            reader: Record::new(self.ours.1, lane),
            readers: group.mask,
            ..Cell::default()
        }
    }

    fn epoch(&self, record: Record) -> &Epoch {
        &self.page.epochs[record.epoch() - 1]
    }

    fn conflict(&self, record: Record, wrote: bool) -> Conflict {
        let epoch = self.epoch(record);
        Conflict {
            other: epoch.stamp(record.lane()),
            pc: epoch.pc,
            wrote,
            spread: epoch.spread,
        }
    }

    fn is_same_thread(&self, record: Record, lane: usize) -> bool {
        let epoch = self.epoch(record);
        let who = (epoch.block, epoch.warp, record.lane());
        epoch.spread == Spread::One && who == (self.access.block, self.access.warp, lane)
    }

    /// Whether a strong access leaves a record as it is: a plain access of the same thread, with nothing
    /// between, can race with more.
    fn adds_nothing_to(&self, record: Record, lane: usize) -> bool {
        record.0 != 0
            && !self.epoch(record).strong
            && self.is_same_thread(record, lane)
            && self.epoch(record).time == self.access.known.now[lane]
    }
}
