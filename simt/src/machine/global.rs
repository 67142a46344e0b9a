//! Global memory: buffers, each in a range of its own.
//!
//! Blocks run on several threads, so a word is an atomic, read and written without any order: as on a GPU,
//! and as cheap as a plain one. Beside it stand a bit a byte for what has been written, and who wrote and
//! read a word last, for races.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use super::shadow::{Access, AtomicCell, Conflict};

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
    /// A bit a byte of the word.
    written: Vec<AtomicU8>,
    /// Who accessed a word last: see `shadow` …
    cells: Vec<AtomicCell>,
    /// … or a byte, once a word of the buffer has been accessed in parts.
    parts: OnceLock<Vec<AtomicCell>>,
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
    pub fn new(buffers: &[Buffer], races: bool) -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
        let ranges = buffers.iter().map(|b| Range::new(b, races)).collect();
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

    /// Runs `update` while no other atomic update of this word does.
    pub fn exclusively<T>(&self, address: u64, update: impl FnOnce() -> T) -> T {
        let stripe = (address / 8) as usize % STRIPES;
        let _guard = self.stripes[stripe].lock();
        update()
    }
}

impl Range {
    fn new(buffer: &Buffer, races: bool) -> Self {
        let word = |b: &[u8]| {
            let mut bytes = [0; 4];
            bytes[..b.len()].copy_from_slice(b);
            AtomicU32::new(u32::from_le_bytes(bytes))
        };
        let words: Vec<AtomicU32> = buffer.bytes.chunks(4).map(word).collect();
        let written = if buffer.initialised { 0xf } else { 0 };
        let shadowed = if races { words.len() } else { 0 };
        Self {
            name: buffer.name.clone(),
            bytes: buffer.bytes.len() as u64,
            written: words.iter().map(|_| AtomicU8::new(written)).collect(),
            cells: (0..shadowed).map(|_| AtomicCell::default()).collect(),
            parts: OnceLock::new(),
            words,
        }
    }

    /// 1, 2 or 4 bytes of a word, aligned.
    #[inline]
    pub fn load(&self, offset: u64, bytes: u32) -> u32 {
        let word = self.words[(offset / 4) as usize].load(Relaxed);
        match bytes {
            4 => word,
            2 => (word >> (offset % 4 * 8)) & 0xffff,
            _ => (word >> (offset % 4 * 8)) & 0xff,
        }
    }

    /// The same, written.
    #[inline]
    pub fn store(&self, offset: u64, bytes: u32, value: u32) {
        let index = (offset / 4) as usize;
        if bytes == 4 {
            self.words[index].store(value, Relaxed);
            self.written[index].store(0xf, Relaxed);
            return;
        }
        let shift = (offset % 4 * 8) as u32;
        let mask = ((1u32 << (8 * bytes)) - 1) << shift;
        let merge = |old: u32| Some((old & !mask) | ((value << shift) & mask));
        // The closure always gives a value, so there is no other outcome.
        let _ = self.words[index].fetch_update(Relaxed, Relaxed, merge);
        self.written[index].fetch_or(byte_mask(offset, bytes), Relaxed);
    }

    /// Whether all of these bytes of a word were written.
    #[inline]
    pub fn is_written(&self, offset: u64, bytes: u32) -> bool {
        let wanted = byte_mask(offset, bytes);
        self.written[(offset / 4) as usize].load(Relaxed) & wanted == wanted
    }

    /// A read or write of bytes of one word.
    pub fn access(&self, offset: u64, access: &Access, write: bool) -> Option<Conflict> {
        let word = (offset / 4) as usize;
        if access.bytes == 0xf && self.parts.get().is_none() {
            return self.cells[word].touch(access, write);
        }
        let four = |cell: &AtomicCell| [cell.load(); 4].map(AtomicCell::new);
        let parts = self
            .parts
            .get_or_init(|| self.cells.iter().flat_map(four).collect());
        let mut conflict = None;
        for (i, part) in parts[4 * word..4 * word + 4].iter().enumerate() {
            if access.bytes & (1 << i) != 0 {
                conflict = conflict.or(part.touch(access, write));
            }
        }
        conflict
    }

    /// The bytes, for the host.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.words.iter();
        let mut bytes: Vec<u8> = words.flat_map(|w| w.load(Relaxed).to_le_bytes()).collect();
        bytes.truncate(self.bytes as usize);
        bytes
    }
}

/// A bit for each of these bytes of a word.
#[inline]
pub fn byte_mask(offset: u64, bytes: u32) -> u8 {
    (((1u32 << bytes) - 1) << (offset % 4)) as u8
}
