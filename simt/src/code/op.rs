//! Operations of instructions, and their operands.

use super::{
    Address, Atomic, CarryOp, Logic, Mbarrier, Mma, Reg, Scope, Shuffle, Slot, Vote, WmmaMemory,
};
use crate::alu::{Alu, Compare};

/// The operation of an instruction. Written registers come first.
#[derive(Debug, Clone)]
pub enum Op {
    /// A function of registers, lane by lane; the variant of [`Alu`] tells the operands' number and files.
    Alu {
        /// The function.
        alu: Alu,
        /// Destination.
        d: Slot,
        /// Operands in source order.
        from: Vec<Slot>,
        /// Floating-point operations per lane: 0, 1, or 2 for `fma`; 2 or 4 for packed pairs.
        flops: u32,
    },
    /// `add.cc` and the like: d = op(from, carry).
    Carry {
        /// The operation.
        op: CarryOp,
        /// Destination, as wide as the operands.
        d: Slot,
        /// Two operands, or three for a multiply-add.
        from: Vec<Slot>,
        /// The carry flag: a predicate.
        flag: Reg,
        /// Whether the flag is an input, as a carry or a borrow.
        reads: bool,
        /// Whether the flag is written.
        writes: bool,
    },
    /// `setp`: d = (a ∘ b) combined with c. The second destination gets the negated comparison, combined with
    /// c.
    Setp {
        /// The comparison.
        compare: Compare,
        /// Destinations; the second is rare.
        d: (Option<Reg>, Option<Reg>),
        /// First operand.
        a: Slot,
        /// Second operand.
        b: Slot,
        /// `.and`, `.or` or `.xor`, with a predicate and whether it is negated.
        combine: Option<(Logic, Reg, bool)>,
    },
    /// `selp` of words or doubles: d = p ? a : b.
    Selp {
        /// Destination.
        d: Slot,
        /// Value where p holds.
        a: Slot,
        /// Value where p does not hold.
        b: Slot,
        /// The predicate.
        p: Reg,
    },
    /// `and.pred` and the like; `mov.pred` is `a and a`. (`not.pred` is a comparison that always holds,
    /// combined with `.and !a`.)
    Logic {
        /// The operation.
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
        /// Value for all lanes.
        value: bool,
    },
    /// `mov` from `%clock`, `%clock64` or `%globaltimer`: the warp's steps so far.
    Clock {
        /// Destination.
        d: Slot,
    },
    /// `activemask`.
    ActiveMask {
        /// Destination.
        d: Reg,
    },
    /// A load of 1, 2 or 4 adjacent elements. A destination `None` is `_`.
    Load {
        /// Destinations.
        d: Vec<Option<Slot>>,
        /// Bytes of an element: 1, 2, 4 or 8.
        bytes: u32,
        /// Whether elements narrower than the register are sign-extended.
        signed: bool,
        /// Source address.
        from: Address,
        /// `.volatile`, `.relaxed` and stronger: not a plain access.
        strong: bool,
    },
    /// A store.
    Store {
        /// Destination address.
        to: Address,
        /// Adjacent elements to store.
        from: Vec<Slot>,
        /// Bytes of an element.
        bytes: u32,
        /// `.volatile`, `.relaxed` and stronger: not a plain access.
        strong: bool,
        /// `.release`: a fence of this scope precedes it.
        release: Option<Scope>,
    },
    /// `atom` and `red`.
    Atomic {
        /// Destination of the old value, if it is used.
        d: Option<Slot>,
        /// The update.
        atomic: Atomic,
        /// Address.
        at: Address,
        /// Operands: one, or two for `cas` (compare, value).
        from: Vec<Slot>,
        /// Bytes: 2, 4 or 8.
        bytes: u32,
        /// Whether it is also ordered (`.acq_rel`, `.acquire`, `.release`).
        ordered: bool,
    },
    /// `cp.async`: copies from global to shared memory; bytes beyond `size` are zeros.
    CopyAsync {
        /// Destination, in shared memory.
        to: Address,
        /// Source, in global memory.
        from: Address,
        /// Size in bytes: 4, 8 or 16.
        bytes: u32,
        /// Source size in bytes, if given.
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
        /// Destination: whether the source lane was in range.
        p: Option<Reg>,
        /// How the source lane is found.
        mode: Shuffle,
        /// The value that lanes exchange.
        a: Reg,
        /// The lane, the distance or the mask.
        b: Reg,
        /// Clamp and segment mask.
        c: Reg,
        /// Member mask.
        members: Reg,
    },
    /// `vote.sync`: the result is a word for `ballot`, otherwise a predicate.
    Vote {
        /// The kind of vote.
        mode: Vote,
        /// Destination for `ballot`.
        word: Option<Reg>,
        /// Destination for the other kinds.
        pred: Option<Reg>,
        /// The predicate to vote on.
        a: Reg,
        /// Whether it is negated.
        negated: bool,
        /// Member mask.
        members: Reg,
    },
    /// `match.any.sync`, `match.all.sync`.
    Match {
        /// Whether all values must be equal.
        all: bool,
        /// Destination.
        d: Reg,
        /// Destination: whether all were equal.
        p: Option<Reg>,
        /// The value to compare.
        a: Slot,
        /// Member mask.
        members: Reg,
    },
    /// `redux.sync`.
    Redux {
        /// The operation on two values.
        atomic: Atomic,
        /// Destination.
        d: Reg,
        /// The value to reduce.
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
        /// Number of the barrier, 0 to 15.
        id: Reg,
        /// Number of participating threads; the whole block if absent.
        threads: Option<Reg>,
        /// Whether it waits.
        wait: bool,
        /// Whether all threads of a warp must arrive together; not for `barrier` without `.aligned`.
        aligned: bool,
        /// `bar.red`: the operation, its predicate (with negation), and the destination: a predicate, or a
        /// word for `popc`.
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
        /// The operation.
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
    /// `st.async`: a store to shared memory of the cluster that completes on an mbarrier.
    StoreAsync {
        /// In shared memory.
        to: Address,
        /// Adjacent elements to store.
        from: Vec<Slot>,
        /// Bytes of an element.
        bytes: u32,
        /// The mbarrier that counts the bytes when they are there.
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
        /// Destinations: 1, 2 or 4.
        d: Vec<Reg>,
        /// Whether the matrices are transposed.
        transposed: bool,
        /// Start of this lane's row.
        from: Address,
    },
    /// `stmatrix`.
    StoreMatrix {
        /// Start of this lane's row.
        to: Address,
        /// Sources: 1, 2 or 4.
        from: Vec<Reg>,
        /// Whether the matrices are transposed.
        transposed: bool,
    },
    /// `mma.sync`, `wmma.mma.sync`: d = a·b + c.
    Mma(Box<Mma>),
    /// `wmma.load` or `wmma.store`.
    WmmaMemory(Box<WmmaMemory>),
    /// A branch. Without a guard, all active lanes take it.
    Branch {
        /// Index of the next instruction.
        to: u32,
        /// Where diverging lanes reconverge at the latest: the immediate post-dominator. `None` if that is
        /// the end of the kernel.
        meet: Option<u32>,
    },
    /// `brx.idx`: an indexed branch.
    BranchIndex {
        /// The index.
        index: Reg,
        /// The possible targets.
        to: Vec<u32>,
        /// As for `Branch`.
        meet: Option<u32>,
    },
    /// `ret` or `exit` of the kernel.
    Exit,
    /// `trap`.
    Trap,
    /// `griddepcontrol.launch_dependents`.
    LaunchDependents,
    /// `griddepcontrol.wait`.
    GridWait,
    /// `brkpt`, `nanosleep`, `prefetch`, `pragma`: nothing that can be seen.
    Nothing,
    /// `call vprintf`, with generic addresses of the format and the arguments.
    Print {
        /// Destination of the result.
        d: Option<Reg>,
        /// Address of the zero-terminated format.
        format: Slot,
        /// Address of the arguments, which are adjacent.
        values: Slot,
    },
    /// `call __assertfail`: message, file, line, function.
    AssertFail {
        /// Addresses of the texts; the third operand is the line number.
        from: Vec<Slot>,
    },
}
