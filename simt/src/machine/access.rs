//! Loads, stores, atomic updates and asynchronous copies.

use std::sync::atomic::Ordering::Relaxed;

use crate::alu::D;
use crate::ast::Space;
use crate::code::{Address, Atomic, Op, Reg, Slot};
use crate::report::Class;

use super::atomics::update;
use super::block::Block;
use super::coalesce::{ideal_sectors, ideal_wavefronts, lanes, sectors, wavefronts};
use super::global::{Found, byte_mask};
use super::race::Record;
use super::shadow::{Access, Cell, Conflict};
use super::shared::State;
use super::warp::Copy;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Update,
}

impl Kind {
    fn noun(self) -> &'static str {
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

    /// Whether an access is aligned and inside; what is wrong is a finding.
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
        let size = match space {
            Space::Global => None,
            Space::Shared => Some(self.shared.bytes.len() as u64),
            Space::Local => Some(u64::from(self.grid.kernel.local_bytes)),
            Space::Const => Some(self.grid.kernel.constants.len() as u64),
            Space::Param => Some(self.grid.params.len() as u64),
            Space::Generic | Space::Reg => Some(0),
        };
        let noun = kind.noun();
        if kind != Kind::Read && matches!(space, Space::Const | Space::Param) {
            self.find(Class::ReadOnly, w, pc, lane, || {
                format!("{noun} of {bytes} bytes at {at:#x} of {}", name(space))
            });
            return false;
        }
        let beyond = match size {
            Some(size) if at.saturating_add(u64::from(bytes)) <= size => None,
            Some(size) => Some(format!("{}, which has {size} bytes", name(space))),
            None => match self.grid.global.find(at, bytes) {
                Found::Inside(..) => None,
                Found::Beyond(i, _) => {
                    let range = &self.grid.global.ranges[i];
                    Some(format!("{}, which has {} bytes", range.name, range.bytes))
                }
                Found::Nowhere => Some("memory that is no buffer".into()),
            },
        };
        if let Some(of) = beyond {
            let shown = match self.grid.global.find(at, bytes) {
                Found::Beyond(_, offset) if space == Space::Global => signed(offset, 36),
                _ if space == Space::Global => format!("{at:#x}"),
                _ => signed(at, 32),
            };
            self.find(Class::OutOfBounds, w, pc, lane, || {
                format!("{noun} of {bytes} bytes at byte {shown} of {of}")
            });
            return false;
        }
        if !at.is_multiple_of(u64::from(bytes)) {
            self.find(Class::Misaligned, w, pc, lane, || {
                format!(
                    "{noun} of {bytes} bytes at {at:#x} of {}, which is no multiple of {bytes}",
                    name(space)
                )
            });
            return false;
        }
        true
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

    fn read_shared(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: usize,
        bytes: u32,
        strong: bool,
    ) -> u64 {
        match self.shared.state(at, bytes) {
            State::Written => {}
            State::Empty => self.find(Class::Uninitialised, w, pc, lane, || {
                format!("read of {bytes} bytes of shared memory at {at:#x}, which were never written")
            }),
            State::InFlight => self.find(Class::Race, w, pc, lane, || {
                format!("read of {bytes} bytes of shared memory at {at:#x}, to which an asynchronous copy is still on its way")
            }),
        }
        self.race_shared(w, pc, lane, at, bytes, strong, None);
        self.shared.load(at, bytes)
    }

    #[allow(clippy::too_many_arguments)]
    pub fn write_shared(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: usize,
        bytes: u32,
        value: u64,
        strong: bool,
    ) {
        self.race_shared(w, pc, lane, at, bytes, strong, Some(value));
        self.shared.store(at, bytes, value);
    }

