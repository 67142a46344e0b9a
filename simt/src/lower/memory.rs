//! Loads and stores.

use crate::alu::{self, Alu};
use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::{Op, Scope, Slot};
use crate::error::Result;

use super::Lowering;
use super::arithmetic::is_signed;
use super::modifiers::{has, is_cache_hint, scope, space};
use super::names::Binding;
use super::operands::text;
use super::registers::Width;

/// The modifiers of a load or a store.
struct Access {
    space: Space,
    vector: usize,
    ty: Type,
    strong: bool,
    /// `.release`, for a store.
    release: Option<Scope>,
}

impl Lowering<'_> {
    fn access(&self, i: &Instruction) -> Result<Access> {
        let mut access = Access {
            space: Space::Generic,
            vector: 1,
            ty: self.last_type(i)?,
            strong: false,
            release: None,
        };
        for m in &i.mods[..i.mods.len() - 1] {
            match m.as_str() {
                "v2" => access.vector = 2,
                "v4" => access.vector = 4,
                "v8" => access.vector = 8,
                "volatile" | "relaxed" | "acquire" | "release" | "mmio" => access.strong = true,
                "weak" | "unified" => {}
                m if space(m).is_some() => access.space = space(m).unwrap_or(Space::Generic),
                m if is_cache_hint(m) || scope(m).is_some() => {}
                _ => return Err(self.unsupported("")),
            }
        }
        if has(i, "release") {
            let named = i.mods.iter().find_map(|m| scope(m));
            access.release = Some(named.unwrap_or(Scope::System));
        }
        if access.vector as u32 * access.ty.bytes() > 16 {
            return Err(self.unsupported(": this machine moves at most 16 bytes per lane"));
        }
        Ok(access)
    }

    /// The elements of a vector, or the only operand.
    fn elements<'i>(&self, access: &Access, operand: &'i Operand) -> Result<&'i [Operand]> {
        let elements = match operand {
            Operand::Vector(elements) => elements,
            single => std::slice::from_ref(single),
        };
        if elements.len() == access.vector {
            Ok(elements)
        } else {
            Err(self.count_error(access.vector, elements.len()))
        }
    }

    /// `ld.global.v2.f32 {d, e}, [a+8]`, `ldu`; a cache policy may follow.
    pub fn load(&mut self, i: &Instruction) -> Result<()> {
        let access = self.access(i)?;
        let (ty, strong) = (access.ty, access.strong);
        let ([d, from], _) = self.operands_and_more::<2>(i)?;
        let elements = self.elements(&access, d)?;
        let written = elements.iter().map(|element| self.loaded(element, ty));
        let written: Vec<_> = written.collect::<Result<_>>()?;
        let from = self.address(access.space, from)?;
        let declared = written
            .iter()
            .flatten()
            .next()
            .map_or(ty, |(_, declared)| *declared);
        let signed = is_signed(ty) && declared.bytes() > ty.bytes();
        let d: Vec<_> = written
            .into_iter()
            .map(|w| w.map(|(slot, _)| slot))
            .collect();
        self.emit(Op::Load {
            d: d.clone(),
            bytes: ty.bytes(),
            signed,
            from,
            strong,
        });
        if signed && declared.bytes() == 2 {
            self.cut_to_16_bits(d);
        }
        Ok(())
    }

    /// A destination and its declared type, which may be wider than the loaded one.
    fn loaded(&self, operand: &Operand, ty: Type) -> Result<Option<(Slot, Type)>> {
        match self.written(operand)? {
            Some((_, declared)) if declared.bytes() < ty.bytes() => {
                Err(self.wrong("a register that is wide enough", &text(operand)))
            }
            written => Ok(written),
        }
    }

    /// Clears the upper bits of 16-bit registers.
    fn cut_to_16_bits(&mut self, slots: Vec<Option<Slot>>) {
        for slot in slots.into_iter().flatten() {
            self.emit_alu(Alu::W(alu::low16), slot, vec![slot]);
        }
    }

    /// `st.shared.v2.f32 [a], {b, c}`
    pub fn store(&mut self, i: &Instruction) -> Result<()> {
        let access = self.access(i)?;
        let ([to, value], _) = self.operands_and_more::<2>(i)?;
        let mut from = Vec::new();
        for element in self.elements(&access, value)? {
            from.push(self.stored(element, access.ty)?);
        }
        let to = self.address(access.space, to)?;
        self.emit(Op::Store {
            to,
            from,
            bytes: access.ty.bytes(),
            strong: access.strong,
            release: access.release,
        });
        Ok(())
    }

    /// `st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [a], {b, c, d, e}, [barrier]`
    pub fn store_async(&mut self, i: &Instruction) -> Result<()> {
        let named = |m: &String| {
            matches!(
                m.as_str(),
                "async" | "weak" | "shared::cluster" | "v2" | "v4"
            ) || m == "mbarrier::complete_tx::bytes"
        };
        let vector = match (has(i, "v2"), has(i, "v4")) {
            (false, false) => 1,
            (two, _) => 4 - 2 * usize::from(two),
        };
        let ty = self.last_type(i)?;
        let bytes = vector as u32 * ty.bytes();
        let is_known = i.mods[..i.mods.len() - 1].iter().all(named);
        if !is_known || ty.bytes() < 4 || bytes > 16 {
            return Err(self.unsupported(""));
        }
        let access = Access {
            space: Space::Cluster,
            vector,
            ty,
            strong: false,
            release: None,
        };
        let [to, value, barrier] = self.operands::<3>(i)?;
        let mut from = Vec::new();
        for element in self.elements(&access, value)? {
            from.push(self.stored(element, ty)?);
        }
        let to = self.address(Space::Cluster, to)?;
        let barrier = self.address(Space::Cluster, barrier)?;
        self.emit(Op::StoreAsync {
            to,
            from,
            bytes: ty.bytes(),
            barrier,
        });
        Ok(())
    }

    /// The value to store: a register, which may be wider than the type, or a constant.
    fn stored(&mut self, operand: &Operand, ty: Type) -> Result<Slot> {
        let declared = match self.binding(operand) {
            Some(Binding::Register(slot, declared)) => Some((slot, declared)),
            _ => None,
        };
        match declared {
            Some((slot, declared)) if declared.bytes() >= ty.bytes() => Ok(slot),
            Some(_) => Err(self.wrong("a register that is wide enough", &text(operand))),
            None => self.source(Width::of(ty), operand, ty),
        }
    }
}
