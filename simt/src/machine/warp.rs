//! A warp: the registers and positions of its 32 lanes.
//!
//! Lanes at the same instruction run together as a *fragment*. A divergent branch splits it, and the parts
//! wait for each other at the reconvergence point, the immediate post-dominator. If no other lane can go on,
//! they stop waiting: lanes make progress independently, as on GPUs since Volta.

use crate::alu::{D, W};
use crate::code::{Kernel, Reg, Slot, Special};

use super::bulk::Store;
use super::known::Known;

/// Lanes at one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Index of the next instruction.
    pub pc: u32,
    /// The lanes, one bit each.
    pub mask: u32,
    /// The next meeting of these lanes.
    pub meet: Option<usize>,
    /// The reason to wait.
    pub state: State,
}

/// The reason why a fragment waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// None; it can run.
    Ready,
    /// Other lanes of the warp, at a `*.sync`; the value is the lanes that must arrive.
    Lanes(u32),
    /// Other warps, at a barrier of the block.
    Barrier(u32),
    /// Other threads, at the barrier of the cluster.
    Cluster,
}

/// A reconvergence point, where the parts of a fragment wait for each other.
#[derive(Debug, Clone)]
pub struct Meet {
    /// Index of the instruction.
    pub pc: u32,
    /// Lanes that must arrive.
    pub expected: u32,
    /// Lanes that have arrived.
    pub arrived: u32,
    /// The enclosing meeting.
    pub parent: Option<usize>,
}

/// An asynchronous copy by one lane.
#[derive(Debug, Clone)]
pub struct Copy {
    pub lane: usize,
    pub to: usize,
    pub bytes: Vec<u8>,
    /// Index of the group; `None` until committed.
    pub group: Option<u32>,
    pub pc: u32,
}

/// A warp of 32 lanes.
pub struct Warp {
    pub index: usize,
    /// Lanes that exist and have not returned.
    pub live: u32,
    /// Lanes that existed at the start.
    pub born: u32,
    pub words: Vec<W>,
    pub words_written: Vec<u32>,
    pub doubles: Vec<D>,
    pub doubles_written: Vec<u32>,
    pub preds: Vec<u32>,
    pub preds_written: Vec<u32>,
    pub fragments: Vec<Fragment>,
    pub meets: Vec<Meet>,
    /// Indices of finished meetings, for reuse.
    pub free: Vec<usize>,
    /// Local memory, lane by lane.
    pub local: Vec<u8>,
    pub local_written: Vec<bool>,
    pub copies: Vec<Copy>,
    /// Number of copy groups that each lane has committed.
    pub groups: [u32; 32],
    /// Bulk copies to global memory.
    pub stores: Vec<Store>,
    /// Groups of those that each lane has committed.
    pub store_groups: [u32; 32],
    pub known: Known,
    /// The phase of the cluster's barrier when each lane arrived there, if it has not waited since.
    pub arrived: [Option<u32>; 32],
    /// Lanes that had not returned when others began to wait for them at an `.aligned` instruction.
    pub awaited: u32,
    /// Lanes after `griddepcontrol.wait`, their own or that of a thread that they synchronised with.
    pub waited: u32,
    /// Meetings at a `*.sync` of lanes that stood at different instructions: who stood where.
    pub mixed: Vec<Vec<(u32, u32)>>,
    pub steps: u64,
    /// Full turns used.
    pub turns: u64,
    /// Whether it made a strong read in this turn; it may be spinning on another lane.
    pub spins: bool,
}

/// Launch properties common to all warps.
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Whether the launch or the kernel gives that size.
    pub explicit: bool,
    pub dynamic_smem: u32,
    pub total_smem: u32,
}

impl Warp {
    /// Warp `index` of a block, before its first instruction.
    pub fn new(kernel: &Kernel, shape: &Shape, block: [u32; 3], index: usize) -> Self {
        let threads = shape.block.iter().product::<u32>();
        let lanes = (threads - 32 * index as u32).min(32);
        let born = (u64::from(u32::MAX) >> (32 - lanes)) as u32;
        let warps = threads.div_ceil(32) as usize;
        let local = 32 * kernel.local_bytes as usize;
        let mut warp = Self {
            index,
            live: born,
            born,
            words: vec![[0; 32]; kernel.words as usize],
            words_written: vec![0; kernel.words as usize],
            doubles: vec![[0; 32]; kernel.doubles as usize],
            doubles_written: vec![0; kernel.doubles as usize],
            preds: vec![0; kernel.preds as usize],
            preds_written: vec![0; kernel.preds as usize],
            fragments: vec![Fragment {
                pc: 0,
                mask: born,
                meet: None,
                state: State::Ready,
            }],
            meets: vec![],
            free: vec![],
            local: vec![0; local],
            local_written: vec![false; local],
            copies: vec![],
            groups: [0; 32],
            stores: vec![],
            store_groups: [0; 32],
            known: Known::new(warps),
            arrived: [None; 32],
            awaited: 0,
            waited: 0,
            mixed: vec![],
            steps: 0,
            turns: 0,
            spins: false,
        };
        for &(r, value) in &kernel.word_constants {
            warp.set_word(r, !0, [value; 32]);
        }
        for &(r, value) in &kernel.double_constants {
            warp.set_double(r, !0, [value; 32]);
        }
        for &(r, special) in &kernel.specials {
            let lanes = std::array::from_fn(|lane| shape.special(special, block, index, lane));
            warp.set_word(r, !0, lanes);
        }
        warp
    }

