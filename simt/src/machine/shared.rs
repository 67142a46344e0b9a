//! Shared memory of one block, with what was written and by whom.

use std::collections::HashMap;

use super::shadow::{Access, Cell, Conflict};

/// What is known of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nobody wrote it.
    Empty,
    /// It has a value.
    Written,
    /// An asynchronous copy may write it at any time.
    InFlight,
}

/// Shared memory.
pub struct Shared {
    pub bytes: Vec<u8>,
    pub states: Vec<State>,
    /// A cell a word …
    cells: Vec<Cell>,
    /// … or a cell a byte, where a word is accessed in parts.
    parts: HashMap<u32, [Cell; 4]>,
}

impl Shared {
    /// Of this size.
    pub fn new(bytes: usize) -> Self {
        Self {
            bytes: vec![0xcd; bytes],
            states: vec![State::Empty; bytes],
            cells: vec![Cell::default(); bytes.div_ceil(4)],
            parts: HashMap::new(),
        }
    }

    /// Bytes from `at`, as an integer; they are inside.
    #[inline]
    pub fn load(&self, at: usize, bytes: u32) -> u64 {
        if bytes == 4 {
            let b = &self.bytes[at..at + 4];
            return u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        }
        let of = |i: usize| u64::from(self.bytes[at + i]) << (8 * i);
        (0..bytes as usize).map(of).sum()
    }

    /// The same, written.
    #[inline]
    pub fn store(&mut self, at: usize, bytes: u32, value: u64) {
        let n = bytes as usize;
        self.bytes[at..at + n].copy_from_slice(&value.to_le_bytes()[..n]);
        self.states[at..at + n].fill(State::Written);
    }

    /// The first state among these bytes that is not `Written`.
    #[inline]
    pub fn state(&self, at: usize, bytes: u32) -> State {
        let states = &self.states[at..at + bytes as usize];
        let other = states.iter().find(|s| **s != State::Written);
        other.copied().unwrap_or(State::Written)
    }

    /// A read or write of bytes of one word.
    #[inline]
    pub fn access(&mut self, at: usize, access: &Access, write: bool) -> Option<Conflict> {
        let word = at / 4;
        if access.bytes == 0xf
            && (self.parts.is_empty() || !self.parts.contains_key(&(word as u32)))
        {
            return self.cells[word].touch(access, write);
        }
        let whole = self.cells[word];
        let parts = self.parts.entry(word as u32).or_insert([whole; 4]);
        let mut conflict = None;
        for (i, part) in parts.iter_mut().enumerate() {
            if access.bytes & (1 << i) != 0 {
                conflict = conflict.or(part.touch(access, write));
            }
        }
        conflict
    }
}
