//! Checks of accesses: bounds, alignment and permission.

use crate::ast::Space;
use crate::report::Class;

use super::access::{Kind, Lanes};
use super::block::Block;
use super::cluster::{offset_of, rank_of};
use super::coalesce::lanes;
use super::findings::counted;
use super::global::{Found, Global, Range};

impl Block<'_> {
    /// Whether an access is aligned and in bounds; reports a finding if not.
    #[allow(clippy::too_many_arguments)]
    pub fn is_fine(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        space: Space,
        at: u64,
        bytes: u32,
        kind: Kind,
    ) -> bool {
        let wrong = if kind != Kind::Read && matches!(space, Space::Const | Space::Param) {
            Class::ReadOnly
        } else if !self.is_inside(space, at, bytes) {
            Class::OutOfBounds
        } else if !at.is_multiple_of(u64::from(bytes)) {
            Class::Misaligned
        } else {
            return true;
        };
        let place = self.place(space, at);
        self.find(wrong, w, pc, lane, || {
            let accessed = format!("{} of {} at {place}", kind.noun(), counted(bytes, "byte"));
            match wrong {
                Class::Misaligned => {
                    format!("{accessed}: the address is not a multiple of {bytes}")
                }
                _ => accessed,
            }
        });
        false
    }

    /// Returns the lanes whose `bytes` bytes are aligned and in bounds; reports the others.
    pub fn fine_lanes(&mut self, on: &Lanes, bytes: u32, kind: Kind) -> u32 {
        let fine =
            |lane: &usize| self.is_fine(on.w, on.pc, *lane, on.space, on.at[*lane], bytes, kind);
        lanes(on.mask)
            .filter(fine)
            .fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Whether all lanes, including inactive ones, are aligned, in bounds and in one buffer.
    pub fn all_fine(&self, on: &Lanes, bytes: u32, kind: Kind) -> bool {
        let (start, size) = match on.space {
            Space::Const | Space::Param if kind != Kind::Read => return false,
            Space::Cluster => return false,
            Space::Global => match self.grid.global.find(on.at[0], bytes) {
                Found::Inside(i, _) => (Global::address(i), self.grid.global.ranges[i].bytes),
                _ => return false,
            },
            _ => (0, self.size(on.space)),
        };
        let Some(last) = size.checked_sub(bytes.into()) else {
            return false;
        };
        let inside = |at: u64| at.wrapping_sub(start) <= last;
        bytes.is_power_of_two()
            && on.at.iter().fold(0, |all, at| all | at) & u64::from(bytes - 1) == 0
            && on.at.iter().fold(true, |all, &at| all & inside(at))
    }

    fn is_inside(&self, space: Space, at: u64, bytes: u32) -> bool {
        match space {
            Space::Global => matches!(self.grid.global.find(at, bytes), Found::Inside(..)),
            Space::Cluster => {
                let is_block = rank_of(at).is_some_and(|rank| rank < self.cluster.shared.len());
                is_block && self.is_inside(Space::Shared, offset_of(at), bytes)
            }
            _ => at.saturating_add(u64::from(bytes)) <= self.size(space),
        }
    }

    /// Size in bytes of a space other than global memory.
    fn size(&self, space: Space) -> u64 {
        match space {
            Space::Shared | Space::Cluster => u64::from(self.grid.shape.total_smem),
            Space::Local => u64::from(self.grid.kernel.local_bytes),
            Space::Const => self.grid.kernel.constants.len() as u64,
            Space::Param => self.grid.params.len() as u64,
            Space::Global | Space::Generic | Space::Reg => 0,
        }
    }

    /// Describes an address: byte, buffer and size.
    fn place(&self, space: Space, at: u64) -> String {
        if space == Space::Cluster {
            let (rank, blocks) = (rank_of(at).unwrap_or(self.rank), self.cluster.shared.len());
            if rank >= blocks {
                return format!("an address of rank {rank}, in a cluster of {blocks} blocks");
            }
            let (name, size) = (self.memory_name(rank), self.size(space));
            let size = counted(size, "byte");
            return format!("byte {} of {name}, which has {size}", offset_of(at));
        }
        if space == Space::Shared && rank_of(at).is_some_and(|r| r < self.cluster.shared.len()) {
            return "an address of .shared::cluster, which is none of .shared".into();
        }
        if space != Space::Global {
            let (name, size) = (name(space), self.size(space));
            let size = counted(size, "byte");
            return format!("byte {} of {name}, which has {size}", distance(at));
        }
        match self.grid.global.place(at) {
            Some((range, offset)) => {
                let Range { name, bytes, .. } = range;
                let bytes = counted(bytes, "byte");
                format!("byte {offset} of {name}, which has {bytes}")
            }
            None if at == 0 => "the null pointer".into(),
            None => format!("{at:#x}, which lies in no buffer"),
        }
    }
}

/// An offset in a 32-bit space; one that wrapped around is negative.
pub fn distance(at: u64) -> i64 {
    match u32::try_from(at) {
        Ok(narrow) => i64::from(narrow as i32),
        Err(_) => at as i64,
    }
}

/// Name of a space in messages.
fn name(space: Space) -> &'static str {
    match space {
        Space::Global => "global memory",
        Space::Shared | Space::Cluster => "shared memory",
        Space::Local => "local memory",
        Space::Const => "constant memory",
        Space::Param => "the parameters",
        Space::Generic | Space::Reg => "memory",
    }
}
