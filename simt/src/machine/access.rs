//! Loads and stores: where an address lies, and bytes of whichever space it is.

use crate::alu::D;
use crate::ast::Space;
use crate::code::{Address, Slot};
use crate::report::Class;

use super::block::Block;
use super::coalesce::{ideal_sectors, ideal_wavefronts, lanes, sectors, wavefronts};

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Update,
}

impl Kind {
    /// In words.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Update => "atomic update",
        }
    }
}

impl Block<'_> {
    /// The active lanes' addresses and, for each space among them, its lanes.
    pub fn resolve(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        address: &Address,
    ) -> (D, Vec<(Space, u32)>) {
        if let Some(base) = address.base {
            self.check_read(w, pc, active, &[base]);
        }
        let base = match address.base {
            Some(slot) => self.warps[w].wide(slot),
            None => [0; 32],
        };
        let narrow = matches!(address.base, Some(Slot::Word(_)));
        let mut at = base.map(|b| {
            let sum = b.wrapping_add(address.offset as u64);
            if narrow { sum & 0xffff_ffff } else { sum }
        });
        if address.space != Space::Generic {
            if self.recording {
                self.record_addresses(w, address.space, &at, active);
            }
            return (at, vec![(address.space, active)]);
        }
        let mut spaces: Vec<(Space, u32)> = vec![];
        for lane in lanes(active) {
            let (space, offset) = Self::space_of(at[lane]);
            at[lane] = offset;
            match spaces.iter_mut().find(|(s, _)| *s == space) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => spaces.push((space, 1 << lane)),
            }
        }
        if self.recording {
            for &(space, mask) in &spaces {
                self.record_addresses(w, space, &at, mask);
            }
        }
        (at, spaces)
    }

    /// `ld`.
    pub fn load(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        d: &[Option<Slot>],
        (bytes, signed, strong): (u32, bool, bool),
        from: &Address,
    ) {
        let whole = bytes * d.len() as u32;
        let (at, spaces) = self.resolve(w, pc, active, from);
        let mut values = [[0u64; 32]; 8];
        for (space, mask) in spaces {
            self.count(pc, space, &at, mask, whole, true);
            for lane in lanes(mask) {
                if !self.is_fine(w, pc, lane, space, at[lane], whole, Kind::Read) {
                    continue;
                }
                for (value, k) in values.iter_mut().zip(0..d.len() as u64) {
                    let at = at[lane] + k * u64::from(bytes);
                    value[lane] = self.read(w, pc, lane, space, at, bytes, strong);
                }
            }
        }
        for (slot, mut value) in d.iter().zip(values) {
            let Some(slot) = slot else { continue };
            if signed && bytes < 8 {
                let shift = 64 - 8 * bytes;
                value = value.map(|v| ((v << shift) as i64 >> shift) as u64);
            }
            self.warps[w].set(*slot, active, value);
        }
    }

    /// `st`.
    pub fn store(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        to: &Address,
        from: &[Slot],
        (bytes, strong): (u32, bool),
    ) {
        let whole = bytes * from.len() as u32;
        let (at, spaces) = self.resolve(w, pc, active, to);
        let mut values = [[0u64; 32]; 8];
        for (value, slot) in values.iter_mut().zip(from) {
            *value = self.warps[w].wide(*slot);
        }
        for (space, mask) in spaces {
            self.count(pc, space, &at, mask, whole, false);
            for lane in lanes(mask) {
                if !self.is_fine(w, pc, lane, space, at[lane], whole, Kind::Write) {
                    continue;
                }
                for (value, k) in values.iter().zip(0..from.len() as u64) {
                    let at = at[lane] + k * u64::from(bytes);
                    self.write(w, pc, lane, space, at, bytes, value[lane], strong);
                }
            }
        }
    }

    fn count(&mut self, pc: u32, space: Space, at: &D, mask: u32, bytes: u32, load: bool) {
        let counts = &mut self.counts[pc as usize];
        match space {
            Space::Global => {
                let (n, ideal) = (sectors(at, mask, bytes), ideal_sectors(mask, bytes));
                if load {
                    counts.global_load_requests += 1;
                    counts.global_load_sectors += n;
                    counts.global_load_ideal += ideal;
                } else {
                    counts.global_store_requests += 1;
                    counts.global_store_sectors += n;
                    counts.global_store_ideal += ideal;
                }
            }
            Space::Shared => {
                let n = wavefronts(at, mask, bytes, load);
                let ideal = ideal_wavefronts(mask, bytes);
                if load {
                    counts.shared_load_requests += 1;
                    counts.shared_load_wavefronts += n;
                    counts.shared_load_ideal += ideal;
                } else {
                    counts.shared_store_requests += 1;
                    counts.shared_store_wavefronts += n;
                    counts.shared_store_ideal += ideal;
                }
            }
            _ => {}
        }
    }

    /// Bytes that are inside, aligned.
    #[allow(clippy::too_many_arguments)]
    pub fn read(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        space: Space,
        at: u64,
        bytes: u32,
        strong: bool,
    ) -> u64 {
        match space {
            Space::Global => self.read_global(w, pc, lane, at, bytes, strong),
            Space::Shared => self.read_shared(w, pc, lane, at as usize, bytes, strong),
            Space::Local => {
                let size = self.grid.kernel.local_bytes as usize;
                let from = lane * size + at as usize;
                let range = from..from + bytes as usize;
                if self.warps[w].local_written[range.clone()].contains(&false) {
                    self.find(Class::Uninitialised, w, pc, lane, || {
                        format!("read of {bytes} bytes of local memory at {at:#x}, which were never written")
                    });
                }
                little_endian(&self.warps[w].local[range])
            }
            Space::Const => {
                little_endian(&self.grid.kernel.constants[at as usize..][..bytes as usize])
            }
            Space::Param => little_endian(&self.grid.params[at as usize..][..bytes as usize]),
            Space::Generic | Space::Reg => 0,
        }
    }

    /// The same, written.
    #[allow(clippy::too_many_arguments)]
    pub fn write(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        space: Space,
        at: u64,
        bytes: u32,
        value: u64,
        strong: bool,
    ) {
        match space {
            Space::Global => self.write_global(w, pc, lane, at, bytes, value, strong),
            Space::Shared => self.write_shared(w, pc, lane, at as usize, bytes, value, strong),
            Space::Local => {
                let size = self.grid.kernel.local_bytes as usize;
                let from = lane * size + at as usize;
                let range = from..from + bytes as usize;
                let warp = &mut self.warps[w];
                warp.local_written[range.clone()].fill(true);
                warp.local[range].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
            }
            _ => {}
        }
    }
}

/// Bytes as a number.
pub fn little_endian(bytes: &[u8]) -> u64 {
    let shifted = bytes
        .iter()
        .enumerate()
        .map(|(i, b)| u64::from(*b) << (8 * i));
    shifted.sum()
}
