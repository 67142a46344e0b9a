// Occupancy: how many blocks of a kernel an SM holds at once, and how many warps these are.
//
// Sources: the CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability",
// and `cuda_occupancy.h` of the CUDA Toolkit.

/// Limits of an SM.
#[derive(Debug, Clone, Copy)]
pub struct Sm {
    pub warps: usize,
    pub blocks: usize,
    /// Registers of 32 bits, an equal share of them in each partition.
    pub registers: usize,
    /// Partitions, each with a scheduler and its own registers.
    pub partitions: usize,
    /// A warp gets a multiple of this many registers.
    pub register_unit: usize,
    /// Bytes of shared memory.
    pub shared: usize,
    /// Bytes of shared memory that a block may ask for at most.
    pub shared_per_block: usize,
    /// Bytes of shared memory that the driver takes for each block, in addition to its own.
    pub shared_reserved: usize,
    /// A block gets a multiple of this many bytes.
    pub shared_unit: usize,
}

/// Compute capability 9.0, such as an H100 or H200.
pub const HOPPER: Sm = Sm {
    warps: 64,
    blocks: 32,
    registers: 65536,
    partitions: 4,
    register_unit: 256,
    shared: 228 * 1024,
    shared_per_block: 227 * 1024,
    shared_reserved: 1024,
    shared_unit: 128,
};

/// Resources of a block.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Threads, from 1 to 1024.
    pub threads: usize,
    /// Registers per thread, from 1 to 255.
    pub registers: usize,
    /// Bytes of shared memory, static and dynamic together.
    pub shared: usize,
}

/// Number of warps of a block. A warp that is not full takes the place of a full one.
pub fn warps(block: Block) -> usize {
    block.threads.div_ceil(32)
}

/// Number of blocks for which the registers suffice.
pub fn blocks_by_registers(sm: Sm, block: Block) -> usize {
    // REGION: registers
    //|     // A warp lies in one partition, with all its registers. The warps of a block may lie in
    //|     // different ones. How many warps fit into one partition?
    //|     sm.registers / (block.registers * block.threads)
    let of_warp = (32 * block.registers).next_multiple_of(sm.register_unit);
    let in_partition = sm.registers / sm.partitions / of_warp;
    sm.partitions * in_partition / warps(block)
    // END
}

/// Number of blocks for which the shared memory suffices; `usize::MAX` if a block takes none, and 0
/// if it asks for too much.
pub fn blocks_by_shared_memory(sm: Sm, block: Block) -> usize {
    // REGION: shared
    //|     sm.shared / block.shared.max(1)
    if block.shared > sm.shared_per_block {
        return 0;
    }
    let taken = (block.shared + sm.shared_reserved).next_multiple_of(sm.shared_unit);
    sm.shared.checked_div(taken).unwrap_or(usize::MAX)
    // END
}

/// Number of blocks that an SM holds at once; 0 if the kernel cannot be launched.
pub fn resident_blocks(sm: Sm, block: Block) -> usize {
    // REGION: resident
    //|     blocks_by_registers(sm, block).min(blocks_by_shared_memory(sm, block))
    let by_memory = blocks_by_registers(sm, block).min(blocks_by_shared_memory(sm, block));
    by_memory.min(sm.warps / warps(block)).min(sm.blocks)
    // END
}

/// Occupancy: resident warps as a share of those that an SM has places for.
pub fn occupancy(sm: Sm, block: Block) -> f64 {
    // REGION: occupancy
    //|     resident_blocks(sm, block) as f64 / sm.blocks as f64
    let resident = resident_blocks(sm, block) * warps(block);
    resident as f64 / sm.warps as f64
    // END
}
