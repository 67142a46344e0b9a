//! What an instruction does, and the parts of which that is said.

use super::{
    Address, Atomic, CarryOp, Logic, Mbarrier, Mma, Reg, Scope, Shuffle, Slot, Vote, WmmaMemory,
};
use crate::alu::{Alu, Compare};

/// What an instruction does. Registers that are written come first.
#[derive(Debug, Clone)]
pub enum Op {
    /// A function of registers, lane by lane: see [`Alu`] for how many there are and of which file.
    Alu {
        /// The function.
        alu: Alu,
        /// What it writes.
        d: Slot,
        /// What it reads, as many as it has, in the order of the text.
        from: Vec<Slot>,
        /// Floating-point operations a lane: 0, 1, or 2 for an `fma`; 2, 4 for packed pairs.
        flops: u32,
    },
    /// `add.cc` and the like: d = op(from, carry).
    Carry {
        /// What is done.
        op: CarryOp,
        /// Destination, as wide as the operands.
        d: Slot,
        /// Two operands, or three of a product and a sum.
        from: Vec<Slot>,
        /// The carry flag: a predicate.
        flag: Reg,
        /// Whether the flag is added, or as a borrow subtracted.
        reads: bool,
        /// Whether the flag is written.
        writes: bool,
    },
    /// `setp`: d = (a ∘ b) combined with c; the second destination is the same of the negated comparison.
    Setp {
        /// The comparison.
        compare: Compare,
        /// The destinations; the second is rarely there.
        d: (Option<Reg>, Option<Reg>),
        /// What is compared.
        a: Slot,
        /// With what.
        b: Slot,
        /// `.and`, `.or`, `.xor`, the predicate and whether it is negated.
        combine: Option<(Logic, Reg, bool)>,
    },
    /// `selp`, of either file: d = p ? a : b.
    Selp {
        /// Destination.
        d: Slot,
        /// Where p holds.
        a: Slot,
        /// Where it does not.
        b: Slot,
        /// The predicate.
        p: Reg,
    },
    /// `and.pred` and the like; `mov.pred` is `a and a`. (`not.pred` is a `setp` that always holds, combined
    /// with `.and !a`.)
    Logic {
        /// Which.
        logic: Logic,
        /// Destination.
        d: Reg,
        /// First operand.
        a: Reg,
        /// Second operand.
        b: Reg,
    },
    /// Fills a predicate with a constant.
    PredConstant {
        /// Destination.
        d: Reg,
        /// For all lanes.
        value: bool,
    },
    /// `mov` from `%clock`, `%clock64`, `%globaltimer`: steps of the warp so far.
    Clock {
        /// Destination.
        d: Slot,
    },
    /// `activemask`.
    ActiveMask {
        /// Destination.
        d: Reg,
    },
    /// A load; 1, 2 or 4 destinations side by side in memory. `None` is `_`.
    Load {
        /// Destinations.
        d: Vec<Option<Slot>>,
        /// Bytes of each: 1, 2, 4, 8.
        bytes: u32,
        /// Whether what is narrower than the register is sign-extended.
        signed: bool,
        /// From where.
        from: Address,
        /// `.volatile`, `.relaxed` and stronger: not a plain access.
        strong: bool,
    },
    /// A store.
    Store {
        /// To where.
        to: Address,
        /// What, side by side.
        from: Vec<Slot>,
        /// Bytes of each.
        bytes: u32,
        /// As for a load.
        strong: bool,
        /// `.release`: a fence of this scope comes before it.
        release: Option<Scope>,
    },
    /// `atom` and `red`.
    Atomic {
        /// Destination, if the old value is wanted.
        d: Option<Slot>,
        /// Of the update.
        atomic: Atomic,
        /// Where.
        at: Address,
        /// Operands: one, or two of `cas` (compare, value).
        from: Vec<Slot>,
        /// Bytes: 2, 4, 8.
        bytes: u32,
        /// Whether it is acquire and release besides (`.acq_rel`, `.acquire`, `.release`).
        ordered: bool,
    },
    /// `cp.async`: bytes from global to shared memory; those beyond `size` are zeros.
    CopyAsync {
        /// In shared memory.
        to: Address,
        /// In global memory.
        from: Address,
        /// 4, 8 or 16.
        bytes: u32,
        /// The source size if one is given.
        size: Option<Reg>,
    },
    /// `cp.async.commit_group`.
    CopyCommit,
    /// `cp.async.wait_group n`, `cp.async.wait_all` (`None`).
    CopyWait(Option<u32>),
    /// `shfl.sync`.
    Shuffle {
        /// Destination.
        d: Reg,
        /// Whether the source lane was in range.
        p: Option<Reg>,
        /// Which lane is read.
        mode: Shuffle,
        /// What it holds.
        a: Reg,
        /// The lane, the distance or the mask.
        b: Reg,
        /// Clamp and segment mask.
        c: Reg,
        /// Member mask.
        members: Reg,
    },
    /// `vote.sync`: a word for `ballot`, a predicate for the others.
    Vote {
        /// Which.
        mode: Vote,
        /// Destination of `ballot`.
        word: Option<Reg>,
        /// Destination of the others.
        pred: Option<Reg>,
        /// What is asked.
        a: Reg,
        /// Whether it is negated.
        negated: bool,
        /// Member mask.
        members: Reg,
    },
    /// `match.any.sync`, `match.all.sync`.
    Match {
        /// Whether all have to be equal.
        all: bool,
        /// Destination.
        d: Reg,
        /// Whether all were equal.
        p: Option<Reg>,
        /// What is compared.
        a: Slot,
        /// Member mask.
        members: Reg,
    },
    /// `redux.sync`.
    Redux {
        /// Of two values.
        atomic: Atomic,
        /// Destination.
        d: Reg,
        /// What is reduced.
        a: Reg,
        /// Member mask.
        members: Reg,
    },
    /// `bar.warp.sync`.
    WarpSync {
        /// Member mask.
        members: Reg,
    },
    /// `bar.sync`, `barrier.sync`, `bar.arrive`, `bar.red`.
    Barrier {
        /// Which of 16.
        id: Reg,
        /// Threads that take part; all of the block if none is given.
        threads: Option<Reg>,
        /// Whether it waits.
        wait: bool,
        /// Whether all threads of a warp have to come together: not for `barrier` without `.aligned`.
        aligned: bool,
        /// `bar.red`: what, of which predicate (negated or not), and into which destination: a predicate,
        /// or a word for `popc`.
        reduce: Option<(Vote, Reg, bool, Result<Reg, Reg>)>,
    },
    /// `mapa`: the address of the same byte in another block of the cluster.
    MapAddress {
        /// Destination, as wide as the address.
        d: Slot,
        /// An address of shared memory: of its own space, or a generic one.
        a: Slot,
        /// Rank of the block.
        rank: Reg,
    },
    /// `getctarank`: the rank of the block that an address of shared memory lies in.
    AddressRank {
        /// Destination.
        d: Reg,
        /// As of `mapa`.
        a: Slot,
    },
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// Whether all threads of a warp have to come together.
        aligned: bool,
        /// Whether what the thread did before is ordered; not with `.relaxed`.
        release: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        /// As for an arrival.
        aligned: bool,
    },
    /// `mbarrier`.
    Mbarrier {
        /// Where it lies in shared memory.
        at: Address,
        /// What is done.
        act: Mbarrier,
    },
    /// `cp.async.bulk` from global to shared memory.
    BulkLoad {
        /// In shared memory.
        to: Address,
        /// In global memory.
        from: Address,
        /// How many.
        bytes: Reg,
        /// The mbarrier that counts them when they are there.
        barrier: Address,
    },
    /// `cp.async.bulk` from shared to global memory.
    BulkStore {
        /// In global memory.
        to: Address,
        /// In shared memory.
        from: Address,
        /// How many.
        bytes: Reg,
    },
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
    /// `cp.async.bulk.wait_group n`.
    BulkWait {
        /// How many groups may be in flight.
        groups: u32,
        /// `.read`: whether it is enough that the sources have been read.
        read: bool,
    },
    /// `membar`, `fence`: the scope.
    Fence(Scope),
    /// `ldmatrix`.
    LoadMatrix {
        /// 1, 2 or 4 destinations.
        d: Vec<Reg>,
        /// Whether matrices are transposed.
        transposed: bool,
        /// Where this lane's row begins.
        from: Address,
    },
    /// `stmatrix`.
    StoreMatrix {
        /// Where this lane's row begins.
        to: Address,
        /// 1, 2 or 4 blocks.
        from: Vec<Reg>,
        /// Whether matrices are transposed.
        transposed: bool,
    },
    /// `mma.sync`, `wmma.mma.sync`: d = a·b + c.
    Mma(Box<Mma>),
    /// `wmma.load` and `wmma.store`: rows of a fragment.
    WmmaMemory(Box<WmmaMemory>),
    /// A jump. Without a guard all active lanes go.
    Branch {
        /// Index of the next instruction.
        to: u32,
        /// Where lanes that part here meet again at the latest: the immediate post-dominator; none if they
        /// meet at the end only.
        meet: Option<u32>,
    },
    /// `brx.idx`: a jump by index.
    BranchIndex {
        /// The index.
        index: Reg,
        /// Where it may go.
        to: Vec<u32>,
        /// As for a branch.
        meet: Option<u32>,
    },
    /// `ret` and `exit` of the kernel.
    Exit,
    /// `trap`.
    Trap,
    /// `griddepcontrol.launch_dependents`.
    LaunchDependents,
    /// `griddepcontrol.wait`.
    GridWait,
    /// `brkpt`, `nanosleep`, `prefetch`, `pragma`: nothing that can be seen.
    Nothing,
    /// `call vprintf`: the format's address and the arguments' address (generic), and the destination of
    /// its result.
    Print {
        /// Destination.
        d: Option<Reg>,
        /// Of a text that ends with zero.
        format: Slot,
        /// Of the values, side by side.
        values: Slot,
    },
    /// `call __assertfail`: message, file, line, function.
    AssertFail {
        /// Addresses of texts; the third is the line.
        from: Vec<Slot>,
    },
}
