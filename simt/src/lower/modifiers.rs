//! Modifiers that several instructions share.

use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::Scope;
use crate::error::Result;

use super::Lowering;

/// Returns the modifiers as string slices.
pub(super) fn mods(instruction: &Instruction) -> Vec<&str> {
    instruction.mods.iter().map(String::as_str).collect()
}

/// Whether an instruction has a modifier.
pub(super) fn has(instruction: &Instruction, name: &str) -> bool {
    instruction.mods.iter().any(|m| m == name)
}

/// `shared`, `shared::cta`, `param::entry` …
pub(super) fn space(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "shared::cluster" => Space::Cluster,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

/// The space that an instruction names, or generic.
pub(super) fn space_of(instruction: &Instruction) -> Space {
    let named = instruction.mods.iter().find_map(|m| space(m));
    named.unwrap_or(Space::Generic)
}

/// `cta`, `gpu`, `sys`; a cluster counts as the device.
pub(super) fn scope(name: &str) -> Option<Scope> {
    Some(match name {
        "cta" => Scope::Block,
        "gpu" | "gl" | "cluster" => Scope::Device,
        "sys" => Scope::System,
        _ => return None,
    })
}

/// Whether a modifier is only a cache hint: `ca`, `L1::no_allocate`, `L2::128B`.
pub(super) fn is_cache_hint(name: &str) -> bool {
    let operators = ["ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc"];
    operators.contains(&name) || name.starts_with("L1::") || name.starts_with("L2::")
}

impl Lowering<'_> {
    /// Returns the last modifier as a type.
    pub fn last_type(&self, instruction: &Instruction) -> Result<Type> {
        let last = instruction.mods.last().and_then(|name| Type::parse(name));
        match last {
            Some(Type::B128) => Err(self.unsupported(": values of 128 bits")),
            Some(ty) => Ok(ty),
            None => Err(self.wrong("a type at the end, such as `.u32` or `.f32`", &self.form)),
        }
    }

    /// Returns all operands; an error if their number is not `N`.
    pub fn operands<'i, const N: usize>(
        &self,
        instruction: &'i Instruction,
    ) -> Result<&'i [Operand; N]> {
        let operands = instruction.operands.as_slice();
        operands
            .try_into()
            .map_err(|_| self.count_error(N, operands.len()))
    }

    /// Returns the first `N` operands and the remaining ones.
    pub fn operands_and_more<'i, const N: usize>(
        &self,
        instruction: &'i Instruction,
    ) -> Result<(&'i [Operand; N], &'i [Operand])> {
        let operands = instruction.operands.as_slice();
        operands
            .split_first_chunk()
            .ok_or_else(|| self.count_error(N, operands.len()))
    }

    /// The error of an instruction with too many or too few operands.
    pub fn count_error(&self, expected: usize, found: usize) -> crate::error::Error {
        self.wrong(
            &format!("{expected} operands of {}", self.form),
            &found.to_string(),
        )
    }
}
