//! Shared memory of a block, with the state and the authors of its bytes.

use std::collections::HashMap;

use crate::alu::D;

use super::bulk::{Load, Source};
use super::cluster::Visit;
use super::coalesce::{Group, lanes, pages};
use super::known::Board;
use super::mbarrier::Barrier;
use super::race::Access;
use super::shadow::{Conflicts, PAGE, Page};

/// State of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Unwritten.
    Empty,
    /// It has a value.
    Written,
    /// An asynchronous copy in flight may write it at any time.
    InFlight,
}

/// Bytes, and what is known of each.
#[derive(Default)]
pub struct Memory {
    pub bytes: Vec<u8>,
    pub states: Vec<State>,
}

/// Shared memory.
#[derive(Default)]
pub struct Shared {
    pub memory: Memory,
    /// Knowledge published through it.
    pub board: Board,
    /// Whether the block has exited.
    pub has_exited: bool,
    /// The last access of each warp of another block, by block and warp.
    pub visits: HashMap<(u32, usize), Visit>,
    /// By their first byte.
    pub mbarriers: HashMap<u64, Barrier>,
    /// Bulk copies to it that are in flight.
    pub loads: Vec<Load>,
    /// How many have come to their end.
    pub landed: u32,
    /// Its bytes that bulk copies in flight may still read.
    pub sources: Vec<Source>,
    pages: Vec<Option<Box<Page>>>,
}

impl Memory {
    /// Reads bytes from `at` as an integer; they are in bounds.
    #[inline]
    pub fn load(&self, at: usize, bytes: u32) -> u64 {
        if let (4, Some(word)) = (bytes, self.bytes[at..].first_chunk()) {
            return u32::from_le_bytes(*word).into();
        }
        let of = |i: usize| u64::from(self.bytes[at + i]) << (8 * i);
        (0..bytes as usize).map(of).sum()
    }

    /// Writes bytes from `at`; they are in bounds.
    #[inline]
    pub fn store(&mut self, at: usize, bytes: u32, value: u64) {
        let n = bytes as usize;
        if let (4, Some(word)) = (n, self.bytes[at..].first_chunk_mut()) {
            *word = (value as u32).to_le_bytes();
        } else {
            self.bytes[at..at + n].copy_from_slice(&value.to_le_bytes()[..n]);
        }
        self.states[at..at + n].fill(State::Written);
    }

    /// Returns the first state among these bytes that is not `Written`.
    #[inline]
    pub fn state(&self, at: usize, bytes: u32) -> State {
        let states = &self.states[at..at + bytes as usize];
        if states == [State::Written; 4] {
            return State::Written;
        }
        let other = states.iter().find(|s| **s != State::Written);
        other.copied().unwrap_or(State::Written)
    }

    /// Reads `N` adjacent elements of `bytes` bytes for each lane.
    pub fn read<const N: usize>(&self, at: &D, groups: &[Group], bytes: u32) -> [D; N] {
        let mut values = [[0; 32]; N];
        for group in groups {
            for (k, value) in values.iter_mut().enumerate() {
                let at = at[usize::from(group.lane)] as usize + k * bytes as usize;
                let loaded = self.load(at, bytes);
                lanes(group.mask).for_each(|lane| value[lane] = loaded);
            }
        }
        values
    }

    /// Returns the elements that are not fully `Written`: lane, first byte, and state.
    pub fn unready(
        &self,
        at: &D,
        groups: &[Group],
        (bytes, n): (u32, usize),
    ) -> Vec<(usize, usize, State)> {
        let mut found = vec![];
        for group in groups {
            for k in 0..n {
                let at = at[usize::from(group.lane)] as usize + k * bytes as usize;
                match self.state(at, bytes) {
                    State::Written => {}
                    other => found.extend(lanes(group.mask).map(|lane| (lane, at, other))),
                }
            }
        }
        found
    }
}

impl Shared {
    /// Shared memory of this size in bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            memory: Memory {
                bytes: vec![0xcd; bytes],
                states: vec![State::Empty; bytes],
            },
            pages: (0..bytes.div_ceil(PAGE)).map(|_| None).collect(),
            ..Self::default()
        }
    }

    /// Races of a read of `n` adjacent elements of `bytes` bytes each.
    pub fn read_races(
        &mut self,
        access: &Access,
        at: &D,
        groups: &[Group],
        size: (u32, usize),
    ) -> Conflicts {
        let mut conflicts = vec![];
        for (number, groups) in pages(at, groups) {
            let page = self.pages[number].get_or_insert_default();
            let mut visit = page.visit(access);
            for group in groups {
                visit.read_elements(group, at, size, &mut conflicts);
            }
        }
        conflicts
    }

    /// Writes an element of `bytes` bytes for each lane; if races are checked, in lane order.
    pub fn write(
        &mut self,
        access: Option<&Access>,
        at: &D,
        groups: &[Group],
        bytes: u32,
        value: &D,
    ) -> Conflicts {
        let mut conflicts = vec![];
        for (number, groups) in pages(at, groups) {
            let active = groups.iter().flat_map(|g| lanes(g.mask));
            let Some(access) = access else {
                active.for_each(|lane| self.memory.store(at[lane] as usize, bytes, value[lane]));
                continue;
            };
            let page = self.pages[number].get_or_insert_default();
            let mut visit = page.visit(access);
            for lane in active {
                let (to, value) = (at[lane] as usize, value[lane]);
                let memory = &self.memory;
                let old = |part: u32| memory.load(to + part as usize, bytes.min(4)) as u32;
                let conflict = visit.write(lane, to % PAGE, bytes, value, old);
                conflicts.extend(conflict.map(|(part, c)| (lane, at[lane] + u64::from(part), c)));
                self.memory.store(to, bytes, value);
            }
        }
        conflicts
    }
}
