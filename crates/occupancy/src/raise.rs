//! Changes to a block that let an SM hold more warps.

use crate::{Block, MAX_THREADS, Sm, WARP};

/// Other values of a block's numbers; those that are not named stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// At most so many registers per thread.
    Registers(u32),
    /// At most so many bytes of shared memory per block.
    Shared(u32),
    /// So many threads per block.
    Threads(u32),
    /// At most so many registers per thread, and at most so many bytes of shared memory per block.
    Both {
        /// Registers per thread.
        registers: u32,
        /// Bytes of shared memory per block.
        shared: u32,
    },
}

/// A change, and the warps that are resident after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raise {
    /// The change.
    pub change: Change,
    /// Resident warps per SM.
    pub warps: u32,
}

impl Sm {
    /// Returns the smallest change of each number that raises the resident warps. If no number alone can, because
    /// registers and shared memory limit together, returns the change of both.
    ///
    /// ```
    /// use occupancy::{Block, Change, Raise, Sm};
    ///
    /// let block = Block { threads: 256, registers: 64, shared: 0 };
    /// let raises = Sm::of(9, 0).unwrap().raises(&block);
    /// assert_eq!(raises[0], Raise { change: Change::Registers(48), warps: 40 });
    /// ```
    pub fn raises(&self, block: &Block) -> Vec<Raise> {
        let found = [
            self.fewer_registers(block),
            self.less_shared(block),
            self.other_threads(block),
        ];
        let found: Vec<Raise> = found.into_iter().flatten().collect();
        if found.is_empty() {
            return self.both(block).into_iter().collect();
        }
        found
    }

    fn fewer_registers(&self, block: &Block) -> Option<Raise> {
        let with = |registers| Block {
            registers,
            ..*block
        };
        let registers = (1..block.registers).rev();
        registers
            .map(|n| (Change::Registers(n), with(n)))
            .find_map(|(change, changed)| self.raise(block, change, &changed))
    }

    /// Blocks with less shared memory, as much as so many of them may have, in descending order.
    fn with_less_shared(&self, block: &Block) -> impl Iterator<Item = Block> {
        let taken = |n: u32| self.shared / n / self.shared_unit * self.shared_unit;
        let shared = (1..=self.blocks).filter_map(move |n| taken(n).checked_sub(self.reserved));
        let block = *block;
        shared
            .filter(move |shared| *shared < block.shared)
            .map(move |shared| Block { shared, ..block })
    }

    fn less_shared(&self, block: &Block) -> Option<Raise> {
        let mut blocks = self.with_less_shared(block);
        blocks.find_map(|changed| self.raise(block, Change::Shared(changed.shared), &changed))
    }

    fn both(&self, block: &Block) -> Option<Raise> {
        self.with_less_shared(block).find_map(|changed| {
            let raise = self.fewer_registers(&changed)?;
            let Change::Registers(registers) = raise.change else {
                return None;
            };
            let shared = changed.shared;
            let change = Change::Both { registers, shared };
            Some(Raise { change, ..raise })
        })
    }

    fn other_threads(&self, block: &Block) -> Option<Raise> {
        let with = |threads| Block { threads, ..*block };
        let mut sizes: Vec<u32> = (1..=MAX_THREADS / WARP).map(|warps| warps * WARP).collect();
        sizes.sort_by_key(|size| size.abs_diff(block.threads));
        let mut changes = sizes.into_iter().map(|n| (Change::Threads(n), with(n)));
        changes.find_map(|(change, changed)| self.raise(block, change, &changed))
    }

    fn raise(&self, block: &Block, change: Change, changed: &Block) -> Option<Raise> {
        let warps = self.resident_warps(changed);
        (warps > self.resident_warps(block)).then_some(Raise { change, warps })
    }
}
