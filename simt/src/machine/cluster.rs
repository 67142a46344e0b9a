//! A cluster: blocks that run at the same time and access each other's shared memory.
//!
//! The blocks take turns. What they share passes from one to the next, and each has its own shared memory; an access
//! to another block's puts that in the place of its own for as long as it lasts.

use std::collections::HashMap;

use crate::alu::D;
use crate::code::{RANK_SHIFT, Reg, Slot};
use crate::report::Class;

use super::access::{Lanes, merge};
use super::block::{Block, Grid};
use super::cluster_barrier::Barrier;
use super::coalesce::{groups, lanes, those};
use super::race::Stamp;
use super::shared::Shared;
use super::turns::shuffled;

/// Shared memories and barrier of a cluster's blocks.
#[derive(Default)]
pub struct Cluster {
    /// By rank; that of the block whose turn it is, is in the block.
    pub shared: Vec<Shared>,
    pub barrier: Barrier,
}

/// The last access by a warp of another block to the shared memory of a block.
pub struct Visit {
    pub stamp: Stamp,
    pub pc: u32,
}

/// Rank of the block that an address of `.shared::cluster` names; `None` for the block that executes the access.
pub fn rank_of(at: u64) -> Option<usize> {
    (at >> RANK_SHIFT).checked_sub(1).map(|rank| rank as usize)
}

/// The byte of the block's shared memory.
pub fn offset_of(at: u64) -> u64 {
    at & ((1 << RANK_SHIFT) - 1)
}

/// The blocks of a cluster, in the order of their ranks.
pub fn blocks<'a>(grid: &'a Grid<'a>, cluster: [u32; 3]) -> Vec<Block<'a>> {
    let [x, y, z] = grid.shape.cluster;
    let within = (0..x * y * z).map(|rank| [rank % x, rank / x % y, rank / (x * y)]);
    let id = |at: [u32; 3]| std::array::from_fn(|i| cluster[i] * grid.shape.cluster[i] + at[i]);
    within.map(|at| Block::new(grid, id(at))).collect()
}

/// Runs the blocks of a cluster, which are in the order of their ranks, to their end, or to where none can go on.
pub fn run(blocks: &mut [Block]) {
    let live = blocks.iter().flat_map(|b| &b.warps);
    let mut cluster = Cluster {
        shared: blocks.iter().map(|_| Shared::default()).collect(),
        barrier: Barrier::of(live.map(|w| w.live.count_ones()).sum()),
    };
    for (block, shared) in blocks.iter_mut().zip(&mut cluster.shared) {
        std::mem::swap(&mut block.shared, shared);
    }
    while blocks.iter().any(Block::is_live) {
        let Some(ran) = each(blocks, &mut cluster, Block::turn) else {
            return;
        };
        if !ran && each(blocks, &mut cluster, Block::wake) == Some(false) {
            for block in blocks.iter_mut().filter(|b| b.is_live()) {
                block.in_cluster(&mut cluster, |b| b.deadlock());
            }
            return;
        }
    }
}

