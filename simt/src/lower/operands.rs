//! Operands: sources, destinations and addresses.

use crate::ast::{Immediate, Operand, Space, Type};
use crate::code::{Address, Reg, Slot};
use crate::error::{Error, Result};

use super::Lowering;
use super::names::Binding;
use super::registers::{Width, bits, special};

/// A predicate and whether it is negated, for `Op::Logic` and the like.
pub(super) type Condition = (Reg, bool);

impl Lowering<'_> {
    /// The register to read: the operand itself, or one that holds a constant, an address or a special
    /// register.
    pub fn source(&mut self, width: Width, operand: &Operand, ty: Type) -> Result<Slot> {
        match operand {
            Operand::Immediate(immediate) => self.constant(width, *immediate, ty),
            Operand::Name(name) => self.named_source(width, name, 0),
            Operand::Offset(name, offset) => self.named_source(width, name, *offset),
            _ => Err(self.wrong(width.register(), &text(operand))),
        }
    }

    /// The word to read.
    pub fn word(&mut self, operand: &Operand, ty: Type) -> Result<Reg> {
        match self.source(Width::Word, operand, ty)? {
            Slot::Word(reg) => Ok(reg),
            Slot::Double(_) => Err(self.wrong(Width::Word.register(), &text(operand))),
        }
    }

    fn constant(&mut self, width: Width, immediate: Immediate, ty: Type) -> Result<Slot> {
        match bits(immediate, ty, width) {
            Some(value) => Ok(self.registers.number(width, value)),
            None => Err(self.wrong(
                "the bits of a number",
                &text(&Operand::Immediate(immediate)),
            )),
        }
    }

    fn named_source(&mut self, width: Width, name: &str, offset: i64) -> Result<Slot> {
        match self.names.find(name) {
            Some(Binding::Register(slot, _)) if Width::of_slot(slot) == width && offset == 0 => {
                Ok(slot)
            }
            Some(Binding::Memory(_, at)) => {
                Ok(self.registers.number(width, at.wrapping_add_signed(offset)))
            }
            Some(Binding::Global(variable)) if width == Width::Double => {
                Ok(Slot::Double(self.registers.global(variable, offset)))
            }
            Some(Binding::Register(slot, ty)) if Width::of_slot(slot) != width => {
                Err(self.wrong_width(width, name, ty))
            }
            None if width == Width::Word => self.special(name).map(Slot::Word),
            _ => Err(self.wrong_name(width.register(), name)),
        }
    }

    /// The word that holds a special register.
    fn special(&mut self, name: &str) -> Result<Reg> {
        match (special(name), name) {
            (Some(special), _) if self.reads_special() => Ok(self.registers.special(special)),
            (Some(_), _) => Err(self.wrong("a register: only mov reads a special one", name)),
            (None, "WARP_SZ") => Ok(self.registers.word(32)),
            (
                None,
                "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%clusterid" | "%nclusterid"
                | "%cluster_ctaid" | "%cluster_nctaid",
            ) => Err(self.unsupported(": special registers are read one axis at a time")),
            _ => Err(self.wrong_name(Width::Word.register(), name)),
        }
    }

    /// Whether the instruction may read special registers: only `mov`, and `cvt` between integers.
    fn reads_special(&self) -> bool {
        match self.form.split_once('.') {
            Some(("mov", _)) => true,
            Some(("cvt", types)) => types.split('.').all(|ty| ty.starts_with(['u', 's'])),
            _ => false,
        }
    }

    /// The error of a name that should be `expected`, such as "a register".
    fn wrong_name(&self, expected: &str, name: &str) -> Error {
        match self.names.find(name) {
            None if let Some(meant) = meant(name) => {
                self.wrong(&format!("`{meant}`, as PTX calls it"), name)
            }
            None => self.wrong(&format!("{expected} that is declared"), name),
            Some(_) => self.wrong(expected, name),
        }
    }

    /// The error of a register of type `ty` with the wrong width.
    fn wrong_width(&self, width: Width, name: &str, ty: Type) -> Error {
        let (register, form, bits) = (width.register(), &self.form, 8 * ty.bytes());
        let expected = format!("{register} as this operand of `{form}` (this one has {bits})");
        self.wrong(&expected, name)
    }

    /// The predicate to read, and whether it is negated.
    pub fn condition(&mut self, operand: &Operand) -> Result<Condition> {
        match operand {
            Operand::Name(name) => Ok((self.pred_named(name)?, false)),
            Operand::Not(name) => Ok((self.pred_named(name)?, true)),
            Operand::Immediate(Immediate::Int(value)) => {
                let d = self.registers.new_preds(1);
                self.emit(crate::code::Op::PredConstant {
                    d,
                    value: *value != 0,
                });
                Ok((d, false))
            }
            _ => Err(self.wrong("a predicate", &text(operand))),
        }
    }

    /// The predicate of this name.
    pub fn pred_named(&self, name: &str) -> Result<Reg> {
        match self.names.find(name) {
            Some(Binding::Pred(reg)) => Ok(reg),
            _ => Err(self.wrong_name("a predicate", name)),
        }
    }

    /// A destination register and its type; `None` for `_`.
    pub fn written(&self, operand: &Operand) -> Result<Option<(Slot, Type)>> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(None),
            Operand::Name(name) => match self.names.find(name) {
                Some(Binding::Register(slot, ty)) => Ok(Some((slot, ty))),
                _ => Err(self.wrong_name("a register", name)),
            },
            _ => Err(self.wrong("a register", &text(operand))),
        }
    }

    /// A destination register of this width; for `_` an unused one.
    pub fn destination(&mut self, width: Width, operand: &Operand) -> Result<Slot> {
        match self.written(operand)? {
            None => Ok(self.registers.new_slots(width, 1)),
            Some((slot, _)) if Width::of_slot(slot) == width => Ok(slot),
            Some((_, ty)) => Err(self.wrong_width(width, &text(operand), ty)),
        }
    }

    /// A destination word; for `_` an unused one.
    pub fn word_destination(&mut self, operand: &Operand) -> Result<Reg> {
        match self.destination(Width::Word, operand)? {
            Slot::Word(reg) => Ok(reg),
            Slot::Double(_) => Err(self.wrong(Width::Word.register(), &text(operand))),
        }
    }

    /// A destination predicate; `None` for `_`.
    pub fn pred_destination(&self, operand: &Operand) -> Result<Option<Reg>> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(None),
            Operand::Name(name) => self.pred_named(name).map(Some),
            _ => Err(self.wrong("a predicate", &text(operand))),
        }
    }

    /// The binding of an operand that is a name.
    pub fn binding(&self, operand: &Operand) -> Option<Binding<'_>> {
        match operand {
            Operand::Name(name) => self.names.find(name),
            _ => None,
        }
    }

    /// `[base+offset]` in the space that the instruction names, otherwise in that of the variable.
    pub fn address(&mut self, space: Space, operand: &Operand) -> Result<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err(self.wrong("an address", &text(operand)));
        };
        let offset = *offset;
        let Some(name) = base else {
            return Ok(Address {
                space,
                base: None,
                offset,
            });
        };
        match self.names.find(name) {
            Some(Binding::Register(slot, _)) => {
                // The parameters of an inlined function are in the thread's local memory.
                let in_function = space == Space::Param && self.calls.len() > 1;
                let space = if in_function { Space::Local } else { space };
                Ok(Address {
                    space,
                    base: Some(slot),
                    offset,
                })
            }
            Some(Binding::Memory(of, at)) if fits(space, of) => Ok(Address {
                space: of,
                base: None,
                offset: offset.wrapping_add_unsigned(at),
            }),
            Some(Binding::Global(variable)) if fits(space, Space::Global) => {
                let base = Slot::Double(self.registers.global(variable, 0));
                Ok(Address {
                    space: Space::Global,
                    base: Some(base),
                    offset,
                })
            }
            _ => Err(self.wrong(&format!("a register or {}", variable_of(space)), name)),
        }
    }
}

