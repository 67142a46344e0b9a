//! Shadow pages of a buffer, each allocated at the first access.
//!
//! Blocks run on several threads, so an instruction locks a page while it uses it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::shadow::{PAGE, Page};

/// Pages per chunk of the directory.
const CHUNK: usize = 32;

/// State of a page's bytes.
#[derive(Debug)]
pub struct Sheet {
    /// A bit a byte: whether it has been written.
    written: Bits,
    /// Who accessed it.
    pub races: Page,
}

/// The bytes of a page that were written, a bit each.
type Bits = [u64; PAGE / 64];

/// Those that earlier launches of a row wrote, by page.
pub type Earlier = HashMap<usize, Bits>;

type Chunk = Box<[Mutex<Option<Box<Sheet>>>]>;

/// All shadow pages of a buffer.
#[derive(Debug)]
pub struct Pages {
    chunks: Vec<OnceLock<Chunk>>,
    /// Whether the host wrote the whole buffer.
    initialised: bool,
    earlier: Earlier,
}

/// A page that this thread alone uses for now.
pub struct Locked<'a>(MutexGuard<'a, Option<Box<Sheet>>>, Bits);

impl Pages {
    /// Pages of a buffer of `bytes` bytes.
    pub fn new(bytes: usize, initialised: bool, earlier: Earlier) -> Self {
        let chunks = bytes.div_ceil(CHUNK * PAGE);
        Self {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            initialised,
            earlier,
        }
    }

    /// Returns the bytes written so far.
    pub fn written(mut self) -> Earlier {
        if self.initialised {
            return Earlier::new();
        }
        for (number, chunk) in self.chunks.into_iter().enumerate() {
            let pages = chunk.into_inner().into_iter().flatten().enumerate();
            for (i, page) in pages {
                let page = page.into_inner().unwrap_or_else(PoisonError::into_inner);
                if let Some(sheet) = page {
                    self.earlier.insert(CHUNK * number + i, sheet.written);
                }
            }
        }
        self.earlier
    }

    /// Page `number`.
    pub fn lock(&self, number: usize) -> Locked<'_> {
        let chunk = self.chunks[number / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| Mutex::default()).collect());
        let page = chunk[number % CHUNK].lock();
        let written = match self.earlier.get(&number) {
            Some(written) => *written,
            None => [if self.initialised { !0 } else { 0 }; PAGE / 64],
        };
        Locked(page.unwrap_or_else(PoisonError::into_inner), written)
    }

    /// Size of the shadow in bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        let directory = self.chunks.capacity() * size_of::<OnceLock<Chunk>>();
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        let of_page = |page: &Mutex<Option<Box<Sheet>>>| {
            let page = page.lock().unwrap_or_else(PoisonError::into_inner);
            size_of::<Mutex<Option<Box<Sheet>>>>() + page.as_ref().map_or(0, |p| Sheet::bytes(p))
        };
        directory + chunks.flat_map(|c| c.iter().map(of_page)).sum::<usize>()
    }
}

impl Locked<'_> {
    /// Returns the state of the page, allocated on first use.
    #[inline]
    pub fn sheet(&mut self) -> &mut Sheet {
        let written = self.1;
        self.0.get_or_insert_with(|| {
            Box::new(Sheet {
                written,
                races: Page::default(),
            })
        })
    }
}

impl Sheet {
    /// Whether `bytes` aligned bytes at `at` of the page are written.
    #[inline]
    pub fn is_written(&self, at: usize, bytes: u32) -> bool {
        let wanted = mask(at, bytes);
        self.written[at / 64] & wanted == wanted
    }

    /// Marks them as written.
    #[inline]
    pub fn write(&mut self, at: usize, bytes: u32) {
        self.written[at / 64] |= mask(at, bytes);
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<Page>() + self.races.bytes()
    }
}

#[inline]
fn mask(at: usize, bytes: u32) -> u64 {
    ((1 << bytes) - 1) << (at % 64)
}
