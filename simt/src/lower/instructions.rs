//! Dispatch of instructions to the functions that lower them.

use crate::ast::{Instruction, Operand};
use crate::code::Op;
use crate::error::Result;

use super::Lowering;
use super::modifiers::mods;

impl<'a> Lowering<'a> {
    /// Lowers one instruction.
    pub fn instruction(&mut self, i: &'a Instruction) -> Result<()> {
        self.check_target(i)?;
        self.check_types(i)?;
        let mods = mods(i);
        match (i.opcode.as_str(), mods.as_slice()) {
            ("mov", [.., "pred"]) => self.mov_pred(i),
            ("mov", _) => self.mov(i),
            ("not", ["pred"]) => self.not_pred(i),
            ("and" | "or" | "xor", ["pred"]) => self.logic(i),
            ("setp", _) => self.setp(i),
            ("selp", _) => self.selp(i),
            ("slct", _) => self.slct(i),
            ("testp", _) => self.testp(i),
            ("set", _) if self.is_set_by_predicate(i) => self.set_by_predicate(i),
            ("add" | "sub" | "mad", [.., "cc", _]) | ("addc" | "subc" | "madc", _) => self.carry(i),
            ("cvt", _) => self.cvt(i),
            ("cvta", _) => self.cvta(i),
            ("isspacep", _) => self.isspacep(i),
            ("ld" | "ldu", _) => self.load(i),
            ("st", ["async", ..]) => self.store_async(i),
            ("st", _) => self.store(i),
            ("atom" | "red", _) => self.atomic(i),
            ("cp", ["async", ..]) => self.copy_async(i),
            ("bra", _) => self.branch(i),
            ("brx", _) => self.branch_index(i),
            ("ret", _) => self.ret(),
            ("call", _) => self.call(i),
            _ => self.warp_instruction(i, &mods),
        }
    }

    /// Lowers instructions of a whole warp, and those without a visible effect.
    fn warp_instruction(&mut self, i: &'a Instruction, mods: &[&str]) -> Result<()> {
        match (i.opcode.as_str(), mods) {
            ("shfl", ["sync", ..]) => self.shuffle(i),
            ("vote", ["sync", ..]) => self.vote(i),
            ("match", _) => self.match_lanes(i),
            ("redux", _) => self.redux(i),
            ("activemask", _) => self.active_mask(i),
            ("bar", ["warp", ..]) => self.warp_sync(i),
            ("barrier", ["cluster", "arrive", ..]) => self.cluster_arrive(i),
            ("barrier", ["cluster", "wait", ..]) => self.cluster_wait(i),
            ("mbarrier", _) => self.mbarrier(i),
            ("mapa", _) => self.map_address(i),
            ("getctarank", _) => self.address_rank(i),
            ("bar" | "barrier", _) => self.barrier(i),
            ("membar" | "fence", _) => self.fence(i),
            ("ldmatrix", _) => self.load_matrix(i),
            ("stmatrix", _) => self.store_matrix(i),
            ("mma", ["sync", ..]) => self.mma(i),
            ("wmma", ["mma", ..]) => self.wmma(i),
            ("wmma", ["load" | "store", ..]) => self.wmma_memory(i),
            ("exit", _) => self.emit_only(Op::Exit),
            ("trap", _) => self.emit_only(Op::Trap),
            ("griddepcontrol", ["launch_dependents"]) => self.emit_only(Op::LaunchDependents),
            ("griddepcontrol", ["wait"]) => self.emit_only(Op::GridWait),
            ("createpolicy", _) => self.policy(i),
            ("branchtargets", _) => Ok(()),
            _ if is_silent(&i.opcode) => self.emit_only(Op::Nothing),
            _ => match missing(&i.opcode, mods) {
                Some(why) => Err(self.unsupported(why)),
                None => self.arithmetic(i),
            },
        }
    }

    /// `createpolicy`: a value that only cache hints read.
    fn policy(&mut self, i: &Instruction) -> Result<()> {
        let (d, _) = self.operands_and_more::<1>(i)?;
        self.mov_bits(
            &d[0],
            &Operand::Immediate(crate::ast::Immediate::Int(0)),
            crate::ast::Type::B64,
        )
    }
}

/// Whether an opcode has no visible effect.
fn is_silent(opcode: &str) -> bool {
    let silent = [
        "brkpt",
        "nanosleep",
        "prefetch",
        "prefetchu",
        "pragma",
        "applypriority",
        "discard",
    ];
    silent.contains(&opcode)
}

/// Returns why this machine does not run an instruction.
fn missing(opcode: &str, mods: &[&str]) -> Option<&'static str> {
    Some(match opcode {
        "wgmma" | "setmaxnreg" => ": this machine has no warp groups",
        "tcgen05" => ": this machine has no tensor memory",
        "clusterlaunchcontrol" => ": this machine cancels no clusters",
        "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" => {
            ": this machine has no textures"
        }
        "multimem" => ": this machine has no other devices",
        "tensormap" => ": this machine has no copies of tensors",
        "shfl" | "vote" => ": it needs .sync since sm_70",
        "mma" if mods.first() == Some(&"sp") => ": this machine has no sparse products",
        "alloca" | "stacksave" | "stackrestore" => ": this machine has no stack",
        _ => return None,
    })
}
