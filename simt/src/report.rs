//! Results of a launch: findings and costs.

use std::fmt;

use serde::Serialize;

use crate::ast::Space;
use crate::error::Location;

/// Classes of defects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// An access outside a buffer or a variable.
    OutOfBounds,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// A read of unwritten memory or an unwritten register.
    Uninitialised,
    /// Two unordered accesses to the same bytes, at least one of them a write.
    Race,
    /// A barrier that its threads do not all reach together.
    BarrierDivergence,
    /// A member mask that does not name the lanes that execute the instruction.
    WrongMask,
    /// Threads that wait for each other, so that none can go on.
    Deadlock,
    /// Execution of more instructions than allowed.
    Endless,
    /// A write to read-only memory.
    ReadOnly,
    /// `trap`, or a failed assertion.
    Trap,
}

impl fmt::Display for Class {
    /// Formats as in JSON: `out-of-bounds`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.serialize(f)
    }
}

/// A thread of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Thread {
    /// Block in the grid.
    pub block: [u32; 3],
    /// Thread in the block.
    pub thread: [u32; 3],
    /// Whether the grid and the block extend along x only, so that one index is enough.
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

/// A defect at one instruction, with the first thread that showed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Class of the defect.
    pub class: Class,
    /// Line of the PTX text.
    pub line: u32,
    /// File and line of the source, if the text names them.
    pub source: Option<(String, u32)>,
    /// The line of another file that `source` was inlined into, such as that of a kernel which calls a function of a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<Box<(String, u32)>>,
    /// The opcode with its modifiers.
    pub form: String,
    /// The first thread that showed it.
    pub thread: Thread,
    /// Description: buffer, offset, the other thread.
    pub what: String,
    /// Number of occurrences, over all threads.
    pub count: u64,
    /// Whether it is a race of two instructions of one warp. A reader looks for a race of two warps first.
    #[serde(skip)]
    pub within_warp: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let location = Location {
            line: self.line,
            source: self.source.clone(),
            called: None,
        };
        write!(
            f,
            "{location}: `{}`: {}: {}",
            self.form, self.thread, self.what
        )?;
        f.write_str(&in_all(self.count, 1))
    }
}

/// Says how often a finding was made, after it: ` (3 such faults in all)`, and by how many instructions, if by several.
/// Nothing for one.
pub fn in_all(count: u64, instructions: u32) -> String {
    match (count, instructions) {
        (1, _) => String::new(),
        (n, 1) => format!(" ({n} such faults in all)"),
        (n, several) => format!(" ({n} such faults in all, by {several} instructions)"),
    }
}

/// Counters of an instruction or of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Executions by a warp.
    pub warps: u64,
    /// Executions by a thread whose guard is true.
    pub threads: u64,
    /// Divergent branches of a warp.
    pub divergent: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Warp instructions that read global memory in at least one lane.
    pub global_load_requests: u64,
    /// 32-byte sectors that global loads touch.
    pub global_load_sectors: u64,
    /// Minimum sectors for the same bytes, those of several lanes at one address once.
    pub global_load_ideal: u64,
    /// Warp instructions that write global memory in at least one lane.
    pub global_store_requests: u64,
    /// 32-byte sectors that global stores touch.
    pub global_store_sectors: u64,
    /// Minimum sectors for the same bytes, those of several lanes at one address once.
    pub global_store_ideal: u64,
    /// Warp instructions that update global memory in at least one lane: `atom` and `red`, neither loads nor stores.
    pub global_atomic_requests: u64,
    /// 32-byte sectors that global atomics touch.
    pub global_atomic_sectors: u64,
    /// Minimum sectors for the same bytes, those of several lanes at one address once.
    pub global_atomic_ideal: u64,
    /// Warp instructions that read shared memory in at least one lane.
    pub shared_load_requests: u64,
    /// Wavefronts of shared loads.
    pub shared_load_wavefronts: u64,
    /// Minimum wavefronts for the same number of bytes.
    pub shared_load_ideal: u64,
    /// Warp instructions that write shared memory in at least one lane.
    pub shared_store_requests: u64,
    /// Wavefronts of shared stores.
    pub shared_store_wavefronts: u64,
    /// Minimum wavefronts for the same number of bytes.
    pub shared_store_ideal: u64,
    /// Warp instructions that update shared memory in at least one lane.
    pub shared_atomic_requests: u64,
    /// Their wavefronts, as of loads at the same addresses: hardware needs no fewer, and more for lanes at one address.
    pub shared_atomic_wavefronts: u64,
    /// Warp instructions that read or write local memory in at least one lane.
    pub local_requests: u64,
    /// Warp instructions that read another block's shared memory with at least one lane.
    pub cluster_load_requests: u64,
    /// Warp instructions that write another block's shared memory with at least one lane.
    pub cluster_store_requests: u64,
}

