//! The sectors of each buffer that a launch reads and writes: see [`Options::touched`](crate::Options::touched).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::report::{SECTOR, Touched};

/// The sectors of a buffer that have been read and written so far, one bit each.
#[derive(Default)]
pub struct Marks {
    read: Vec<AtomicU64>,
    written: Vec<AtomicU64>,
}

impl Marks {
    /// Marks for a buffer of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        let words = bytes.div_ceil(64 * SECTOR);
        let none = || (0..words).map(|_| AtomicU64::new(0)).collect();
        Self {
            read: none(),
            written: none(),
        }
    }

    /// Marks the sectors from byte `at` on as read.
    pub fn read(&self, at: u64, bytes: u64) {
        mark(&self.read, at, bytes);
    }

    /// Marks the sectors from byte `at` on as written.
    pub fn write(&self, at: u64, bytes: u64) {
        mark(&self.written, at, bytes);
    }

    /// The marks of a launch that has ended.
    pub fn touched(&self) -> Touched {
        let bits = |marks: &[AtomicU64]| marks.iter().map(|word| word.load(Relaxed)).collect();
        Touched::new(bits(&self.read), bits(&self.written))
    }
}

fn mark(marks: &[AtomicU64], at: u64, bytes: u64) {
    for sector in at / SECTOR..(at + bytes).div_ceil(SECTOR) {
        if let Some(word) = marks.get((sector / 64) as usize) {
            word.fetch_or(1 << (sector % 64), Relaxed);
        }
    }
}
