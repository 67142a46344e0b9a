//! `cp.async`.

use crate::ast::{Immediate, Instruction, Operand, Space, Type};
use crate::code::{Op, Reg};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, mods};
use super::names::Binding;

impl Lowering<'_> {
    /// Lowers all forms of `cp.async`.
    pub fn copy_async(&mut self, i: &Instruction) -> Result<()> {
        match mods(i).as_slice() {
            ["async", "commit_group"] => self.emit_only(Op::CopyCommit),
            ["async", "wait_all"] => self.emit_only(Op::CopyWait(None)),
            ["async", "wait_group"] => {
                let [groups] = self.operands::<1>(i)?;
                let groups = self.literal(groups)?;
                self.emit_only(Op::CopyWait(Some(groups)))
            }
            ["async", "ca" | "cg", ..] => self.copy(i),
            ["async", "bulk", rest @ ..] => self.bulk(i, rest),
            ["async", "mbarrier", ..] => {
                Err(self.unsupported(": copies of single threads arrive at no mbarrier here"))
            }
            _ => Err(self.unsupported("")),
        }
    }

    /// `cp.async.bulk`: one thread starts the copy of rows of bytes.
    fn bulk(&mut self, i: &Instruction, rest: &[&str]) -> Result<()> {
        let complete = "mbarrier::complete_tx::bytes";
        let rest: Vec<&str> = rest
            .iter()
            .filter(|m| **m != "L2::cache_hint")
            .copied()
            .collect();
        match rest.as_slice() {
            ["commit_group"] => self.emit_only(Op::BulkCommit),
            ["wait_group", read @ ..] if matches!(read, [] | ["read"]) => {
                let [groups] = self.operands::<1>(i)?;
                let groups = self.literal(groups)?;
                self.emit_only(Op::BulkWait {
                    groups,
                    read: !read.is_empty(),
                })
            }
            [to @ ("shared::cluster" | "shared::cta"), "global", by] if *by == complete => {
                let ([to_at, from, bytes, barrier], _) = self.operands_and_more::<4>(i)?;
                let space = super::modifiers::space(to).unwrap_or(Space::Cluster);
                let bytes = self.word(bytes, Type::U32)?;
                let to = self.address(space, to_at)?;
                let from = self.address(Space::Global, from)?;
                let barrier = self.address(space, barrier)?;
                self.emit_only(Op::BulkLoad {
                    to,
                    from,
                    bytes,
                    barrier,
                })
            }
            ["global", "shared::cta", "bulk_group"] => {
                let ([to, from, bytes], _) = self.operands_and_more::<3>(i)?;
                let bytes = self.word(bytes, Type::U32)?;
                let to = self.address(Space::Global, to)?;
                let from = self.address(Space::Shared, from)?;
                self.emit_only(Op::BulkStore { to, from, bytes })
            }
            ["tensor", ..] => Err(self.unsupported(": this machine has no copies of tensors")),
            _ if has(i, "multicast::cluster") => {
                Err(self.unsupported(": this machine copies to one block at a time"))
            }
            _ => Err(self.unsupported(
                ": of bulk copies this machine has those from global to shared memory and back",
            )),
        }
    }

    /// `cp.async.cg.shared.global [to], [from], 16, size`
    fn copy(&mut self, i: &Instruction) -> Result<()> {
        let ([to, from, bytes], more) = self.operands_and_more::<3>(i)?;
        let bytes = self.literal(bytes)?;
        // `.cg` bypasses the L1 cache and copies 16 bytes.
        let (sizes, expected): (&[u32], _) = if has(i, "cg") {
            (&[16], "16 bytes")
        } else {
            (&[4, 8, 16], "4, 8 or 16 bytes")
        };
        if !sizes.contains(&bytes) {
            return Err(self.wrong(expected, &bytes.to_string()));
        }
        let policies = usize::from(has(i, "L2::cache_hint"));
        let size = match &more[..more.len().saturating_sub(policies)] {
            [] => None,
            [size] => Some(self.copy_size(size)?),
            _ => return Err(self.count_error(4, i.operands.len())),
        };
        let to = self.address(Space::Shared, to)?;
        let from = self.address(Space::Global, from)?;
        self.emit(Op::CopyAsync {
            to,
            from,
            bytes,
            size,
        });
        Ok(())
    }

    fn copy_size(&mut self, operand: &Operand) -> Result<Reg> {
        match self.binding(operand) {
            Some(Binding::Pred(_)) => Err(self.unsupported(": copies that a predicate turns off")),
            _ => self.word(operand, Type::U32),
        }
    }

    /// A number that must be a constant.
    fn literal(&self, operand: &Operand) -> Result<u32> {
        match operand {
            Operand::Immediate(Immediate::Int(value)) => Ok(*value as u32),
            _ => Err(self.wrong("a constant", &super::operands::text(operand))),
        }
    }
}
