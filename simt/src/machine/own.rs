//! Memory that no other thread writes: local memory, constants and parameters.

use crate::alu::D;
use crate::ast::Space;
use crate::report::Class;

use super::access::Lanes;
use super::block::Block;
use super::coalesce::lanes;
use super::findings::unwritten;

impl Block<'_> {
    /// Reads one lane's bytes.
    pub fn read_own(&mut self, on: &Lanes, lane: usize, at: usize, bytes: usize) -> u64 {
        match on.space {
            Space::Local => {
                let from = lane * self.grid.kernel.local_bytes as usize + at;
                let range = from..from + bytes;
                if self.warps[on.w].local_written[range.clone()].contains(&false) {
                    self.find(Class::Uninitialised, on.w, on.pc, lane, || {
                        unwritten(bytes, &format!("of local memory at {at:#x}"))
                    });
                }
                little_endian(&self.warps[on.w].local[range])
            }
            Space::Const => little_endian(&self.grid.kernel.constants[at..][..bytes]),
            Space::Param => little_endian(&self.grid.params[at..][..bytes]),
            _ => 0,
        }
    }

    pub fn write_local(&mut self, on: Lanes, bytes: usize, value: &D) {
        let size = self.grid.kernel.local_bytes as usize;
        let warp = &mut self.warps[on.w];
        for lane in lanes(on.mask) {
            let from = lane * size + on.at[lane] as usize;
            let range = from..from + bytes;
            warp.local_written[range.clone()].fill(true);
            warp.local[range].copy_from_slice(&value[lane].to_le_bytes()[..bytes]);
        }
    }
}

/// Converts bytes to a number.
pub fn little_endian(bytes: &[u8]) -> u64 {
    let shifted = bytes
        .iter()
        .enumerate()
        .map(|(i, b)| u64::from(*b) << (8 * i));
    shifted.sum()
}
