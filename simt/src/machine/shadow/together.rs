//! Joint reads: lanes that read the same address at once, as most reads of shared memory do.

use crate::alu::D;

use super::super::coalesce::{Group, lanes};
use super::super::race::{Order, Spread};
use super::{Cell, Conflicts, PAGE, Record, Visit};

impl Visit<'_> {
    /// Lanes of one address read `n` elements of `bytes` bytes each; returns their conflicts.
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

    /// Reads for all lanes at once if no lane needs separate treatment. Returns whether it did; if not, no
    /// cell has changed.
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

    /// Whether the writer of a cell is ordered before all lanes, and the order of its readers does not depend
    /// on the lane.
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
        if number == 0 {
            return true;
        }
        let epoch = self.epoch(reader);
        let several = match self.readers.1 {
            Order::Before | Order::Warps(_) => true,
            // For other blocks, the cell only records that there are some.
            Order::Unordered => epoch.spread == Spread::Blocks,
            _ => false,
        };
        several && !epoch.strong
    }

    /// Adds the lanes of a group to a cell's readers.
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
            Order::Unordered if number != 0 => None,
            Order::Warps(unknown) if number != 0 && readers & unknown != 0 => None,
            _ => Some(self.joined(group)),
        };
        let here = &mut self.page.cells[i];
        match cell {
            // They join the existing readers.
            None => here.readers |= 1 << self.access.warp,
            Some(cell) => (here.reader, here.readers) = (cell.reader, cell.readers),
        }
    }

    /// A cell with the readers of a group and no others.
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
}