    /// Writes a word in the lanes of `mask`.
    #[inline]
    pub fn set_word(&mut self, r: Reg, mask: u32, value: W) {
        let r = r as usize;
        self.words_written[r] |= mask;
        if mask == !0 {
            self.words[r] = value;
            return;
        }
        for (lane, (to, from)) in self.words[r].iter_mut().zip(value).enumerate() {
            *to = if mask >> lane & 1 != 0 { from } else { *to };
        }
    }

    /// Writes a double in the lanes of `mask`.
    #[inline]
    pub fn set_double(&mut self, r: Reg, mask: u32, value: D) {
        let r = r as usize;
        self.doubles_written[r] |= mask;
        if mask == !0 {
            self.doubles[r] = value;
            return;
        }
        for (lane, (to, from)) in self.doubles[r].iter_mut().zip(value).enumerate() {
            *to = if mask >> lane & 1 != 0 { from } else { *to };
        }
    }

    /// Writes a predicate in the lanes of `mask`.
    #[inline]
    pub fn set_pred(&mut self, r: Reg, mask: u32, value: u32) {
        let r = r as usize;
        self.preds_written[r] |= mask;
        self.preds[r] = (self.preds[r] & !mask) | (value & mask);
    }

    /// Reads a word or double, widened to doubles.
    #[inline]
    pub fn wide(&self, slot: Slot) -> D {
        match slot {
            Slot::Word(r) => self.words[r as usize].map(u64::from),
            Slot::Double(r) => self.doubles[r as usize],
        }
    }

    /// Writes a word or double; a word takes the low half.
    #[inline]
    pub fn set(&mut self, slot: Slot, mask: u32, value: D) {
        match slot {
            Slot::Word(r) => self.set_word(r, mask, value.map(|x| x as u32)),
            Slot::Double(r) => self.set_double(r, mask, value),
        }
    }

    /// Returns the lanes of `mask` whose register is unwritten.
    #[inline]
    pub fn unwritten(&self, slot: Slot, mask: u32) -> u32 {
        let written = match slot {
            Slot::Word(r) => self.words_written[r as usize],
            Slot::Double(r) => self.doubles_written[r as usize],
        };
        mask & !written
    }
}

impl Shape {
    /// Returns the value of a special register in one lane.
    fn special(&self, special: Special, block: [u32; 3], warp: usize, lane: usize) -> u32 {
        let thread = 32 * warp as u32 + lane as u32;
        let [x, y, _] = self.block;
        let bit = 1u32 << lane;
        match special {
            Special::Tid(0) => thread % x,
            Special::Tid(1) => thread / x % y,
            Special::Tid(_) => thread / (x * y),
            Special::Ntid(i) => self.block[i],
            Special::Ctaid(i) => block[i],
            Special::Nctaid(i) => self.grid[i],
            Special::LaneId => lane as u32,
            Special::WarpId => warp as u32,
            Special::NWarpId => self.block.iter().product::<u32>().div_ceil(32),
            Special::LanemaskEq => bit,
            Special::LanemaskLe => bit | (bit - 1),
            Special::LanemaskLt => bit - 1,
            Special::LanemaskGe => !(bit - 1),
            Special::LanemaskGt => !(bit | (bit - 1)),
            Special::SmId | Special::GridId => 0,
            Special::NSmId => 1,
            Special::DynamicSmemSize => self.dynamic_smem,
            Special::TotalSmemSize => self.total_smem,
            Special::ClusterId(i) => block[i] / self.cluster[i],
            Special::NClusterId(i) => self.grid[i] / self.cluster[i],
            Special::ClusterCtaid(i) => block[i] % self.cluster[i],
            Special::ClusterNctaid(i) => self.cluster[i],
            Special::ClusterCtarank => self.rank(block),
            Special::ClusterNctarank => self.cluster.iter().product(),
            Special::IsExplicitCluster => self.explicit.into(),
        }
    }

    /// The rank of a block in its cluster.
    pub fn rank(&self, block: [u32; 3]) -> u32 {
        let [x, y, z] = std::array::from_fn(|i| block[i] % self.cluster[i]);
        x + self.cluster[0] * (y + self.cluster[1] * z)
    }
}
