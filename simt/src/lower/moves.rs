//! `mov`: copies registers, constants, addresses and special registers, and packs or unpacks vectors.

use crate::alu::{Alu, high, high16, low, low16, pack16, pack64};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Op, Slot, Special};
use crate::error::Result;

use super::Lowering;
use super::lanewise::{same_double, same_word, widen};
use super::registers::{Width, special};

impl Lowering<'_> {
    /// Lowers `mov`, except for predicates.
    pub fn mov(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.last_type(i)?;
        if matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) {
            return Err(self.not_selected(i));
        }
        let [d, a] = self.operands::<2>(i)?;
        match (d, a) {
            (Operand::Vector(parts), _) => self.unpack(parts, a, ty),
            (_, Operand::Vector(parts)) => self.pack(d, parts, ty),
            (_, Operand::Name(name)) if self.names.find(name).is_none() => {
                self.mov_special(d, name, ty)
            }
            (_, Operand::Name(name) | Operand::Offset(name, _)) if self.is_function(name) => {
                Err(self.unsupported(": indirect calls"))
            }
            _ => self.mov_bits(d, a, ty),
        }
    }

    fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name) && self.names.find(name).is_none()
    }

    /// Moves a register, a constant or an address.
    pub fn mov_bits(&mut self, d: &Operand, a: &Operand, ty: Type) -> Result<()> {
        let width = Width::of(ty);
        let a = self.source(width, a, ty)?;
        let d = self.destination(width, d)?;
        self.emit_move(d, a);
        Ok(())
    }

    /// Emits a copy between registers of the same width, or from a word to a double.
    pub fn emit_move(&mut self, d: Slot, a: Slot) {
        let alu = match (d, a) {
            (Slot::Word(_), Slot::Word(_)) => Alu::W(same_word),
            (Slot::Double(_), Slot::Double(_)) => Alu::D(same_double),
            (Slot::Double(_), Slot::Word(_)) => Alu::WtoD(widen),
            (Slot::Word(_), Slot::Double(_)) => Alu::DtoW(low),
        };
        self.emit_alu(alu, d, vec![a]);
    }

    /// Moves a name without a declaration: a clock, a special register or a function.
    fn mov_special(&mut self, d: &Operand, name: &str, ty: Type) -> Result<()> {
        if self.is_function(name) {
            return Err(self.unsupported(": indirect calls"));
        }
        match name {
            "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => {
                let d = self.destination(Width::of(ty), d)?;
                self.emit(Op::Clock { d });
                Ok(())
            }
            "%clock_hi" | "%globaltimer_hi" => {
                let (d, zero) = (self.destination(Width::Word, d)?, self.registers.word(0));
                self.emit_move(d, Slot::Word(zero));
                Ok(())
            }
            _ => {
                let width = match special(name) {
                    Some(Special::GridId) => Width::Word, // of 64 bits, and never set here
                    Some(_) if ty.bytes() == 8 => {
                        return Err(self.wrong("a register of 64 bits", name));
                    }
                    Some(_) => Width::Word,
                    None => Width::of(ty),
                };
                let a = self.source(width, &Operand::Name(name.into()), ty)?;
                let d = self.destination(Width::of(ty), d)?;
                self.emit_move(d, a);
                Ok(())
            }
        }
    }

    /// `mov.b64 d, {a, b}`
    fn pack(&mut self, d: &Operand, parts: &[Operand], ty: Type) -> Result<()> {
        let part = self.part_type(parts.len(), ty)?;
        let mut from = Vec::new();
        for p in parts {
            from.push(self.source(Width::Word, p, part)?);
        }
        let d = self.destination(Width::of(ty), d)?;
        match *from {
            [a, b] if ty.bytes() == 8 => self.emit_alu(Alu::WWtoD(pack64), d, vec![a, b]),
            [a, b] => self.emit_alu(Alu::WW(pack16), d, vec![a, b]),
            _ => {
                let halves = from.chunks(2).map(|pair| self.pack_half(pair)).collect();
                self.emit_alu(Alu::WWtoD(pack64), d, halves);
            }
        }
        Ok(())
    }

    fn pack_half(&mut self, pair: &[Slot]) -> Slot {
        let d = Slot::Word(self.registers.new_word());
        self.emit_alu(Alu::WW(pack16), d, pair.to_vec());
        d
    }

    /// `mov.b64 {d, e}, a`
    fn unpack(&mut self, parts: &[Operand], a: &Operand, ty: Type) -> Result<()> {
        let part = self.part_type(parts.len(), ty)?;
        let a = self.source(Width::of(ty), a, ty)?;
        let halves = match a {
            Slot::Double(_) if part.bytes() == 2 => {
                vec![self.unpack_half(low, a), self.unpack_half(high, a)]
            }
            whole => vec![whole],
        };
        for (n, p) in parts.iter().enumerate() {
            if self.written(p)?.is_none() {
                continue;
            }
            let d = self.destination(Width::Word, p)?;
            let alu = match (part.bytes(), n % 2) {
                (4, 0) => Alu::DtoW(low),
                (4, _) => Alu::DtoW(high),
                (_, 0) => Alu::W(low16),
                _ => Alu::W(high16),
            };
            self.emit_alu(alu, d, vec![halves[n / 2]]);
        }
        Ok(())
    }

    fn unpack_half(&mut self, half: fn(&[u64; 32]) -> [u32; 32], a: Slot) -> Slot {
        let d = Slot::Word(self.registers.new_word());
        self.emit_alu(Alu::DtoW(half), d, vec![a]);
        d
    }

    /// The type of each of `parts` equal parts.
    fn part_type(&self, parts: usize, ty: Type) -> Result<Type> {
        match (ty.bytes(), parts) {
            (8, 2) => Ok(Type::B32),
            (8, 4) | (4, 2) => Ok(Type::B16),
            _ => Err(self.unsupported(": only words and halves of words are packed")),
        }
    }
}
