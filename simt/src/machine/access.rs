//! Loads and stores: state spaces of addresses, and reads and writes of any space.

use std::rc::Rc;

use crate::alu::D;
use crate::ast::Space;
use crate::code::{Address, Slot};

use super::block::Block;
use super::cluster::{offset_of, rank_of};
use super::coalesce::{self, Group, lanes};

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Update,
}

impl Kind {
    /// Describes an access of this kind.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Update => "atomic update",
        }
    }
}

/// The lanes of an instruction that access one space.
#[derive(Debug, Clone, Copy)]
pub struct Lanes<'a> {
    /// Warp of the block.
    pub w: usize,
    /// The instruction.
    pub pc: u32,
    /// The lanes, one bit each.
    pub mask: u32,
    /// The state space.
    pub space: Space,
    /// Offset of each lane's first byte; equal for all lanes of a group.
    pub at: &'a D,
    /// The lanes by their addresses.
    pub groups: &'a [Group],
    /// Whether it is an atomic or other strong access.
    pub strong: bool,
}

impl<'a> Lanes<'a> {
    /// A single lane, that of `group`; `at` holds its address in every element.
    pub fn one(w: usize, pc: u32, space: Space, at: &'a D, group: &'a Group, strong: bool) -> Self {
        Self {
            w,
            pc,
            mask: group.mask,
            space,
            at,
            groups: std::slice::from_ref(group),
            strong,
        }
    }
}

/// Lanes by the space of their addresses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spaces([u32; SPACES.len()]);

const SPACES: [Space; 6] = [
    Space::Global,
    Space::Shared,
    Space::Cluster,
    Space::Local,
    Space::Const,
    Space::Param,
];

impl Spaces {
    fn add(&mut self, space: Space, mask: u32) {
        for (known, lanes) in SPACES.iter().zip(&mut self.0) {
            if *known == space {
                *lanes |= mask;
            }
        }
    }

    /// That of one lane.
    pub fn of(self, lane: usize) -> Space {
        let all = SPACES.iter().zip(self.0);
        let own = all.into_iter().find(|(_, mask)| mask >> lane & 1 != 0);
        own.map_or(Space::Generic, |(space, _)| *space)
    }

    /// Those with a lane.
    pub fn iter(self) -> impl Iterator<Item = (Space, u32)> {
        let all = SPACES.into_iter().zip(self.0);
        all.filter(|&(_, mask)| mask != 0)
    }
}

