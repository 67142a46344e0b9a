//! Lowered kernels, as the machine runs them: a dense list of steps whose operands are register numbers.
//!
//! There are three register files: words (`.b32` and narrower), doubles (`.b64`) and predicates. A register
//! holds the values of a warp's 32 lanes. Constants, and special registers that a thread cannot change
//! (`%tid.x` and the like), have registers of their own. They are filled before the first instruction, so
//! there is only one kind of operand.

mod matrices;
mod op;
mod parts;

use crate::ast::{Space, Type};
use crate::error::Location;
pub use matrices::*;
pub use op::*;
pub use parts::*;

/// Base of the generic addresses of shared memory. In each space but global, a generic address is the
/// window's base plus an offset. Global addresses are generic addresses already and lie above all windows.
pub const SHARED_WINDOW: u64 = WINDOW;
/// Base of the generic addresses of local memory.
pub const LOCAL_WINDOW: u64 = 2 * WINDOW;
/// Base of the generic addresses of constant memory.
pub const CONST_WINDOW: u64 = 3 * WINDOW;
/// Base of the generic addresses of the parameters.
pub const PARAM_WINDOW: u64 = 4 * WINDOW;
/// An address of `.shared::cluster` names the block in its bits from this one on: the block's rank in the cluster
/// plus one. Zero is the block that executes the access.
pub const RANK_SHIFT: u32 = 24;
/// Bytes of a window.
pub const WINDOW: u64 = 1 << 40;

/// The number of a register in its file.
pub type Reg = u32;

/// A register of words or of doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A word: 32 bits per lane. Narrower values are zero-extended unless an instruction says otherwise.
    Word(Reg),
    /// A double: 64 bits per lane.
    Double(Reg),
}

/// The name of a register, or of a range: `%i`, or `%r` for `%r0` to `%r8`.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name, without a number.
    pub name: String,
    /// The first register.
    pub first: Slot,
    /// Number of registers in a range; `None` for a single register.
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

/// A kernel with its functions inlined.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Name of the entry.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Size of the parameter block in bytes.
    pub param_bytes: u32,
    /// The instructions; branches refer to them by index.
    pub code: Vec<Step>,
    /// Number of word registers.
    pub words: u32,
    /// Number of double registers.
    pub doubles: u32,
    /// Number of predicates.
    pub preds: u32,
    /// Words with an initial value.
    pub word_constants: Vec<(Reg, u32)>,
    /// Doubles with an initial value: numbers, and addresses of shared, constant and local variables.
    pub double_constants: Vec<(Reg, u64)>,
    /// Doubles that hold the address of a `.global` variable: register, variable, and bytes from its start.
    pub global_addresses: Vec<(Reg, String, i64)>,
    /// Words that a launch fills with special registers.
    pub specials: Vec<(Reg, Special)>,
    /// Names of the words and doubles in the text.
    pub names: Vec<Named>,
    /// Bytes of static shared memory. With an `.extern .shared` variable, rounded up to its start.
    pub shared_bytes: u32,
    /// The shared variables of known size.
    pub shared: Vec<Region>,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// The module's constant memory.
    pub constants: Vec<u8>,
    /// `.maxntid` or `.reqntid`: the maximum threads of a block, and whether that number is required.
    pub max_threads: Option<([u32; 3], bool)>,
    /// `.reqnctapercluster`: blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: without `.reqnctapercluster` a launch has to give the size of its clusters.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`: blocks of a cluster at most.
    pub max_cluster: Option<u32>,
}

impl Kernel {
    /// Returns the name of a register in the text, if it has one.
    pub fn name_of(&self, slot: Slot) -> Option<String> {
        self.names.iter().find_map(|named| named.of(slot))
    }

    /// A byte of shared memory, called `memory`, in words; names the variable where there are several.
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
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Type of a number or an address; `None` for an array or a vector.
    pub ty: Option<Type>,
}

/// The location of a variable in its space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Name of the variable in the source.
    pub name: String,
    /// Offset of the first byte.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// An instruction and its location.
#[derive(Debug, Clone)]
pub struct Step {
    /// The guard: a predicate, and whether it is negated.
    pub guard: Option<(Reg, bool)>,
    /// The operation.
    pub op: Op,
    /// Location in the text and in the source.
    pub location: Location,
    /// The opcode with its modifiers: `ld.global.f32`.
    pub form: String,
    /// Whether it is an access of scope `.cta`, which is atomic for its own block alone.
    pub is_narrow: bool,
}

/// A special register that is constant for a thread.
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
    /// The state space.
    pub space: Space,
    /// The base register, if there is one.
    pub base: Option<Slot>,
    /// Offset in bytes.
    pub offset: i64,
}
