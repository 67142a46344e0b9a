//! Registers of a kernel: declared ones, temporaries of lowering, and one for each constant and each special
//! register that it uses.

use std::collections::HashMap;

use crate::ast::{Immediate, Type};
use crate::code::{Named, Reg, Slot, Special};

/// The register file of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Up to 32 bits.
    Word,
    /// 64 bits.
    Double,
}

impl Width {
    /// The file of a type that fits a register and is no predicate.
    pub fn of(ty: Type) -> Self {
        if ty.bytes() > 4 {
            Self::Double
        } else {
            Self::Word
        }
    }

    /// The file of a register.
    pub fn of_slot(slot: Slot) -> Self {
        match slot {
            Slot::Word(_) => Self::Word,
            Slot::Double(_) => Self::Double,
        }
    }

    /// Describes the register, for errors.
    pub fn register(self) -> &'static str {
        match self {
            Self::Word => "a register of at most 32 bits",
            Self::Double => "a register of 64 bits",
        }
    }
}

/// Registers allocated so far, and their initial values.
#[derive(Debug, Default)]
pub(super) struct Registers {
    pub words: Reg,
    pub doubles: Reg,
    pub preds: Reg,
    word_constants: HashMap<u32, Reg>,
    double_constants: HashMap<u64, Reg>,
    globals: HashMap<(String, i64), Reg>,
    specials: HashMap<Special, Reg>,
    carry: Option<Reg>,
    pub names: Vec<Named>,
}

impl Registers {
    /// Allocates `count` consecutive registers and returns the first.
    pub fn new_slots(&mut self, width: Width, count: u32) -> Slot {
        match width {
            Width::Word => Slot::Word(take(&mut self.words, count)),
            Width::Double => Slot::Double(take(&mut self.doubles, count)),
        }
    }

    /// Allocates a word.
    pub fn new_word(&mut self) -> Reg {
        take(&mut self.words, 1)
    }

    /// Allocates `count` consecutive predicates and returns the first.
    pub fn new_preds(&mut self, count: u32) -> Reg {
        take(&mut self.preds, count)
    }

    /// The register that holds a number.
    pub fn number(&mut self, width: Width, value: u64) -> Slot {
        match width {
            Width::Word => Slot::Word(self.word(value as u32)),
            Width::Double => Slot::Double(self.double(value)),
        }
    }

    /// The word that holds a number.
    pub fn word(&mut self, value: u32) -> Reg {
        let words = &mut self.words;
        *self
            .word_constants
            .entry(value)
            .or_insert_with(|| take(words, 1))
    }

    /// The double that holds a number.
    pub fn double(&mut self, value: u64) -> Reg {
        let doubles = &mut self.doubles;
        *self
            .double_constants
            .entry(value)
            .or_insert_with(|| take(doubles, 1))
    }

    /// The double that holds the address of a module variable.
    pub fn global(&mut self, name: &str, offset: i64) -> Reg {
        let doubles = &mut self.doubles;
        *self
            .globals
            .entry((name.to_owned(), offset))
            .or_insert_with(|| take(doubles, 1))
    }

    /// The predicate of the carry flag.
    pub fn carry(&mut self) -> Reg {
        let preds = &mut self.preds;
        *self.carry.get_or_insert_with(|| take(preds, 1))
    }

    /// The word that holds a special register.
    pub fn special(&mut self, special: Special) -> Reg {
        let words = &mut self.words;
        *self
            .specials
            .entry(special)
            .or_insert_with(|| take(words, 1))
    }

    /// Words with initial values, sorted by register, as are the other lists.
    pub fn word_constants(&self) -> Vec<(Reg, u32)> {
        sorted(
            self.word_constants
                .iter()
                .map(|(value, reg)| (*reg, *value)),
        )
    }

    pub fn double_constants(&self) -> Vec<(Reg, u64)> {
        sorted(
            self.double_constants
                .iter()
                .map(|(value, reg)| (*reg, *value)),
        )
    }

    pub fn specials(&self) -> Vec<(Reg, Special)> {
        sorted(self.specials.iter().map(|(special, reg)| (*reg, *special)))
    }

    pub fn globals(&self) -> Vec<(Reg, String, i64)> {
        let entries = self
            .globals
            .iter()
            .map(|((name, offset), reg)| (*reg, (name.clone(), *offset)));
        sorted(entries)
            .into_iter()
            .map(|(reg, (name, offset))| (reg, name, offset))
            .collect()
    }
}