    /// Tells the shadow of shared memory, and a conflict to the report.
    #[allow(clippy::too_many_arguments)]
    fn race_shared(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: usize,
        bytes: u32,
        strong: bool,
        value: Option<u64>,
    ) {
        if !self.grid.options.races {
            return;
        }
        let stamp = self.stamp(w, lane);
        let mut conflict = None;
        for word in (at / 4 * 4..at + bytes as usize).step_by(4) {
            let first = word.max(at);
            let last = (word + 4).min(at + bytes as usize);
            let access = Access {
                stamp,
                pc,
                bytes: byte_mask(first as u64, (last - first) as u32),
                strong,
                known: &self.warps[w].known,
                acquired: &self.acquired,
            };
            conflict = conflict.or(self.shared.access(first, &access, value.is_some()));
        }
        let Some(conflict) = conflict else { return };
        // Two lanes that write the same value with one instruction: whichever wins, it is the same.
        let same = |v| self.shared.load(at, bytes) == v;
        if conflict.wrote && conflict.pc == pc && value.is_some_and(same) {
            return;
        }
        self.report_race(
            w,
            pc,
            lane,
            value.is_some(),
            conflict,
            &format!("shared memory at {at:#x}"),
        );
    }

    fn report_race(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        wrote: bool,
        conflict: Conflict,
        at: &str,
    ) {
        let Conflict {
            other,
            pc: other_pc,
            wrote: other_wrote,
        } = conflict;
        let verb = |wrote| if wrote { "write" } else { "read" };
        let (x, y) = (self.grid.shape.grid[0], self.grid.shape.grid[1]);
        let block = [other.block % x, other.block / x % y, other.block / (x * y)];
        let thread = super::super::report::Thread {
            block,
            ..self.thread(other.warp as usize, other.lane as usize)
        };
        let place = self.grid.kernel.code[other_pc as usize].place.clone();
        self.find(Class::Race, w, pc, lane, || {
            format!(
                "{} of {at} and the {} by {thread} in {place}: nothing puts them in order",
                verb(wrote),
                verb(other_wrote)
            )
        });
    }

    fn read_global(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: u64,
        bytes: u32,
        strong: bool,
    ) -> u64 {
        let global = &self.grid.global;
        let Found::Inside(i, offset) = global.find(at, bytes) else {
            return 0;
        };
        if strong {
            global_acquire(self, at);
        }
        let range = &self.grid.global.ranges[i];
        let mut value = 0;
        let mut written = true;
        for part in (0..u64::from(bytes)).step_by(4) {
            let n = bytes.min(4);
            written &= range.is_written(offset + part, n);
            value |= u64::from(range.load(offset + part, n)) << (8 * part);
        }
        if !written {
            self.find(Class::Uninitialised, w, pc, lane, || {
                format!(
                    "read of {bytes} bytes at byte {offset} of {}, which were never written",
                    range.name
                )
            });
        }
        self.race_global(w, pc, lane, (i, offset, bytes), strong, None);
        value
    }

    #[allow(clippy::too_many_arguments)]
    fn write_global(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: u64,
        bytes: u32,
        value: u64,
        strong: bool,
    ) {
        let Found::Inside(i, offset) = self.grid.global.find(at, bytes) else {
            return;
        };
        if strong {
            global_publish(self, w, at);
        }
        self.race_global(w, pc, lane, (i, offset, bytes), strong, Some(value));
        let range = &self.grid.global.ranges[i];
        for part in (0..u64::from(bytes)).step_by(4) {
            range.store(offset + part, bytes.min(4), (value >> (8 * part)) as u32);
        }
    }

