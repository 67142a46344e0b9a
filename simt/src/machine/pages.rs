//! The pages of a buffer's shadow, each made when one of its bytes is first accessed.
//!
//! Blocks run on several threads: a page is locked as long as an instruction of a warp visits it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::shadow::{PAGE, Page};

/// Pages that lie side by side in the directory.
const CHUNK: usize = 32;

/// What is known of the bytes of a page.
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

/// All pages of a buffer.
#[derive(Debug)]
pub struct Pages {
    chunks: Vec<OnceLock<Chunk>>,
    /// Whether the host wrote all of the buffer.
    initialised: bool,
    earlier: Earlier,
}

/// A page that this thread alone uses for now.
pub struct Locked<'a>(MutexGuard<'a, Option<Box<Sheet>>>, Bits);

impl Pages {
    /// Of a buffer of this size.
    pub fn new(bytes: usize, initialised: bool, earlier: Earlier) -> Self {
        let chunks = bytes.div_ceil(CHUNK * PAGE);
        Self {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            initialised,
            earlier,
        }
    }

    /// What was written of it so far.
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

    /// Bytes that the shadow takes.
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
    /// What is known of it; made if it is not there yet.
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
    /// Whether all of `bytes` bytes at `at` of the page were written; aligned.
    #[inline]
    pub fn is_written(&self, at: usize, bytes: u32) -> bool {
        let wanted = mask(at, bytes);
        self.written[at / 64] & wanted == wanted
    }

    /// They are.
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