/// Gives each block its turn to act: whether any did; `None` if one was ended before its end.
fn each<'a>(
    blocks: &mut [Block<'a>],
    cluster: &mut Cluster,
    act: impl Fn(&mut Block<'a>) -> bool,
) -> Option<bool> {
    let schedule = blocks[0].grid.options.schedule;
    let mut any = false;
    for rank in shuffled(blocks.len(), schedule, &mut blocks[0].random) {
        any |= blocks[rank].in_cluster(cluster, &act);
        if blocks[rank].is_stopped() {
            return None;
        }
    }
    Some(any)
}

impl Block<'_> {
    /// Calls `act` with the state that the blocks of its cluster share.
    fn in_cluster<T>(&mut self, cluster: &mut Cluster, act: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.shared, &mut cluster.shared[self.rank]);
        std::mem::swap(&mut self.cluster, cluster);
        let done = act(self);
        std::mem::swap(&mut self.cluster, cluster);
        std::mem::swap(&mut self.shared, &mut cluster.shared[self.rank]);
        done
    }

    /// The number in the grid of the block of this rank.
    pub fn number_of(&self, rank: usize) -> u32 {
        let shape = &self.grid.shape;
        let [x, y, _] = shape.cluster;
        let rank = rank as u32;
        let within = [rank % x, rank / x % y, rank / (x * y)];
        let [x, y, z] =
            std::array::from_fn(|i| self.id[i] / shape.cluster[i] * shape.cluster[i] + within[i]);
        x + shape.grid[0] * (y + shape.grid[1] * z)
    }

    /// Whether a block of the grid is of this one's cluster.
    pub fn is_peer(&self, number: u32) -> bool {
        let size: u32 = self.grid.shape.cluster.iter().product();
        (0..size as usize).any(|rank| self.number_of(rank) == number)
    }

    /// Whose shared memory an access is to, in words.
    pub fn memory_name(&self, rank: usize) -> String {
        if rank == self.rank {
            return "shared memory".into();
        }
        let block = self.block_name(self.number_of(rank));
        format!("the shared memory of block {block}")
    }

    /// A byte of the shared memory that an access is to, in words.
    pub fn shared_byte(&self, at: u64) -> String {
        let whose = self.memory_name(self.home);
        self.grid.kernel.shared_byte(at, &whose)
    }

    /// `mapa`.
    pub fn map_address(&mut self, w: usize, pc: u32, active: u32, d: Slot, a: Slot, rank: Reg) {
        self.check_read(w, pc, active, &[a, Slot::Word(rank)]);
        let (addresses, ranks) = (self.warps[w].wide(a), self.warps[w].words[rank as usize]);
        let size: u32 = self.grid.shape.cluster.iter().product();
        let mut mapped = [0; 32];
        for lane in lanes(active) {
            let rank = ranks[lane];
            if rank >= size {
                self.find(Class::OutOfBounds, w, pc, lane, || match size {
                    1 => format!("rank {rank}, in a launch without clusters"),
                    _ => format!("rank {rank}, in a cluster of {size} blocks"),
                });
            }
            // An address of the block itself is one of its own shared memory.
            let named = if rank == self.rank as u32 {
                0
            } else {
                u64::from(rank.min(0xfe) + 1) << RANK_SHIFT
            };
            let (window, byte) = (addresses[lane] >> 32 << 32, offset_of(addresses[lane]));
            mapped[lane] = window | named | byte;
        }
        self.warps[w].set(d, active, mapped);
    }

    /// `getctarank`.
    pub fn address_rank(&mut self, w: usize, pc: u32, active: u32, d: Reg, a: Slot) {
        self.check_read(w, pc, active, &[a]);
        let own = self.rank;
        let rank = |at: u64| rank_of(at & u64::from(u32::MAX)).unwrap_or(own) as u32;
        let ranks = self.warps[w].wide(a).map(rank);
        self.warps[w].set_word(d, active, ranks);
    }

    /// Elements that are inside, aligned, of other blocks' shared memory.
    pub fn read_cluster<const N: usize>(&mut self, on: Lanes, bytes: u32) -> [D; N] {
        let mut values = [[0; 32]; N];
        self.at_peers(on, |block, on| {
            let read = block.read_shared::<N>(on, bytes);
            merge(&mut values, &read, on.mask);
        });
        values
    }

    /// The same, written.
    pub fn write_cluster(&mut self, on: Lanes, bytes: u32, value: &D) {
        self.at_peers(on, |block, on| block.write_shared(on, bytes, value));
    }

    /// Does something for the lanes of each block that addresses lie in.
    fn at_peers(&mut self, on: Lanes, mut act: impl FnMut(&mut Self, Lanes)) {
        let mut left = on.mask;
        while left != 0 {
            let rank = rank_of(on.at[left.trailing_zeros() as usize]);
            let here = left & those(on.at, |at| rank_of(at) == rank);
            left &= !here;
            let at = on.at.map(offset_of);
            let groups = &groups(&at, here);
            let on = Lanes {
                mask: here,
                at: &at,
                groups,
                ..on
            };
            self.at_home_of(rank.unwrap_or(self.rank), |block| {
                block.visit(&on);
                act(block, on);
            });
        }
    }

    /// Does something with the shared memory of the block of this rank as if it were this block's.
    pub fn at_home_of<T>(&mut self, rank: usize, act: impl FnOnce(&mut Self) -> T) -> T {
        if rank == self.rank {
            return act(self);
        }
        std::mem::swap(&mut self.shared, &mut self.cluster.shared[rank]);
        let before = std::mem::replace(&mut self.home, rank);
        let done = act(self);
        self.home = before;
        std::mem::swap(&mut self.shared, &mut self.cluster.shared[rank]);
        done
    }

    /// Lanes access the shared memory of another block, which has to be there until then.
    pub fn visit(&mut self, on: &Lanes) {
        let lane = on.mask.trailing_zeros() as usize;
        if self.shared.has_exited {
            let what = leaves_early(&self.memory_name(self.home));
            self.find(Class::Race, on.w, on.pc, lane, || what);
            return;
        }
        let now = self.warps[on.w].known.now[lane];
        let stamp = Stamp {
            block: self.number,
            warp: on.w as u32,
            lane: lane as u32,
            // Who sees what a strong access wrote, knows that access too.
            time: now - u32::from(on.strong),
        };
        let visit = Visit { stamp, pc: on.pc };
        self.shared.visits.insert((self.number, on.w), visit);
    }

    /// All threads of the block have returned, and its shared memory goes: those who access it have to be known to
    /// be done.
    pub fn leave_cluster(&mut self) {
        self.shared.has_exited = true;
        let visits: HashMap<_, _> = std::mem::take(&mut self.shared.visits);
        let is_known = |stamp: Stamp| {
            let mut known = self.warps.iter().map(|w| &w.known.peers);
            known.any(|peers| peers.get(&stamp.block).is_some_and(|k| k.knows(stamp)))
        };
        let mut early: Vec<Visit> = visits
            .into_values()
            .filter(|v| !is_known(v.stamp))
            .collect();
        early.sort_by_key(|v| (v.stamp.block, v.stamp.warp));
        for Visit { stamp, pc } in early {
            let thread = self.thread_of(stamp);
            let whose = format!(
                "the shared memory of block {}",
                self.block_name(self.number)
            );
            self.find_by(Class::Race, thread, pc, || leaves_early(&whose));
        }
    }
}

/// Text of the finding: an access to the memory of a block that may have exited.
fn leaves_early(whose: &str) -> String {
    format!(
        "accesses {whose}, which may have exited by then: no barrier of the cluster keeps that block until this access \
         is done"
    )
}