/// Suggests the special register for a CUDA name or a name without its `%`.
fn meant(name: &str) -> Option<String> {
    let (base, axis) = name.split_at(name.find('.').unwrap_or(name.len()));
    let known = match base.trim_start_matches('%') {
        "threadIdx" => "%tid",
        "blockIdx" => "%ctaid",
        "blockDim" => "%ntid",
        "gridDim" => "%nctaid",
        "warpSize" if axis.is_empty() => return Some("WARP_SZ".into()),
        _ => return Some(format!("%{name}")).filter(|name| special(name).is_some()),
    };
    let axis = if axis.is_empty() { ".x" } else { axis };
    Some(format!("{known}{axis}")).filter(|name| special(name).is_some())
}

/// Whether an instruction for one space may name a variable of another: in a function, `ld.param` reads local
/// memory.
fn fits(instruction: Space, variable: Space) -> bool {
    instruction == variable
        || instruction == Space::Generic
        || (instruction == Space::Param && variable == Space::Local)
        || (instruction == Space::Cluster && variable == Space::Shared)
}

fn variable_of(space: Space) -> String {
    match space {
        Space::Generic => "a variable".into(),
        Space::Cluster => "a variable in .shared".into(),
        named => format!("a variable in .{}", format!("{named:?}").to_lowercase()),
    }
}

/// An operand approximately as written, for errors.
pub(super) fn text(operand: &Operand) -> String {
    let list = |of: &[Operand]| of.iter().map(text).collect::<Vec<_>>().join(", ");
    match operand {
        Operand::Name(name) => name.clone(),
        Operand::Not(name) => format!("!{name}"),
        Operand::Offset(name, offset) => format!("{name}+{offset}"),
        Operand::Immediate(Immediate::Int(value)) => value.to_string(),
        Operand::Immediate(Immediate::F32(bits)) => format!("0f{bits:08x}"),
        Operand::Immediate(Immediate::F64(bits)) => format!("0d{bits:016x}"),
        Operand::Address(Some(base), offset) => format!("[{base}+{offset}]"),
        Operand::Address(None, offset) => format!("[{offset}]"),
        Operand::Element(base, at) => format!("[{base}, {{{}}}]", list(at)),
        Operand::Vector(of) => format!("{{{}}}", list(of)),
        Operand::Pair(a, b) => format!("{}|{}", text(a), text(b)),
        Operand::List(of) => format!("({})", list(of)),
    }
}