fn take(counter: &mut Reg, count: u32) -> Reg {
    let first = *counter;
    *counter += count;
    first
}

fn sorted<T>(entries: impl Iterator<Item = (Reg, T)>) -> Vec<(Reg, T)> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|(reg, _)| *reg);
    entries
}

/// Bits of a constant in a register of this width, read as a value of type `ty`; `None` if the type has no
/// such value.
pub(super) fn bits(immediate: Immediate, ty: Type, width: Width) -> Option<u64> {
    use Type::{Bf16, Bf16x2, F16, F16x2, F64};
    let half = matches!(ty, F16 | F16x2 | Bf16 | Bf16x2);
    Some(match (immediate, width) {
        (Immediate::Int(value), Width::Double) => value as u64,
        (Immediate::Int(value), Width::Word) => value as u64 & mask(ty),
        _ if half => return None,
        (Immediate::F32(bits), Width::Double) if ty == F64 => {
            f64::from(f32::from_bits(bits)).to_bits()
        }
        (Immediate::F32(bits), _) => bits.into(),
        (Immediate::F64(bits), Width::Word) => (f64::from_bits(bits) as f32).to_bits().into(),
        (Immediate::F64(bits), Width::Double) => bits,
    })
}

/// Bits of a word that a type covers. A wider type covers all, as in `shl.b64`, whose distance is a word.
fn mask(ty: Type) -> u64 {
    match ty.bytes() {
        1 => 0xff,
        2 => 0xffff,
        _ => 0xffff_ffff,
    }
}

/// Returns the special register of this name.
pub(super) fn special(name: &str) -> Option<Special> {
    let axis = |n: &str| ["x", "y", "z"].iter().position(|axis| *axis == n);
    if let Some((of, n)) = name.split_once('.') {
        return Some(match of {
            "%tid" => Special::Tid(axis(n)?),
            "%ntid" => Special::Ntid(axis(n)?),
            "%ctaid" => Special::Ctaid(axis(n)?),
            "%nctaid" => Special::Nctaid(axis(n)?),
            "%clusterid" => Special::ClusterId(axis(n)?),
            "%nclusterid" => Special::NClusterId(axis(n)?),
            "%cluster_ctaid" => Special::ClusterCtaid(axis(n)?),
            "%cluster_nctaid" => Special::ClusterNctaid(axis(n)?),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%total_smem_size" => Special::TotalSmemSize,
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_decides_how_a_constant_is_read() {
        let word = |immediate, ty| bits(immediate, ty, Width::Word);
        assert_eq!(word(Immediate::Int(-1), Type::S32), Some(0xffff_ffff));
        assert_eq!(word(Immediate::Int(-1), Type::S16), Some(0xffff));
        assert_eq!(word(Immediate::Int(0x3c00), Type::F16), Some(0x3c00));
        assert_eq!(word(Immediate::Int(3), Type::B64), Some(3));
        assert_eq!(
            word(Immediate::F32(0x3f80_0000), Type::F32),
            Some(0x3f80_0000)
        );
        assert_eq!(
            word(Immediate::F64(1.5f64.to_bits()), Type::F32),
            Some(1.5f32.to_bits().into())
        );
        assert_eq!(word(Immediate::F32(0), Type::F16), None);
        let double = |immediate, ty| bits(immediate, ty, Width::Double);
        assert_eq!(double(Immediate::Int(-2), Type::S64), Some(u64::MAX - 1));
        assert_eq!(double(Immediate::F64(7), Type::F64), Some(7));
        assert_eq!(
            double(Immediate::F32(1f32.to_bits()), Type::F64),
            Some(1f64.to_bits())
        );
    }

    #[test]
    fn equal_constants_share_a_register() {
        let mut registers = Registers::default();
        let first = registers.word(7);
        assert_eq!(registers.word(7), first);
        assert_ne!(registers.word(8), first);
        assert_eq!(
            registers.special(Special::LaneId),
            registers.special(Special::LaneId)
        );
        assert_eq!(registers.word_constants().len(), 2);
        assert_eq!(registers.words, 3);
        assert_ne!(registers.global("x", 0), registers.global("x", 4));
    }

    #[test]
    fn special_registers_by_name() {
        assert_eq!(special("%ctaid.y"), Some(Special::Ctaid(1)));
        assert_eq!(special("%lanemask_lt"), Some(Special::LanemaskLt));
        assert_eq!(special("%tid.w"), None);
        assert_eq!(special("%tid"), None);
    }
}