impl Counts {
    /// 32-byte sectors that loads, stores and atomics of global memory touch. An atomic counts twice, because it reads and
    /// writes; so a kernel that reads with atomics in place of loads saves nothing.
    pub fn global_sectors(&self) -> u64 {
        self.global_load_sectors + self.global_store_sectors + 2 * self.global_atomic_sectors
    }

    /// Adds other counters.
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
        self.global_atomic_requests += other.global_atomic_requests;
        self.global_atomic_sectors += other.global_atomic_sectors;
        self.global_atomic_ideal += other.global_atomic_ideal;
        self.shared_load_requests += other.shared_load_requests;
        self.shared_load_wavefronts += other.shared_load_wavefronts;
        self.shared_load_ideal += other.shared_load_ideal;
        self.shared_store_requests += other.shared_store_requests;
        self.shared_store_wavefronts += other.shared_store_wavefronts;
        self.shared_store_ideal += other.shared_store_ideal;
        self.shared_atomic_requests += other.shared_atomic_requests;
        self.shared_atomic_wavefronts += other.shared_atomic_wavefronts;
        self.local_requests += other.local_requests;
        self.cluster_load_requests += other.cluster_load_requests;
        self.cluster_store_requests += other.cluster_store_requests;
    }
}

/// The counters of one instruction, by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Line of the PTX text.
    pub line: u32,
    /// File and line of the source, if the text names them.
    pub source: Option<(String, u32)>,
    /// The opcode with its modifiers.
    pub form: String,
    /// Its counters.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A step of the watched warp: see [`crate::Watch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Line of the PTX text.
    pub line: u32,
    /// File and line of the source, if the text names them.
    pub source: Option<(String, u32)>,
    /// The opcode with its modifiers.
    pub form: String,
    /// The lanes that execute it, lane 0 in the lowest bit. Lanes whose guard is false are not included.
    pub active: u32,
    /// Its memory accesses. A copy has two, destination and source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<Access>,
}

/// The addresses of a step's lanes in one buffer, or in one space without buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The state space; a generic address is resolved.
    pub space: Space,
    /// The buffer in global memory; `None` for an address outside all buffers.
    pub buffer: Option<String>,
    /// The lanes, one bit each.
    pub lanes: u32,
    /// First byte of each lane, counted from the start of the buffer or space; the whole address if it is in
    /// no buffer.
    pub offsets: Vec<i64>,
}

/// Bytes of a sector, the unit of global memory's traffic.
pub(crate) const SECTOR: u64 = 32;

/// The sectors of a buffer that a launch read and wrote: see [`crate::Options::touched`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// One bit per sector, the first in the lowest bit.
    read: Vec<u64>,
    written: Vec<u64>,
}

impl Touched {
    pub(crate) fn new(read: Vec<u64>, written: Vec<u64>) -> Self {
        Self { read, written }
    }

    /// Adds the sectors of another launch over the same buffer.
    pub fn add(&mut self, other: &Self) {
        for (own, more) in [
            (&mut self.read, &other.read),
            (&mut self.written, &other.written),
        ] {
            own.resize(own.len().max(more.len()), 0);
            own.iter_mut()
                .zip(more)
                .for_each(|(own, more)| *own |= more);
        }
    }

    /// Bytes of the sectors that were read, each counted once.
    pub fn read_bytes(&self) -> u64 {
        bytes(&self.read)
    }

    /// Bytes of the sectors that were written, each counted once.
    pub fn written_bytes(&self) -> u64 {
        bytes(&self.written)
    }
}

fn bytes(marks: &[u64]) -> u64 {
    SECTOR
        * marks
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum::<u64>()
}

/// The results of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Name of the kernel.
    pub entry: String,
    /// Number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads per block along x, y and z.
    pub block: [u32; 3],
    /// Defects in source order.
    pub findings: Vec<Finding>,
    /// Counters over all instructions.
    pub total: Counts,
    /// Counters of each executed instruction.
    pub lines: Vec<Line>,
    /// Output of `printf`.
    pub printed: String,
    /// Steps of the watched warp, from its first instruction: see [`crate::Options::trace`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Step>,
    /// Sectors of each buffer that were accessed, in the order of the buffers: see [`crate::Options::touched`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<Touched>,
}

impl Report {
    /// Whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}
