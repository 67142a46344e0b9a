//! What a launch did: what is wrong with it, and what it cost.

use std::fmt;

use serde::Serialize;

use crate::ast::Space;
use crate::error::Place;

/// The classes of what a kernel can do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// An access outside of what was given.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A read of memory or of a register that nobody wrote.
    Uninitialised,
    /// Two accesses to the same bytes, one of them a write, which nothing puts in order.
    Race,
    /// A barrier that not all of its threads reach together.
    BarrierDivergence,
    /// A member mask that does not name the lanes that execute the instruction.
    WrongMask,
    /// Threads wait for each other, and none can go on.
    Deadlock,
    /// More instructions than allowed.
    Endless,
    /// A write to memory that only can be read.
    ReadOnly,
    /// `trap`, or an assertion that does not hold.
    Trap,
}

impl fmt::Display for Class {
    /// As in JSON: `out-of-bounds`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.serialize(f)
    }
}

/// A thread of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Thread {
    /// Of the grid.
    pub block: [u32; 3],
    /// Of the block.
    pub thread: [u32; 3],
    /// Whether the grid, and whether the block, extends along x alone: then a number is enough.
    #[serde(skip)]
    pub flat: [bool; 2],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let show = |[x, y, z]: [u32; 3], flat| {
            if flat {
                x.to_string()
            } else {
                format!("({x}, {y}, {z})")
            }
        };
        let [grid, block] = self.flat;
        let (thread, block) = (show(self.thread, block), show(self.block, grid));
        write!(f, "thread {thread} of block {block}")
    }
}

/// Something that a kernel does wrong, at one instruction; the first thread that did it, and how many did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind.
    pub class: Class,
    /// Line of the PTX text.
    pub line: u32,
    /// File and line of the source, if the text names them.
    pub source: Option<(String, u32)>,
    /// The instruction, as it is written.
    pub form: String,
    /// The first that did it.
    pub thread: Thread,
    /// What happened, in words: buffer, offset, the other thread.
    pub what: String,
    /// How often, over all threads.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let place = Place {
            line: self.line,
            source: self.source.clone(),
        };
        write!(
            f,
            "{place}: `{}`: {}: {}",
            self.form, self.thread, self.what
        )?;
        match self.count {
            1 => Ok(()),
            n => write!(f, " ({n} times)"),
        }
    }
}

/// What was counted, of an instruction or of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Executions by a warp.
    pub warps: u64,
    /// Executions by a thread whose guard held.
    pub threads: u64,
    /// Branches at which a warp's lanes part.
    pub divergent: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Warp instructions that read global memory with at least one lane.
    pub global_load_requests: u64,
    /// 32-byte sectors that they touch.
    pub global_load_sectors: u64,
    /// The fewest sectors that hold as many bytes.
    pub global_load_ideal: u64,
    /// Warp instructions that write global memory with at least one lane.
    pub global_store_requests: u64,
    /// 32-byte sectors that they touch.
    pub global_store_sectors: u64,
    /// The fewest sectors that hold as many bytes.
    pub global_store_ideal: u64,
    /// Warp instructions that read shared memory with at least one lane.
    pub shared_load_requests: u64,
    /// Passes that their banks need.
    pub shared_load_wavefronts: u64,
    /// The fewest passes.
    pub shared_load_ideal: u64,
    /// Warp instructions that write shared memory with at least one lane.
    pub shared_store_requests: u64,
    /// Passes that their banks need.
    pub shared_store_wavefronts: u64,
    /// The fewest passes.
    pub shared_store_ideal: u64,
    /// Warp instructions that read another block's shared memory with at least one lane.
    pub cluster_load_requests: u64,
    /// Warp instructions that write another block's shared memory with at least one lane.
    pub cluster_store_requests: u64,
}

impl Counts {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.warps += other.warps;
        self.threads += other.threads;
        self.divergent += other.divergent;
        self.flops += other.flops;
        self.global_load_requests += other.global_load_requests;
        self.global_load_sectors += other.global_load_sectors;
        self.global_load_ideal += other.global_load_ideal;
        self.global_store_requests += other.global_store_requests;
        self.global_store_sectors += other.global_store_sectors;
        self.global_store_ideal += other.global_store_ideal;
        self.shared_load_requests += other.shared_load_requests;
        self.shared_load_wavefronts += other.shared_load_wavefronts;
        self.shared_load_ideal += other.shared_load_ideal;
        self.shared_store_requests += other.shared_store_requests;
        self.shared_store_wavefronts += other.shared_store_wavefronts;
        self.shared_store_ideal += other.shared_store_ideal;
        self.cluster_load_requests += other.cluster_load_requests;
        self.cluster_store_requests += other.cluster_store_requests;
    }
}

/// The counts of the instructions of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Of the PTX text.
    pub line: u32,
    /// Of the source.
    pub source: Option<(String, u32)>,
    /// The instruction.
    pub form: String,
    /// What it cost.
    #[serde(flatten)]
    pub counts: Counts,
}

/// An instruction that a watched warp executed: see [`crate::Watch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Of the PTX text.
    pub line: u32,
    /// Of the source.
    pub source: Option<(String, u32)>,
    /// The instruction.
    pub form: String,
    /// The lanes that execute it, a bit each: lane 0 the lowest. Lanes whose guard does not hold are not
    /// among them.
    pub active: u32,
    /// Where it reads and writes, if it accesses memory. A copy has two: to where, and from where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<Access>,
}

/// The addresses of those lanes of a step that access one buffer, or one space that has no buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Access {
    /// Which space; of a generic address the one that it lies in.
    pub space: Space,
    /// In global memory the buffer; none for an address that lies in no buffer.
    pub buffer: Option<String>,
    /// Which lanes, a bit each.
    pub lanes: u32,
    /// Their first byte, lane by lane, from the start of the buffer or the space; the whole address if it
    /// lies in no buffer.
    pub offsets: Vec<i64>,
}

/// What came of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The kernel.
    pub entry: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// What is wrong, in the order of the text.
    pub findings: Vec<Finding>,
    /// Over all instructions.
    pub total: Counts,
    /// Instruction by instruction, those that were executed.
    pub lines: Vec<Line>,
    /// What `printf` wrote.
    pub printed: String,
    /// What the watched warp did, from its first instruction: see [`crate::Options::trace`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Step>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}
