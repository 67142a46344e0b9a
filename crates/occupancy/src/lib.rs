//! Occupancy: how many blocks and warps an SM holds at once, from what one block needs.
//!
//! An SM takes blocks until warp slots, block slots, registers or shared memory run out. So the number of resident
//! blocks is the minimum of four quotients, [`Sm::blocks_by`]. The *occupancy* is the share of the warp slots that
//! these blocks fill. It says how much latency the SM can hide, and nothing of how fast the kernel is.
//!
//! Not counted: clusters, whose blocks need room at the same time, and barriers beyond one per block.
//!
//! Sources: `cuda_occupancy.h` of the CUDA toolkit for the formulas, which `tests/nvidia.rs` compares with it, and
//! the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", for the numbers in [`SMS`].
//!
//! ```
//! use occupancy::{Block, Limit, Sm};
//!
//! let sm = Sm::of(9, 0).unwrap();
//! let block = Block { threads: 256, registers: 64, shared: 49152 };
//! assert_eq!(sm.blocks_by(Limit::Registers, &block), Some(4));
//! assert_eq!(sm.blocks_by(Limit::Shared, &block), Some(4));
//! assert_eq!(sm.resident_warps(&block), 32);
//! ```
#![forbid(unsafe_code)]

mod little;
mod raise;

pub use little::bytes_in_flight;
pub use raise::{Change, Raise};

/// Threads of a warp.
pub const WARP: u32 = 32;
/// Maximum number of threads per block.
pub const MAX_THREADS: u32 = 1024;
/// Maximum number of registers per thread.
pub const MAX_REGISTERS: u32 = 255;

/// 32-bit registers per SM, and the maximum per block.
const REGISTERS: u32 = 65536;
/// Parts of an SM, each with a scheduler and a quarter of the registers.
const PARTS: u32 = 4;
/// A warp's registers are allocated in units of this size.
const REGISTER_UNIT: u32 = 256;

/// Limits of an SM, by compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sm {
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Warp slots.
    pub warps: u32,
    /// Block slots.
    pub blocks: u32,
    /// Bytes of shared memory, if the kernel has the maximum carveout.
    pub shared: u32,
    /// Bytes of shared memory that the driver reserves per block.
    pub reserved: u32,
    /// Shared memory is allocated in units of so many bytes.
    pub shared_unit: u32,
}

const fn sm(capability: (u32, u32), warps: u32, blocks: u32, shared_kib: u32) -> Sm {
    let is_turing = capability.0 == 7;
    Sm {
        capability,
        warps,
        blocks,
        shared: shared_kib << 10,
        reserved: if is_turing { 0 } else { 1 << 10 },
        shared_unit: if is_turing { 256 } else { 128 },
    }
}

/// The compute capabilities that this crate knows, in ascending order.
pub const SMS: [Sm; 7] = [
    sm((7, 5), 32, 16, 64),
    sm((8, 0), 64, 32, 164),
    sm((8, 6), 48, 16, 100),
    sm((8, 9), 48, 24, 100),
    sm((9, 0), 64, 32, 228),
    sm((10, 0), 64, 32, 228),
    sm((12, 0), 48, 24, 100),
];

/// Resources that one block of a launch needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Threads per block, at least 1.
    pub threads: u32,
    /// Registers per thread, as ptxas allocates them.
    pub registers: u32,
    /// Bytes of shared memory, static and dynamic.
    pub shared: u32,
}

impl Block {
    /// Warps per block: ⌈threads / 32⌉.
    pub fn warps(&self) -> u32 {
        self.threads.div_ceil(WARP)
    }

    /// Registers that one warp takes: 32 × registers per thread, rounded up to units of 256.
    pub fn registers_per_warp(&self) -> u32 {
        (WARP * self.registers).next_multiple_of(REGISTER_UNIT)
    }
}

/// A resource that limits the blocks on an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Warp slots.
    Warps,
    /// Block slots.
    Blocks,
    /// The register file.
    Registers,
    /// Shared memory.
    Shared,
}