    /// Tells the shadow of global memory, and a conflict to the report.
    fn race_global(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        (i, offset, bytes): (usize, u64, u32),
        strong: bool,
        value: Option<u64>,
    ) {
        if !self.grid.options.races {
            return;
        }
        let stamp = self.stamp(w, lane);
        let range = &self.grid.global.ranges[i];
        let mut found = None;
        for part in (0..u64::from(bytes)).step_by(4) {
            let at = offset + part;
            let access = Access {
                stamp,
                pc,
                bytes: byte_mask(at, bytes.min(4)),
                strong,
                known: &self.warps[w].known,
                acquired: &self.acquired,
            };
            let word = (at / 4) as usize;
            let mut cell = Cell {
                writer: Record(range.writers[word].load(Relaxed)),
                reader: Record(range.readers[word].load(Relaxed)),
                writer_pc: range.writer_pcs[word].load(Relaxed),
                reader_pc: range.reader_pcs[word].load(Relaxed),
                reader_warps: range.reader_warps[word].load(Relaxed),
            };
            let conflict = match value {
                Some(_) => cell.write(&access),
                None => cell.read(&access),
            };
            range.writers[word].store(cell.writer.0, Relaxed);
            range.readers[word].store(cell.reader.0, Relaxed);
            range.writer_pcs[word].store(cell.writer_pc, Relaxed);
            range.reader_pcs[word].store(cell.reader_pc, Relaxed);
            range.reader_warps[word].store(cell.reader_warps, Relaxed);
            found = found.or(conflict.map(|c| (c, at, access.bytes)));
        }
        let Some((conflict, at, _)) = found else {
            return;
        };
        let old = range.load(at, bytes.min(4));
        let same =
            |v: u64| (v as u32) == old || bytes < 4 && v as u32 & ((1 << (8 * bytes)) - 1) == old;
        if conflict.wrote && conflict.pc == pc && value.is_some_and(same) {
            return;
        }
        let at = format!("byte {at} of {}", range.name);
        self.report_race(w, pc, lane, value.is_some(), conflict, &at);
    }

