//! Who accessed each word of memory last, and what an access does to that.
//!
//! Memory is shadowed in pages, each made when its first byte is accessed. A page has a table of epochs and
//! a cell for each word; once a part of a word is accessed, for each half of its words or for each byte. A
//! cell of 8 bytes names its last writer and the readers since then: numbers of the table, and lanes.
//!
//! Shadow of a page of 512 bytes: 1, 2 or 4 KiB of cells, and 16 bytes an epoch that some cell names.

#[cfg(test)]
mod tests;
mod together;
mod visit;

use super::race::{Access, Epoch, Order, Spread, Stamp};
pub use visit::Visit;

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
        if self.epochs.len() == self.epochs.capacity() {
            // Pages are many and small: not twice as many.
            self.epochs.reserve_exact(8);
        }
        self.epochs.push(epoch);
        self.epochs.len()
    }
}
