//! Barriers in shared memory: `mbarrier`.

use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::{Mbarrier, Op, Scope};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, mods, scope, space, space_of};
use super::registers::Width;

/// Whether a modifier says no more than where, in what order and for whom.
fn is_common(name: &str) -> bool {
    let orders = ["relaxed", "acquire", "release", "b64"];
    orders.contains(&name) || scope(name).is_some() || is_shared(name)
}

fn is_shared(name: &str) -> bool {
    matches!(space(name), Some(Space::Shared | Space::Cluster))
}

impl Lowering<'_> {
    /// All of `mbarrier`.
    pub fn mbarrier(&mut self, i: &Instruction) -> Result<()> {
        let named: Vec<&str> = mods(i).into_iter().filter(|m| !is_common(m)).collect();
        let operands = i.operands.as_slice();
        let (at, act) = match (named.as_slice(), operands) {
            (["init"], [at, count]) => {
                let count = self.word(count, Type::U32)?;
                (at, Mbarrier::Init { count })
            }
            (["inval"], [at]) => (at, Mbarrier::Invalidate),
            (["expect_tx"], [at, bytes]) => {
                let bytes = self.word(bytes, Type::U32)?;
                (at, Mbarrier::Expect { bytes })
            }
            (["complete_tx"], [at, bytes]) => {
                let bytes = self.word(bytes, Type::U32)?;
                (at, Mbarrier::Complete { bytes })
            }
            (["arrive" | "arrive_drop", with @ ..], [d, at, more @ ..]) => {
                (at, self.mbarrier_arrive(i, with, d, more)?)
            }
            (["test_wait" | "try_wait", with @ ..], [d, at, phase, ..]) => {
                (at, self.mbarrier_wait(i, with, d, phase)?)
            }
            _ => return Err(self.unsupported("")),
        };
        let at = self.address(space_of(i), at)?;
        self.emit_only(Op::Mbarrier { at, act })
    }

    /// `mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 d, [at], bytes`, `mbarrier.arrive.b64 d, [at], count`
    fn mbarrier_arrive(
        &mut self,
        i: &Instruction,
        with: &[&str],
        d: &Operand,
        more: &[Operand],
    ) -> Result<Mbarrier> {
        let (expects, completes) = match with {
            [] => (false, true),
            ["expect_tx"] => (true, true),
            ["noComplete"] => (false, false),
            _ => return Err(self.unsupported("")),
        };
        let number = match more {
            [] if !expects => None,
            [number] => Some(self.word(number, Type::U32)?),
            _ => return Err(self.count_error(3, i.operands.len())),
        };
        let d = match self.written(d)? {
            None => None,
            Some(_) => Some(self.destination(Width::Double, d)?),
        };
        Ok(Mbarrier::Arrive {
            d,
            count: number.filter(|_| !expects),
            bytes: number.filter(|_| expects),
            completes,
            drops: has(i, "arrive_drop"),
            release: (!has(i, "relaxed")).then(|| self.scope_of(i)),
        })
    }

    /// `mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 d, [at], parity`
    fn mbarrier_wait(
        &mut self,
        i: &Instruction,
        with: &[&str],
        d: &Operand,
        phase: &Operand,
    ) -> Result<Mbarrier> {
        let (width, ty) = match with {
            [] => (Width::Double, Type::B64),
            ["parity"] => (Width::Word, Type::U32),
            _ => return Err(self.unsupported("")),
        };
        let phase = self.source(width, phase, ty)?;
        let d = match self.pred_destination(d)? {
            Some(d) => d,
            None => self.registers.new_preds(1),
        };
        Ok(Mbarrier::Wait {
            d,
            phase,
            acquires: !has(i, "relaxed"),
        })
    }

    /// The scope that is named, or the block.
    fn scope_of(&self, i: &Instruction) -> Scope {
        let named = i.mods.iter().find_map(|m| scope(m));
        named.unwrap_or(Scope::Block)
    }
}
