//! Shadow pages of a buffer, each allocated at the first access.
//!
//! Blocks run on several threads, so an instruction locks a page while it uses it.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::shadow::{PAGE, Page};

/// Pages per chunk of the directory.
const CHUNK: usize = 32;

/// State of a page's bytes.
#[derive(Debug)]
pub struct Sheet {
    /// One bit per byte: whether it is written.
    written: [u64; PAGE / 64],
    /// Accesses to the page.
    pub races: Page,
}

type Chunk = Box<[Mutex<Option<Box<Sheet>>>]>;

/// All shadow pages of a buffer.
#[derive(Debug)]
pub struct Pages {
    chunks: Vec<OnceLock<Chunk>>,
    /// Whether the host wrote the whole buffer.
    initialised: bool,
}

/// A page locked by this thread.
pub struct Locked<'a>(MutexGuard<'a, Option<Box<Sheet>>>, bool);

impl Pages {
    /// Shadow pages for a buffer of this size.
    pub fn new(bytes: usize, initialised: bool) -> Self {
        let chunks = bytes.div_ceil(CHUNK * PAGE);
        Self {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            initialised,
        }
    }

    /// Locks page `number`.
    pub fn lock(&self, number: usize) -> Locked<'_> {
        let chunk = self.chunks[number / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| Mutex::default()).collect());
        let page = chunk[number % CHUNK].lock();
        Locked(
            page.unwrap_or_else(PoisonError::into_inner),
            self.initialised,
        )
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
        let written = if self.1 { !0 } else { 0 };
        self.0.get_or_insert_with(|| {
            Box::new(Sheet {
                written: [written; PAGE / 64],
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
