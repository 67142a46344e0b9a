//! Barriers and fences.

use crate::ast::{Instruction, Operand, Type};
use crate::code::{Op, Reg, Vote};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, mods, scope};

/// The reduction of `bar.red`: see [`Op::Barrier`].
type Reduce = (Vote, Reg, bool, std::result::Result<Reg, Reg>);

impl Lowering<'_> {
    /// `bar.warp.sync members`
    pub fn warp_sync(&mut self, i: &Instruction) -> Result<()> {
        let [members] = self.operands::<1>(i)?;
        let members = self.word(members, Type::B32)?;
        self.emit(Op::WarpSync { members });
        Ok(())
    }

    /// `bar.sync a, b`, `barrier.cta.arrive.aligned a, b`, `bar.red.popc.u32 d, a, b, c`
    pub fn barrier(&mut self, i: &Instruction) -> Result<()> {
        let mods: Vec<_> = mods(i)
            .into_iter()
            .filter(|m| !["cta", "aligned"].contains(m))
            .collect();
        let aligned = i.opcode == "bar" || has(i, "aligned");
        let operands = i.operands.as_slice();
        match (mods.as_slice(), operands) {
            (["sync"], [id, threads @ ..]) => self.emit_barrier(id, threads, true, aligned, None),
            (["arrive"], [id, threads @ ..]) => {
                self.emit_barrier(id, threads, false, aligned, None)
            }
            (["red", kind, _], [d, id, threads @ .., c]) => {
                let reduce = self.reduce(kind, d, c)?;
                self.emit_barrier(id, threads, true, aligned, Some(reduce))
            }
            _ => Err(self.unsupported("")),
        }
    }

    fn emit_barrier(
        &mut self,
        id: &Operand,
        threads: &[Operand],
        wait: bool,
        aligned: bool,
        reduce: Option<Reduce>,
    ) -> Result<()> {
        let id = self.word(id, Type::U32)?;
        let threads = match threads {
            [] => None,
            [threads] => Some(self.word(threads, Type::U32)?),
            more => return Err(self.count_error(2, more.len() + 1)),
        };
        self.emit(Op::Barrier {
            id,
            threads,
            wait,
            aligned,
            reduce,
        });
        Ok(())
    }

    fn reduce(&mut self, kind: &str, d: &Operand, c: &Operand) -> Result<Reduce> {
        let (c, negated) = self.condition(c)?;
        if kind == "popc" {
            return Ok((Vote::Popc, c, negated, Err(self.word_destination(d)?)));
        }
        let vote = match kind {
            "and" => Vote::All,
            "or" => Vote::Any,
            _ => return Err(self.unsupported("")),
        };
        match self.pred_destination(d)? {
            Some(d) => Ok((vote, c, negated, Ok(d))),
            None => Ok((vote, c, negated, Ok(self.registers.new_preds(1)))),
        }
    }

    /// `membar.gl`, `fence.acq_rel.gpu`, `fence.mbarrier_init.release.cluster`, `fence.proxy.async`
    pub fn fence(&mut self, i: &Instruction) -> Result<()> {
        match mods(i).as_slice() {
            // Copies see what was written before them, with or without it.
            ["proxy", "async", ..] => return self.emit_only(Op::Nothing),
            ["proxy", ..] => return Err(self.unsupported(": this machine has one way to memory")),
            _ => {}
        }
        match i.mods.iter().find_map(|m| scope(m)) {
            Some(scope) => self.emit_only(Op::Fence(scope)),
            None => Err(self.unsupported("")),
        }
    }
}