impl Block<'_> {
    /// Returns the active lanes' addresses, and for each space its lanes. Inactive lanes get the address of
    /// an active one.
    pub fn resolve(&mut self, w: usize, pc: u32, active: u32, address: &Address) -> (D, Spaces) {
        if let Some(base) = address.base {
            self.check_read(w, pc, active, &[base]);
        }
        let offset = address.offset as u64;
        let warp = &self.warps[w];
        let mut at = match address.base {
            Some(Slot::Double(r)) => warp.doubles[r as usize].map(|b| b.wrapping_add(offset)),
            Some(Slot::Word(r)) => {
                warp.words[r as usize].map(|b| b.wrapping_add(offset as u32).into())
            }
            None => [offset; 32],
        };
        if active != !0 && active != 0 {
            let any = at[active.trailing_zeros() as usize];
            for (lane, at) in at.iter_mut().enumerate() {
                *at = if active >> lane & 1 != 0 { *at } else { any };
            }
        }
        let mut spaces = Spaces::default();
        if !matches!(address.space, Space::Generic | Space::Cluster) {
            spaces.add(address.space, active);
        } else {
            for lane in lanes(active) {
                let (mut space, mut offset) = match address.space {
                    Space::Generic => Self::space_of(at[lane]),
                    named => (named, at[lane]),
                };
                if matches!(space, Space::Shared | Space::Cluster) {
                    let is_own = rank_of(offset).is_none_or(|rank| rank == self.rank);
                    space = if is_own {
                        Space::Shared
                    } else {
                        Space::Cluster
                    };
                    offset = if is_own { offset_of(offset) } else { offset };
                }
                at[lane] = offset;
                spaces.add(space, 1 << lane);
            }
        }
        if self.recording {
            for (space, mask) in spaces.iter() {
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
        let how = (bytes, signed, strong);
        match d.len() {
            1 => self.load_elements::<1>(w, pc, active, d, how, from),
            2 => self.load_elements::<2>(w, pc, active, d, how, from),
            4 => self.load_elements::<4>(w, pc, active, d, how, from),
            _ => self.load_elements::<8>(w, pc, active, d, how, from),
        }
    }

    fn load_elements<const N: usize>(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        d: &[Option<Slot>],
        (bytes, signed, strong): (u32, bool, bool),
        from: &Address,
    ) {
        let whole = bytes * N as u32;
        let (at, spaces) = self.resolve(w, pc, active, from);
        let mut values = [[0u64; 32]; N];
        for (space, mask) in spaces.iter() {
            let mut on = Lanes {
                w,
                pc,
                mask,
                space,
                at: &at,
                groups: &[],
                strong,
            };
            let groups = self.admit(&mut on, whole, Kind::Read);
            on.groups = &groups;
            let read = self.read_lanes::<N>(on, bytes);
            merge(&mut values, &read, mask);
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
        for (space, mask) in spaces.iter() {
            let mut on = Lanes {
                w,
                pc,
                mask,
                space,
                at: &at,
                groups: &[],
                strong,
            };
            let groups = self.admit(&mut on, whole, Kind::Write);
            on.groups = &groups;
            for (k, slot) in (0..).zip(from) {
                let at = at.map(|at| at + k * u64::from(bytes));
                let value = self.warps[w].wide(*slot);
                self.write_lanes(Lanes { at: &at, ..on }, bytes, &value);
            }
        }
    }

    /// Counts an access of `bytes` bytes per lane and reports defects. The remaining lanes go on and are
    /// returned grouped by address.
    pub fn admit(&mut self, on: &mut Lanes, bytes: u32, kind: Kind) -> Rc<[Group]> {
        let groups = self.count(on, bytes, kind == Kind::Read);
        if self.all_fine(on, bytes, kind) {
            return groups;
        }
        on.mask = self.fine_lanes(on, bytes, kind);
        coalesce::groups(on.at, on.mask).into()
    }

    /// Reads `N` adjacent elements of `bytes` bytes per lane; the addresses are in bounds and aligned.
    pub fn read_lanes<const N: usize>(&mut self, on: Lanes, bytes: u32) -> [D; N] {
        match on.space {
            Space::Global => self.read_global(on, bytes),
            Space::Shared => self.read_shared(on, bytes),
            Space::Cluster => self.read_cluster(on, bytes),
            _ => {
                let mut values = [[0; 32]; N];
                for lane in lanes(on.mask) {
                    for (k, value) in (0..).zip(&mut values) {
                        let at = on.at[lane] + k * u64::from(bytes);
                        value[lane] = self.read_own(&on, lane, at as usize, bytes as usize);
                    }
                }
                values
            }
        }
    }

    /// Writes one element per lane; the addresses are in bounds and aligned.
    pub fn write_lanes(&mut self, on: Lanes, bytes: u32, value: &D) {
        match on.space {
            Space::Global => self.write_global(on, bytes, value),
            Space::Shared => self.write_shared(on, bytes, value),
            Space::Cluster => self.write_cluster(on, bytes, value),
            Space::Local => self.write_local(on, bytes as usize, value),
            _ => {}
        }
    }

    /// Reads one lane's element; the address is in bounds and aligned.
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
        let (at, group) = ([at; 32], Group::one(lane));
        let on = Lanes::one(w, pc, space, &at, &group, strong);
        self.read_lanes::<1>(on, bytes)[0][lane]
    }

    /// Writes one lane's element; the address is in bounds and aligned.
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
        let (at, group) = ([at; 32], Group::one(lane));
        let on = Lanes::one(w, pc, space, &at, &group, strong);
        self.write_lanes(on, bytes, &[value; 32]);
    }
}

/// Replaces the lanes of `mask` by the values of `other`.
pub fn merge<const N: usize>(values: &mut [D; N], other: &[D; N], mask: u32) {
    if mask == !0 {
        *values = *other;
        return;
    }
    for (value, other) in values.iter_mut().zip(other) {
        for lane in lanes(mask) {
            value[lane] = other[lane];
        }
    }
}
