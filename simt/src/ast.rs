//! PTX as written: the parser's output, and the input of the rest of the crate.

use serde::Serialize;

/// A module: the contents of one PTX text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Module {
    /// `.version 8.7` → (8, 7).
    pub version: (u32, u32),
    /// `.target sm_90a` → `sm_90a`.
    pub target: String,
    /// `.file 1 "a.cu"` → (1, "a.cu").
    pub files: Vec<(u32, String)>,
    /// Variables outside functions: `.global`, `.const`, `.shared`.
    pub variables: Vec<Variable>,
    /// Kernels and functions, with or without bodies.
    pub functions: Vec<Function>,
}

/// `.entry` or `.func`.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether the host can launch it.
    pub is_entry: bool,
    /// Results of a `.func`: none or one.
    pub returns: Vec<Variable>,
    /// Parameters in order: `.param` for an entry, `.param` or `.reg` for a function.
    pub params: Vec<Variable>,
    /// `.maxntid`; missing dimensions are 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`; missing dimensions are 1.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`, with ones for what is missing.
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch has to give the size of its clusters.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`: blocks of a cluster at most.
    pub max_cluster: Option<u32>,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement>>,
    /// Line of the name.
    pub line: u32,
}

/// A declaration: `.shared .align 4 .b32 partial[256];`, `.reg .f32 %f<9>;`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// `.reg`, `.shared`, `.param` …
    pub space: Space,
    /// Type of an element.
    pub ty: Type,
    /// 2 for `.v2`, 4 for `.v4`, otherwise 1.
    pub vector: u32,
    /// Name, including any `%`.
    pub name: String,
    /// `%f<9>` → 9, for the registers `%f0` to `%f8`.
    pub range: Option<u32>,
    /// `[4][8]` → `[4, 8]`; `[]` → `[0]`, memory whose size the launch gives; empty for a scalar.
    pub dims: Vec<u64>,
    /// Alignment in bytes; by default that of the element.
    pub align: u32,
    /// `= {1, 2}` as bytes; the remaining bytes are zero.
    pub init: Vec<u8>,
    /// Whether the declaration starts with `.extern`.
    pub is_extern: bool,
    /// Line of the declaration.
    pub line: u32,
}

/// A statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `name:`
    Label(String),
    /// A declaration, visible until the end of its block.
    Variable(Variable),
    /// `{ … }`, the scope of the names declared inside.
    Block(Vec<Statement>),
    /// An instruction.
    Instruction(Instruction),
}

/// `@%p ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1+16];`
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// `@%p` → (`%p`, false), `@!%p` → (`%p`, true).
    pub guard: Option<(String, bool)>,
    /// `ld`
    pub opcode: String,
    /// `global`, `v4`, `f32`; a qualifier with `::` is one modifier: `L1::no_allocate`.
    pub mods: Vec<String>,
    /// Operands in source order.
    pub operands: Vec<Operand>,
    /// Line of the opcode.
    pub line: u32,
    /// File number and line of the last `.loc`, then those of each call that the code was inlined into,
    /// innermost first; empty without a `.loc`.
    pub loc: Vec<(u32, u32)>,
}

impl Instruction {
    /// `ld.global.v4.f32`
    pub fn form(&self) -> String {
        let mut form = self.opcode.clone();
        for m in &self.mods {
            form.push('.');
            form.push_str(m);
        }
        form
    }
}

/// An operand of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register, special register, variable or label; its declaration tells which. The name includes any
    /// `%`. `%tid.x` is one name, and so is `_`, the discarded destination.
    Name(String),
    /// `!%p`
    Not(String),
    /// `name+4` outside brackets: the address of a variable plus an offset.
    Offset(String, i64),
    /// An integer, or the bits of a float: see [`Immediate`].
    Immediate(Immediate),
    /// `[base+offset]`; `[4096]` has no base.
    Address(Option<String>, i64),
    /// `[base, {a, b}]`: an element by its coordinates, for TMA and textures.
    Element(String, Vec<Operand>),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `a|b`: the two destinations of `setp` and `shfl`.
    Pair(Box<Operand>, Box<Operand>),
    /// `(a, b)`, for `call`.
    List(Vec<Operand>),
}

/// A constant in the form it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Immediate {
    /// `12`, `-1`, `0x7fffffff`, `5U`.
    Int(i128),
    /// `0f3f800000`: the bits.
    F32(u32),
    /// `0d3ff0000000000000`: the bits; `1.5` and `2.0e3` too.
    F64(u64),
}

/// State spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Space {
    Reg,
    Global,
    Shared,
    /// `.shared::cluster`: shared memory of any block of the cluster.
    Cluster,
    Local,
    Const,
    Param,
    /// No space is named; the address decides.
    Generic,
}

/// Fundamental types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl Type {
    /// `f32` → `F32`; `None` if it is no type.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// Size in bytes; 1 for a predicate.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }
}
