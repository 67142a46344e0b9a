//! Global memory: buffers, each in an address range of its own.
//!
//! Blocks run on several threads, so memory consists of atomic words with relaxed loads and stores, which
//! cost as much as plain ones. Shadow pages record which bytes are written and who accessed a word last.

use std::iter::repeat_with;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::alu::D;
use crate::report::Touched;

use super::coalesce::{Group, lanes, pages};
use super::pages::{Earlier, Pages};
use super::race::Access;
use super::shadow::{Conflicts, PAGE};
use super::touched::Marks;

/// Address of the first buffer; the windows of the other spaces lie below.
pub const BASE: u64 = 5 << 40;
/// Distance of buffers, as a power of two: no wrong index reaches the next buffer.
const STRIDE_BITS: u32 = 36;
/// Addresses between two buffers: half count as before the second, half as past the end of the first.
const BEFORE: u64 = 1 << (STRIDE_BITS - 1);
/// Number of locks for atomic updates; updates of the same word, and a few others, share one.
const STRIPES: usize = 64;

/// Memory shared by the host and kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Name in reports.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether the host wrote the bytes; if not, reading them before a write is a finding.
    pub initialised: bool,
}

impl Buffer {
    /// A buffer with these bytes.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            name: name.into(),
            bytes,
            initialised: true,
        }
    }

    /// A buffer of this size that a kernel must write before reading. It is filled with 0xff, which is NaN in
    /// every float type.
    pub fn uninitialised(name: impl Into<String>, bytes: usize) -> Self {
        Self {
            name: name.into(),
            bytes: vec![0xff; bytes],
            initialised: false,
        }
    }

    /// A buffer of floats.
    pub fn f32s(name: impl Into<String>, values: &[f32]) -> Self {
        Self::new(name, values.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// A buffer of integers.
    pub fn u32s(name: impl Into<String>, values: &[u32]) -> Self {
        Self::new(name, values.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// Returns the bytes as floats; trailing bytes are ignored.
    pub fn to_f32s(&self) -> Vec<f32> {
        self.to_u32s().into_iter().map(f32::from_bits).collect()
    }

    /// Returns the bytes as integers; trailing bytes are ignored.
    pub fn to_u32s(&self) -> Vec<u32> {
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        self.bytes.chunks_exact(4).map(word).collect()
    }
}

/// A buffer during a launch.
pub struct Range {
    pub name: String,
    pub bytes: u64,
    words: Vec<AtomicU32>,
    pages: Pages,
    /// The sectors that were accessed, if they are recorded.
    marks: Option<Marks>,
}

/// The defects of a read: lanes and bytes.
#[derive(Default)]
pub struct Wrong {
    /// Reads of unwritten bytes.
    pub unwritten: Vec<(usize, u64)>,
    /// Races.
    pub conflicts: Conflicts,
}

/// All buffers of a launch.
pub struct Global {
    pub ranges: Vec<Range>,
    stripes: Vec<Mutex<()>>,
}

/// The location of an address.
pub enum Found {
    /// In a buffer: its index and the byte.
    Inside(usize, u64),
    /// Before or past a buffer: its index, and the offset from its start.
    Beyond(usize, i64),
    /// In no buffer.
    Nowhere,
}

impl Global {
    /// Takes the buffers' bytes; `touched` says whether the sectors that are accessed are recorded.
    pub fn new<'a>(
        buffers: impl Iterator<Item = &'a Buffer>,
        earlier: &[Earlier],
        touched: bool,
    ) -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
        let earlier = earlier.iter().cloned().chain(repeat_with(Earlier::new));
        let ranges = buffers
            .zip(earlier)
            .map(|(b, earlier)| Range::new(b, earlier, touched));
        let ranges = ranges.collect();
        Self { ranges, stripes }
    }

    /// Address of a buffer's first byte.
    pub fn address(index: usize) -> u64 {
        BASE + ((index as u64) << STRIDE_BITS)
    }

    /// Locates `bytes` bytes from `address` on.
    #[inline]
    pub fn find(&self, address: u64, bytes: u32) -> Found {
        let distance = address.wrapping_sub(BASE - BEFORE);
        let index = (distance >> STRIDE_BITS) as usize;
        let offset = (distance & ((1 << STRIDE_BITS) - 1)).wrapping_sub(BEFORE);
        match self.ranges.get(index) {
            Some(range)
                if offset <= range.bytes.wrapping_sub(bytes.into())
                    && u64::from(bytes) <= range.bytes =>
            {
                Found::Inside(index, offset)
            }
            Some(_) => Found::Beyond(index, offset as i64),
            None => Found::Nowhere,
        }
    }

    /// Returns the nearest buffer to an address, and the offset from its start.
    pub fn place(&self, address: u64) -> Option<(&Range, i64)> {
        match self.find(address, 0) {
            Found::Inside(i, offset) => Some((&self.ranges[i], offset as i64)),
            Found::Beyond(i, offset) => Some((&self.ranges[i], offset)),
            Found::Nowhere => None,
        }
    }

    /// Size of the shadow in bytes.
    #[cfg(test)]
    pub fn shadow_bytes(&self) -> usize {
        self.ranges.iter().map(|range| range.pages.bytes()).sum()
    }

    /// Runs `update` exclusively among the atomic updates of this word.
    pub fn exclusively<T>(&self, address: u64, update: impl FnOnce() -> T) -> T {
        let stripe = (address / 8) as usize % STRIPES;
        let _guard = self.stripes[stripe].lock();
        update()
    }
}

impl Range {
    fn new(buffer: &Buffer, earlier: Earlier, touched: bool) -> Self {
        let word = |b: &[u8]| {
            let mut bytes = [0; 4];
            bytes[..b.len()].copy_from_slice(b);
            AtomicU32::new(u32::from_le_bytes(bytes))
        };
        Self {
            name: buffer.name.clone(),
            bytes: buffer.bytes.len() as u64,
            words: buffer.bytes.chunks(4).map(word).collect(),
            pages: Pages::new(buffer.bytes.len(), buffer.initialised, earlier),
            marks: touched.then(|| Marks::new(buffer.bytes.len() as u64)),
        }
    }

    /// Reads 1, 2, 4 or 8 aligned bytes.
    #[inline]
    pub fn load(&self, offset: u64, bytes: u32) -> u64 {
        let index = (offset / 4) as usize;
        let word = u64::from(self.words[index].load(Relaxed));
        match bytes {
            8 => u64::from(self.words[index + 1].load(Relaxed)) << 32 | word,
            4 => word,
            2 => (word >> (offset % 4 * 8)) & 0xffff,
            _ => (word >> (offset % 4 * 8)) & 0xff,
        }
    }

    /// Writes 1, 2, 4 or 8 aligned bytes.
    #[inline]
    fn store(&self, offset: u64, bytes: u32, value: u64) {
        let index = (offset / 4) as usize;
        if bytes >= 4 {
            self.words[index].store(value as u32, Relaxed);
            if bytes == 8 {
                self.words[index + 1].store((value >> 32) as u32, Relaxed);
            }
            return;
        }
        let shift = (offset % 4 * 8) as u32;
        let mask = ((1u32 << (8 * bytes)) - 1) << shift;
        let merge = |old: u32| Some((old & !mask) | (((value as u32) << shift) & mask));
        // The closure always returns a value, so the update cannot fail.
        let _ = self.words[index].fetch_update(Relaxed, Relaxed, merge);
    }

    /// Reads `N` adjacent elements of `bytes` bytes for each lane; `access` is given if races are checked.
    pub fn read<const N: usize>(
        &self,
        access: Option<&Access>,
        at: &D,
        groups: &[Group],
        bytes: u32,
    ) -> ([D; N], Wrong) {
        let mut values = [[0; 32]; N];
        let mut wrong = Wrong::default();
        if let Some(marks) = &self.marks {
            let first = |group: &Group| at[usize::from(group.lane)];
            let elements = groups.iter().map(first);
            elements.for_each(|at| marks.read(at, N as u64 * u64::from(bytes)));
        }
        for (number, groups) in pages(at, groups) {
            let mut page = self.pages.lock(number);
            let sheet = page.sheet();
            for group in groups {
                for (k, value) in (0..).zip(&mut values) {
                    let at = at[usize::from(group.lane)] + k * u64::from(bytes);
                    let loaded = self.load(at, bytes);
                    lanes(group.mask).for_each(|lane| value[lane] = loaded);
                    if !sheet.is_written(at as usize % PAGE, bytes) {
                        let all = lanes(group.mask).map(|lane| (lane, at));
                        wrong.unwritten.extend(all);
                    }
                }
            }
            let Some(access) = access else { continue };
            let mut visit = sheet.races.visit(access);
            for group in groups {
                visit.read_elements(group, at, (bytes, N), &mut wrong.conflicts);
            }
        }
        (values, wrong)
    }

    /// Writes an element of `bytes` bytes for each lane, in lane order.
    pub fn write(
        &self,
        access: Option<&Access>,
        at: &D,
        groups: &[Group],
        bytes: u32,
        value: &D,
    ) -> Conflicts {
        let mut conflicts = vec![];
        if let Some(marks) = &self.marks {
            let first = |group: &Group| at[usize::from(group.lane)];
            let elements = groups.iter().map(first);
            elements.for_each(|at| marks.write(at, bytes.into()));
        }
        for (number, groups) in pages(at, groups) {
            let mut page = self.pages.lock(number);
            let sheet = page.sheet();
            for group in groups {
                sheet.write(at[usize::from(group.lane)] as usize % PAGE, bytes);
            }
            let active = groups.iter().flat_map(|g| lanes(g.mask));
            let Some(access) = access else {
                active.for_each(|lane| self.store(at[lane], bytes, value[lane]));
                continue;
            };
            let mut visit = sheet.races.visit(access);
            for lane in active {
                let (to, value) = (at[lane], value[lane]);
                let old = |part: u32| self.load(to + u64::from(part), bytes.min(4)) as u32;
                let conflict = visit.write(lane, to as usize % PAGE, bytes, value, old);
                conflicts.extend(conflict.map(|(part, c)| (lane, to + u64::from(part), c)));
                self.store(to, bytes, value);
            }
        }
        conflicts
    }

    /// The sectors that were accessed, if they are recorded.
    pub fn touched(&self) -> Option<Touched> {
        self.marks.as_ref().map(Marks::touched)
    }

    /// Bytes written so far, for the next launch of a sequence.
    pub fn into_written(self) -> Earlier {
        self.pages.written()
    }

    /// The bytes, for the host.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.words.iter();
        let mut bytes: Vec<u8> = words.flat_map(|w| w.load(Relaxed).to_le_bytes()).collect();
        bytes.truncate(self.bytes as usize);
        bytes
    }
}