    /// `atom` and `red`.
    pub fn atomic(&mut self, w: usize, pc: u32, active: u32) {
        let Op::Atomic {
            d,
            atomic,
            at,
            from,
            bytes,
            ordered,
        } = &self.grid.kernel.code[pc as usize].op
        else {
            return;
        };
        self.check_read(w, pc, active, from);
        let operands: Vec<D> = from.iter().map(|s| self.warps[w].wide(*s)).collect();
        let (at, spaces) = self.resolve(w, pc, active, at);
        if *ordered {
            let clock = &mut self.clock;
            self.warps[w].known.fence(w, active, clock);
        }
        let mut old = [0; 32];
        for (space, mask) in spaces {
            for lane in lanes(mask) {
                if !self.is_fine(w, pc, lane, space, at[lane], *bytes, Kind::Update) {
                    continue;
                }
                let operand = |n: usize| operands.get(n).map_or(0, |o: &D| o[lane]);
                let with = (operand(0), operand(1));
                old[lane] = self.update(w, pc, lane, space, at[lane], (*atomic, *bytes), with);
            }
        }
        if let Some(d) = d {
            self.warps[w].set(*d, active, old);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn update(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        space: Space,
        at: u64,
        (atomic, bytes): (Atomic, u32),
        (a, b): (u64, u64),
    ) -> u64 {
        if space != Space::Global {
            let old = self.read(w, pc, lane, space, at, bytes, true);
            let new = update(atomic, old, a, b);
            self.write(w, pc, lane, space, at, bytes, new, true);
            return old;
        }
        let grid = self.grid;
        grid.global.exclusively(at, || {
            let old = self.read(w, pc, lane, space, at, bytes, true);
            let new = update(atomic, old, a, b);
            self.write(w, pc, lane, space, at, bytes, new, true);
            old
        })
    }

    /// `cp.async`.
    pub fn copy_async(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        (to, from): (&Address, &Address),
        bytes: u32,
        size: Option<Reg>,
    ) {
        let (to, _) = self.resolve(w, pc, active, to);
        let (from, _) = self.resolve(w, pc, active, from);
        let sizes = size.map(|r| self.warps[w].words[r as usize]);
        let counts = &mut self.counts[pc as usize];
        counts.shared_store_requests += 1;
        counts.shared_store_wavefronts += wavefronts(&to, active, bytes, false);
        counts.shared_store_ideal += ideal_wavefronts(active, bytes);
        let reads = sizes.map_or(active, |s| {
            lanes(active)
                .filter(|&l| s[l] > 0)
                .fold(0, |m, l| m | 1 << l)
        });
        if reads != 0 {
            counts.global_load_requests += 1;
            counts.global_load_sectors += sectors(&from, reads, bytes);
            counts.global_load_ideal += ideal_sectors(reads, bytes);
        }
        for lane in lanes(active) {
            let size = sizes.map_or(bytes, |s| s[lane].min(bytes));
            let aligned = self.is_fine(w, pc, lane, Space::Shared, to[lane], bytes, Kind::Write);
            let source = from[lane];
            if !aligned || size > 0 && !self.is_fine_copy(w, pc, lane, source, (size, bytes)) {
                continue;
            }
            let mut copied = vec![0; bytes as usize];
            let unit = if size.is_multiple_of(4) { 4 } else { 1 };
            for (i, chunk) in copied[..size as usize].chunks_mut(unit).enumerate() {
                let at = source + (i * unit) as u64;
                let value = self.read(w, pc, lane, Space::Global, at, unit as u32, false);
                chunk.copy_from_slice(&value.to_le_bytes()[..unit]);
            }
            let at = to[lane] as usize;
            self.shared.states[at..at + bytes as usize].fill(State::InFlight);
            self.warps[w].copies.push(Copy {
                lane,
                to: at,
                bytes: copied,
                group: None,
                pc,
            });
        }
    }

    /// The source of a copy: aligned as the copy, inside as far as it is read.
    fn is_fine_copy(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: u64,
        (size, bytes): (u32, u32),
    ) -> bool {
        if !at.is_multiple_of(u64::from(bytes)) {
            return self.is_fine(w, pc, lane, Space::Global, at, bytes, Kind::Read);
        }
        (0..size)
            .all(|i| self.is_fine(w, pc, lane, Space::Global, at + u64::from(i), 1, Kind::Read))
    }

    /// `cp.async.commit_group`.
    pub fn copy_commit(&mut self, w: usize, active: u32) {
        let warp = &mut self.warps[w];
        for copy in &mut warp.copies {
            if active >> copy.lane & 1 != 0 && copy.group.is_none() {
                copy.group = Some(warp.groups[copy.lane]);
            }
        }
        for lane in lanes(active) {
            warp.groups[lane] += 1;
        }
    }

    /// `cp.async.wait_group n`: all but the last n groups are there; `None` for all copies.
    pub fn copy_wait(&mut self, w: usize, active: u32, pending: Option<u32>) {
        let warp = &mut self.warps[w];
        let groups = warp.groups;
        let done = |copy: &Copy| {
            active >> copy.lane & 1 != 0
                && match (copy.group, pending) {
                    (_, None) => true,
                    (Some(group), Some(n)) => group + n < groups[copy.lane],
                    (None, Some(_)) => false,
                }
        };
        let (ready, waiting): (Vec<Copy>, Vec<Copy>) =
            std::mem::take(&mut warp.copies).into_iter().partition(done);
        warp.copies = waiting;
        for copy in ready {
            for (i, chunk) in copy.bytes.chunks(4).enumerate() {
                let value = little_endian(chunk);
                self.write_shared(w, copy.pc, copy.lane, copy.to + 4 * i, 4, value, false);
            }
        }
    }
}

/// Who reads an address by a strong load knows what was published there.
fn global_acquire(block: &mut Block, at: u64) {
    let grid = block.grid;
    grid.board.acquire(at, &mut block.acquired);
}

/// Who writes an address by a strong store publishes what it knew at its last fence.
fn global_publish(block: &Block, w: usize, at: u64) {
    if let Some(known) = &block.warps[w].known.fenced {
        block.grid.board.publish(at, block.number, known);
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    let shifted = bytes
        .iter()
        .enumerate()
        .map(|(i, b)| u64::from(*b) << (8 * i));
    shifted.sum()
}

/// A distance that wrapped around is a negative one.
fn signed(at: u64, bits: u32) -> String {
    match at >> (bits - 1) {
        0 => at.to_string(),
        1 => format!("-{}", (1u64 << bits) - at),
        _ => format!("{}", at as i64),
    }
}

/// A space in words.
fn name(space: Space) -> &'static str {
    match space {
        Space::Global => "global memory",
        Space::Shared => "shared memory",
        Space::Local => "local memory",
        Space::Const => "constant memory",
        Space::Param => "the parameters",
        Space::Generic | Space::Reg => "memory",
    }
}
