// How the check calls the submission. An SM and a block are sent as lists, in the order of their fields.

use exercise::Calls;
use submission::{Block, HOPPER, Sm, blocks_by_registers, blocks_by_shared_memory, occupancy, resident_blocks};

/// Warps, blocks, registers; partitions, unit of registers; shared memory, per block, reserved, unit.
type Limits = ([usize; 3], (usize, usize), (usize, usize, usize, usize));

fn sm(([warps, blocks, registers], (partitions, register_unit), shared): Limits) -> Sm {
    let (shared, shared_per_block, shared_reserved, shared_unit) = shared;
    Sm {
        warps,
        blocks,
        registers,
        partitions,
        register_unit,
        shared,
        shared_per_block,
        shared_reserved,
        shared_unit,
    }
}

fn block([threads, registers, shared]: [usize; 3]) -> Block {
    Block { threads, registers, shared }
}

pub fn calls(calls: &mut Calls) {
    calls.add("by_registers", |(limits, of): (Limits, [usize; 3])| Ok(blocks_by_registers(sm(limits), block(of))));
    calls.add("by_shared_memory", |(limits, of): (Limits, [usize; 3])| {
        Ok(blocks_by_shared_memory(sm(limits), block(of)))
    });
    calls.add("resident", |(limits, of): (Limits, [usize; 3])| Ok(resident_blocks(sm(limits), block(of))));
    calls.add("occupancy", |(limits, of): (Limits, [usize; 3])| Ok(occupancy(sm(limits), block(of))));
    calls.add("of_hopper", |(of,): ([usize; 3],)| {
        let of = block(of);
        Ok((resident_blocks(HOPPER, of), occupancy(HOPPER, of)))
    });
}
