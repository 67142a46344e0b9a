//! Global memory: buffers, each in a range of its own.
//!
//! Blocks run on several threads, so a word is an atomic, read and written without any order: as on a GPU,
//! and as cheap as a plain one. What has been written, and who wrote and read a word last, stands in pages
//! beside them.

use std::iter::repeat_with;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::alu::D;

use super::coalesce::{Group, lanes, pages};
use super::pages::{Earlier, Pages};
use super::race::Access;
use super::shadow::{Conflicts, PAGE};

/// Where buffers begin; below lie the windows of the other spaces.
pub const BASE: u64 = 5 << 40;
/// From a buffer to the next: no index that is wrong lands in the neighbour.
const STRIDE_BITS: u32 = 36;
/// Of the addresses between two buffers half are before the second, half beyond the first.
const BEFORE: u64 = 1 << (STRIDE_BITS - 1);
/// Atomic updates of one word wait for each other, of few others.
const STRIPES: usize = 64;

/// Memory that the host gives to kernels and looks at afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// What it is called in a report.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether the host wrote them: reading what nobody wrote is a finding.
    pub initialised: bool,
}

impl Buffer {
    /// Of these bytes.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            name: name.into(),
            bytes,
            initialised: true,
        }
    }

    /// Of this size, which a kernel has to write before it reads it; filled with 0xff, which is NaN in every
    /// float format.
    pub fn uninitialised(name: impl Into<String>, bytes: usize) -> Self {
        Self {
            name: name.into(),
            bytes: vec![0xff; bytes],
            initialised: false,
        }
    }

    /// Of floats.
    pub fn f32s(name: impl Into<String>, values: &[f32]) -> Self {
        Self::new(name, values.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// Of integers.
    pub fn u32s(name: impl Into<String>, values: &[u32]) -> Self {
        Self::new(name, values.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// As floats; what is left of a last one is left out.
    pub fn to_f32s(&self) -> Vec<f32> {
        self.to_u32s().into_iter().map(f32::from_bits).collect()
    }

    /// As integers.
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
}

/// What is wrong with a read: lanes and bytes.
#[derive(Default)]
pub struct Wrong {
    /// Of what nobody wrote.
    pub unwritten: Vec<(usize, u64)>,
    /// Races.
    pub conflicts: Conflicts,
}

/// All of them.
pub struct Global {
    pub ranges: Vec<Range>,
    stripes: Vec<Mutex<()>>,
}

/// Where an address lies.
pub enum Found {
    /// Buffer and byte in it.
    Inside(usize, u64),
    /// Before or beyond a buffer: its number, and the byte counted from its start.
    Beyond(usize, i64),
    /// In none.
    Nowhere,
}

impl Global {
    /// Takes the buffers' bytes.
    pub fn new<'a>(buffers: impl Iterator<Item = &'a Buffer>, earlier: &[Earlier]) -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
        let earlier = earlier.iter().cloned().chain(repeat_with(Earlier::new));
        let ranges = buffers
            .zip(earlier)
            .map(|(b, earlier)| Range::new(b, earlier));
        let ranges = ranges.collect();
        Self { ranges, stripes }
    }

    /// The address of a buffer's first byte.
    pub fn address(index: usize) -> u64 {
        BASE + ((index as u64) << STRIDE_BITS)
    }

    /// Where `bytes` bytes from `address` lie.
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

    /// The buffer that an address is nearest to, and the byte counted from its start.
    pub fn place(&self, address: u64) -> Option<(&Range, i64)> {
        match self.find(address, 0) {
            Found::Inside(i, offset) => Some((&self.ranges[i], offset as i64)),
            Found::Beyond(i, offset) => Some((&self.ranges[i], offset)),
            Found::Nowhere => None,
        }
    }

    /// Bytes that its shadow takes.
    #[cfg(test)]
    pub fn shadow_bytes(&self) -> usize {
        self.ranges.iter().map(|range| range.pages.bytes()).sum()
    }

    /// Runs `update` while no other atomic update of this word does.
    pub fn exclusively<T>(&self, address: u64, update: impl FnOnce() -> T) -> T {
        let stripe = (address / 8) as usize % STRIPES;
        let _guard = self.stripes[stripe].lock();
        update()
    }
}

impl Range {
    fn new(buffer: &Buffer, earlier: Earlier) -> Self {
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
        }
    }

    /// 1, 2, 4 or 8 bytes, aligned.
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

    /// The same, written.
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
        // The closure always gives a value, so there is no other outcome.
        let _ = self.words[index].fetch_update(Relaxed, Relaxed, merge);
    }

    /// Lanes read `N` elements of `bytes` bytes each, side by side; `access` where races are looked for.
    pub fn read<const N: usize>(
        &self,
        access: Option<&Access>,
        at: &D,
        groups: &[Group],
        bytes: u32,
    ) -> ([D; N], Wrong) {
        let mut values = [[0; 32]; N];
        let mut wrong = Wrong::default();
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

    /// Lanes write an element of `bytes` bytes each, one after the other.
    pub fn write(
        &self,
        access: Option<&Access>,
        at: &D,
        groups: &[Group],
        bytes: u32,
        value: &D,
    ) -> Conflicts {
        let mut conflicts = vec![];
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

    /// What was written of it so far, for the next launch of a row.
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