impl Limit {
    /// All limits.
    pub const ALL: [Self; 4] = [Self::Warps, Self::Blocks, Self::Registers, Self::Shared];
}

impl Sm {
    /// Returns the limits of a compute capability, if they are known.
    pub fn of(major: u32, minor: u32) -> Option<Self> {
        SMS.into_iter().find(|sm| sm.capability == (major, minor))
    }

    /// Maximum bytes of shared memory per block, static and dynamic.
    pub fn shared_per_block(&self) -> u32 {
        self.shared - self.reserved
    }

    /// Bytes of shared memory that a block takes: what it needs and what the driver reserves, rounded up to units.
    pub fn shared_taken(&self, block: &Block) -> u32 {
        (block.shared + self.reserved).next_multiple_of(self.shared_unit)
    }

    /// Amount of a resource that a block takes: warp slots, block slots, registers or bytes.
    pub fn taken(&self, limit: Limit, block: &Block) -> u32 {
        match limit {
            Limit::Warps => block.warps(),
            Limit::Blocks => 1,
            Limit::Registers => block.registers_per_warp() * block.warps(),
            Limit::Shared => self.shared_taken(block),
        }
    }

    /// Amount of a resource that the SM has: warp slots, block slots, registers or bytes.
    pub fn available(&self, limit: Limit) -> u32 {
        match limit {
            Limit::Warps => self.warps,
            Limit::Blocks => self.blocks,
            Limit::Registers => REGISTERS,
            Limit::Shared => self.shared,
        }
    }

    /// Returns how many blocks a resource has room for; `None` if the block takes nothing of it.
    ///
    /// - Warps: ⌊warp slots / warps per block⌋.
    /// - Registers: a warp takes them from its quarter of the SM, so 4 × ⌊16384 / registers per warp⌋ warps fit. A
    ///   launch counts its warps rounded up to a multiple of 4, and fails if these need more than 65536.
    /// - Shared memory: ⌊bytes per SM / bytes that a block takes⌋.
    pub fn blocks_by(&self, limit: Limit, block: &Block) -> Option<u32> {
        match limit {
            Limit::Warps if block.threads > MAX_THREADS => Some(0),
            Limit::Registers => blocks_by_registers(block),
            Limit::Shared if block.shared > self.shared_per_block() => Some(0),
            limit => self.available(limit).checked_div(self.taken(limit, block)),
        }
    }

    /// Returns how many blocks are resident at once: the minimum over all limits. 0 if the launch fails.
    pub fn resident_blocks(&self, block: &Block) -> u32 {
        let by = |limit| self.blocks_by(limit, block);
        Limit::ALL.into_iter().filter_map(by).min().unwrap_or(0)
    }

    /// Returns how many warps are resident at once: blocks × warps per block.
    pub fn resident_warps(&self, block: &Block) -> u32 {
        self.resident_blocks(block) * block.warps()
    }

    /// Returns resident warps / warp slots.
    pub fn occupancy(&self, block: &Block) -> f64 {
        f64::from(self.resident_warps(block)) / f64::from(self.warps)
    }

    /// Returns the resources that allow no block more.
    pub fn limits(&self, block: &Block) -> Vec<Limit> {
        let resident = Some(self.resident_blocks(block));
        let is_limit = |limit: &Limit| self.blocks_by(*limit, block) == resident;
        Limit::ALL.into_iter().filter(is_limit).collect()
    }
}

fn blocks_by_registers(block: &Block) -> Option<u32> {
    let per_warp = block.registers_per_warp();
    let assumed = per_warp * block.warps().next_multiple_of(PARTS);
    if assumed > REGISTERS || block.registers > MAX_REGISTERS {
        return Some(0);
    }
    let warps = PARTS * (REGISTERS / PARTS).checked_div(per_warp)?;
    Some(warps / block.warps())
}
