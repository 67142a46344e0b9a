//! Shadow memory: who accessed each word last.
//!
//! Memory is shadowed in pages, each allocated at the first access. A page has a table of epochs and one cell
//! per word; accesses to parts of a word split the page's cells into halves or bytes. A cell of 8 bytes names
//! its last writer and the readers since then, as indices of the table and lanes.
//!
//! Shadow of a 512-byte page: 1, 2 or 4 KiB of cells, and 16 bytes per epoch in use.

#[cfg(test)]
mod tests;
mod together;
mod visit;

use super::race::{Access, Epoch, Order, Spread, Stamp};
pub use visit::Visit;

/// Bytes of memory per page.
pub const PAGE: usize = 512;

/// Number of epochs in a page from which on unused ones are dropped.
const FEW: usize = 32;
/// Maximum number of epochs: a record has 11 bits for it. A visit adds at most one per lane and word of an
/// 8-word vector, for reader and writer.
const MANY: usize = (1 << 11) - 1 - 2 * 32 * 8;

/// Index of an epoch in its page, from 1, and a lane; 0 means no access.
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
    /// A read since then; its epoch says for which others it stands.
    reader: Record,
    /// The lanes, or warps, that read; one bit each.
    readers: u32,
}

/// An earlier access that conflicts with the current one.
#[derive(Debug, Clone, Copy)]
pub struct Conflict {
    /// Stamp of the earlier access.
    pub other: Stamp,
    /// Instruction of the earlier access.
    pub pc: u32,
    /// Whether it was a write.
    pub wrote: bool,
    /// Whether it stands for others, too. Then `other` may even be the current thread.
    pub spread: Spread,
    /// Whether `other` is a thread; if not, only its warp is known.
    pub is_exact: bool,
}

/// Races of lanes: the lane, its byte, and the conflicting access.
pub type Conflicts = Vec<(usize, u64, Conflict)>;

/// The shadow of one page.
#[derive(Debug)]
pub struct Page {
    epochs: Vec<Epoch>,
    cells: Vec<Cell>,
    /// Logarithm of the bytes per cell, which are 1, 2 or 4.
    grain: u32,
    /// Number of epochs from which on unused ones are dropped.
    room: usize,
}

/// An untouched page; the first access allocates its cells.
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
    /// Starts a visit by an instruction of a warp.
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

    /// Size in bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.epochs.capacity() * size_of::<Epoch>()
            + self.cells.capacity() * size_of::<Cell>()
    }

    /// Splits the cells to `1 << grain` bytes each.
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
        let mut live = Vec::with_capacity(FEW);
        for cell in &mut self.cells {
            for record in [&mut cell.writer, &mut cell.reader] {
                let old = record.epoch();
                if old == 0 {
                    continue;
                }
                if numbers[old] == 0 {
                    live.push(self.epochs[old - 1]);
                    numbers[old] = live.len();
                }
                *record = Record::new(numbers[old], record.lane());
            }
        }
        self.room = (2 * live.len()).clamp(FEW, MANY);
        self.epochs = live;
    }

    /// Returns the index of an epoch, adding it if necessary.
    fn number(&mut self, epoch: Epoch) -> usize {
        let last = self.epochs.len().saturating_sub(4);
        if let Some(i) = self.epochs[last..].iter().position(|&e| e == epoch) {
            return last + i + 1;
        }
        if self.epochs.len() == self.epochs.capacity() {
            // Pages are many and small, so the table does not double.
            self.epochs.reserve_exact(8);
        }
        self.epochs.push(epoch);
        self.epochs.len()
    }
}
