//! Instructions that the lanes of a warp execute together.

use crate::ast::{Instruction, Operand, Type};
use crate::code::{Op, Shuffle, Vote};
use crate::error::Result;

use super::Lowering;
use super::atomics::update;
use super::modifiers::mods;
use super::registers::Width;

/// `d|p` → d and p; `d` → d alone.
fn pair(operand: &Operand) -> (&Operand, Option<&Operand>) {
    match operand {
        Operand::Pair(d, p) => (d, Some(p)),
        d => (d, None),
    }
}

impl Lowering<'_> {
    /// `shfl.sync.bfly.b32 d|p, a, b, c, members`
    pub fn shuffle(&mut self, i: &Instruction) -> Result<()> {
        let mode = match mods(i).as_slice() {
            ["sync", "up", "b32"] => Shuffle::Up,
            ["sync", "down", "b32"] => Shuffle::Down,
            ["sync", "bfly", "b32"] => Shuffle::Butterfly,
            ["sync", "idx", "b32"] => Shuffle::Index,
            _ => return Err(self.unsupported("")),
        };
        let [d, a, b, c, members] = self.operands::<5>(i)?;
        let (d, p) = pair(d);
        let a = self.word(a, Type::B32)?;
        let b = self.word(b, Type::B32)?;
        let c = self.word(c, Type::B32)?;
        let members = self.word(members, Type::B32)?;
        let d = self.word_destination(d)?;
        let p = p.map_or(Ok(None), |p| self.pred_destination(p))?;
        self.emit(Op::Shuffle {
            d,
            p,
            mode,
            a,
            b,
            c,
            members,
        });
        Ok(())
    }

    /// `vote.sync.any.pred p, a, members`, `vote.sync.ballot.b32 d, a, members`
    pub fn vote(&mut self, i: &Instruction) -> Result<()> {
        let mode = match mods(i).as_slice() {
            ["sync", "all", "pred"] => Vote::All,
            ["sync", "any", "pred"] => Vote::Any,
            ["sync", "uni", "pred"] => Vote::Uniform,
            ["sync", "ballot", "b32"] => Vote::Ballot,
            _ => return Err(self.unsupported("")),
        };
        let [d, a, members] = self.operands::<3>(i)?;
        let (a, negated) = self.condition(a)?;
        let members = self.word(members, Type::B32)?;
        let (word, pred) = match mode {
            Vote::Ballot => (Some(self.word_destination(d)?), None),
            _ => (None, self.pred_destination(d)?),
        };
        self.emit(Op::Vote {
            mode,
            word,
            pred,
            a,
            negated,
            members,
        });
        Ok(())
    }

    /// `match.any.sync.b32 d, a, members`, `match.all.sync.b64 d|p, a, members`
    pub fn match_lanes(&mut self, i: &Instruction) -> Result<()> {
        let all = match mods(i).as_slice() {
            ["any", "sync", _] => false,
            ["all", "sync", _] => true,
            _ => return Err(self.unsupported("")),
        };
        let ty = self.last_type(i)?;
        let [d, a, members] = self.operands::<3>(i)?;
        let (d, p) = pair(d);
        let a = self.source(Width::of(ty), a, ty)?;
        let members = self.word(members, Type::B32)?;
        let d = self.word_destination(d)?;
        let p = p.map_or(Ok(None), |p| self.pred_destination(p))?;
        self.emit(Op::Match {
            all,
            d,
            p,
            a,
            members,
        });
        Ok(())
    }

    /// `redux.sync.add.s32 d, a, members`
    pub fn redux(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.last_type(i)?;
        let atomic = match mods(i).as_slice() {
            ["sync", name, "u32" | "s32" | "b32"] => update(name, ty),
            _ => None,
        };
        let Some(atomic) = atomic else {
            return Err(self.unsupported(""));
        };
        let [d, a, members] = self.operands::<3>(i)?;
        let a = self.word(a, ty)?;
        let members = self.word(members, Type::B32)?;
        let d = self.word_destination(d)?;
        self.emit(Op::Redux {
            atomic,
            d,
            a,
            members,
        });
        Ok(())
    }

    /// `activemask.b32 d`
    pub fn active_mask(&mut self, i: &Instruction) -> Result<()> {
        let [d] = self.operands::<1>(i)?;
        let d = self.word_destination(d)?;
        self.emit(Op::ActiveMask { d });
        Ok(())
    }
}
