//! A kernel as the machine runs it: dense, every operand a register's number.
//!
//! There are three files of registers: words (`.b32` and narrower), doubles (`.b64`) and predicates. A
//! register holds the values of a warp's 32 lanes. Constants and special registers that do not change
//! while a thread runs (`%tid.x` and the like) have registers of their own, which are filled before the
//! first instruction, so that there is one kind of operand.

mod matrices;
mod op;
mod parts;

use crate::ast::{Space, Type};
use crate::error::Place;
pub use matrices::*;
pub use op::*;
pub use parts::*;

/// Generic addresses of a space other than global begin here, and are its own addresses, from 0, plus this.
/// Global addresses are their own generic addresses and lie above all windows.
pub const SHARED_WINDOW: u64 = WINDOW;
/// As for shared memory.
pub const LOCAL_WINDOW: u64 = 2 * WINDOW;
/// As for shared memory.
pub const CONST_WINDOW: u64 = 3 * WINDOW;
/// As for shared memory.
pub const PARAM_WINDOW: u64 = 4 * WINDOW;
/// An address of `.shared::cluster` names the block in its bits from this one on: the block's rank in the cluster
/// plus one. Zero is the block that executes the access.
pub const RANK_SHIFT: u32 = 24;
/// Bytes of a window.
pub const WINDOW: u64 = 1 << 40;

/// The number of a register in its file.
pub type Reg = u32;

/// A register of one of two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Of words: 32 bits a lane; what is narrower is zero-extended, unless an instruction says otherwise.
    Word(Reg),
    /// Of doubles: 64 bits a lane.
    Double(Reg),
}

/// The name of a register, or of a row of them: `%i`, or `%r` of `%r0` to `%r8`.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name, without a number.
    pub name: String,
    /// The first.
    pub first: Slot,
    /// How many of a row.
    pub row: Option<u32>,
}

impl Named {
    fn of(&self, slot: Slot) -> Option<String> {
        let n = match (slot, self.first) {
            (Slot::Word(r), Slot::Word(first)) | (Slot::Double(r), Slot::Double(first)) => {
                r.checked_sub(first)?
            }
            _ => return None,
        };
        match self.row {
            Some(count) => (n < count).then(|| format!("{}{n}", self.name)),
            None => (n == 0).then(|| self.name.clone()),
        }
    }
}

/// A kernel, its functions inlined.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Of the entry.
    pub name: String,
    /// In order.
    pub params: Vec<Param>,
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// The instructions; a branch names an index.
    pub code: Vec<Step>,
    /// Registers of each file.
    pub words: u32,
    /// Registers of each file.
    pub doubles: u32,
    /// Registers of each file.
    pub preds: u32,
    /// Words with a value from the start.
    pub word_constants: Vec<(Reg, u32)>,
    /// Doubles with a value from the start: numbers, and addresses of shared, constant, local variables.
    pub double_constants: Vec<(Reg, u64)>,
    /// Doubles that hold the address of a module's `.global` variable.
    pub global_addresses: Vec<(Reg, String, i64)>,
    /// Words that a launch fills.
    pub specials: Vec<(Reg, Special)>,
    /// What the text calls its words and doubles.
    pub names: Vec<Named>,
    /// Bytes of static shared memory; with a `.extern .shared` variable rounded up to where that begins.
    pub shared_bytes: u32,
    /// The variables in it, without those whose size the launch says.
    pub shared: Vec<Region>,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Of the module, in one piece.
    pub constants: Vec<u8>,
    /// `.maxntid` or `.reqntid`: threads of a block at most, and whether exactly.
    pub max_threads: Option<([u32; 3], bool)>,
    /// `.reqnctapercluster`: blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: without `.reqnctapercluster` a launch has to give the size of its clusters.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`: blocks of a cluster at most.
    pub max_cluster: Option<u32>,
}

impl Kernel {
    /// What the text calls a register, if it is one of its own.
    pub fn name_of(&self, slot: Slot) -> Option<String> {
        self.names.iter().find_map(|named| named.of(slot))
    }

    /// A byte of shared memory, called `memory`, in words; of which variable, where there are several.
    pub fn shared_byte(&self, at: u64, memory: &str) -> String {
        let of = |region: &&Region| (region.offset..region.offset + region.bytes).contains(&at);
        match self.shared.iter().find(of) {
            Some(Region { name, offset, .. }) if self.shared.len() > 1 => {
                format!("byte {at} of {memory}, byte {} of {name}", at - offset)
            }
            _ => format!("byte {at} of {memory}"),
        }
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// In the parameter block.
    pub offset: u32,
    /// Of the whole.
    pub bytes: u32,
    /// The type of a number or an address; `None` for an array or a vector.
    pub ty: Option<Type>,
}

/// Where a variable lies in its space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// As the source names it.
    pub name: String,
    /// Its first byte.
    pub offset: u64,
    /// Of the whole.
    pub bytes: u64,
}

/// An instruction and where it stands.
#[derive(Debug, Clone)]
pub struct Step {
    /// A predicate, and whether it is negated.
    pub guard: Option<(Reg, bool)>,
    /// What is done.
    pub op: Op,
    /// In the text, and in the source.
    pub place: Place,
    /// As it is written: `ld.global.f32`.
    pub form: String,
}

/// What is the same for a thread as long as it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    LaneId,
    WarpId,
    NWarpId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    SmId,
    NSmId,
    GridId,
    DynamicSmemSize,
    TotalSmemSize,
    ClusterId(usize),
    NClusterId(usize),
    ClusterCtaid(usize),
    ClusterNctaid(usize),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
}

/// An address: `[base + offset]` in a space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Address {
    /// Where.
    pub space: Space,
    /// A register, or nothing.
    pub base: Option<Slot>,
    /// Added to it.
    pub offset: i64,
}
