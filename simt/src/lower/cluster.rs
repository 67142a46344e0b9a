//! Clusters: addresses of other blocks' shared memory, and the barrier of the cluster.

use crate::alu::{self, Compare};
use crate::ast::{Instruction, Type};
use crate::code::{Op, Reg, Slot, Special};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, mods};
use super::registers::Width;

impl Lowering<'_> {
    /// `mapa.shared::cluster.u32 d, a, rank`, `mapa.u64 d, a, rank`
    pub fn map_address(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.address_type(i)?;
        let [d, a, rank] = self.operands::<3>(i)?;
        let a = self.source(Width::of(ty), a, ty)?;
        let rank = self.word(rank, Type::U32)?;
        let d = self.destination(Width::of(ty), d)?;
        self.emit_only(Op::MapAddress { d, a, rank })
    }

    /// `getctarank.shared::cluster.u32 d, a`; of `.u64` the address is generic or as wide.
    pub fn address_rank(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.address_type(i)?;
        let [d, a] = self.operands::<2>(i)?;
        let a = self.source(Width::of(ty), a, ty)?;
        let d = self.word_destination(d)?;
        self.emit_only(Op::AddressRank { d, a })
    }

    /// The type of an address of shared memory, which only `.shared::cluster` has in 32 bits.
    fn address_type(&self, i: &Instruction) -> Result<Type> {
        match mods(i).as_slice() {
            ["shared::cluster", "u32"] => Ok(Type::U32),
            ["u64"] | ["shared::cluster", "u64"] => Ok(Type::U64),
            _ => Err(self.unsupported("")),
        }
    }

    /// `barrier.cluster.arrive.release.aligned`
    pub fn cluster_arrive(&mut self, i: &Instruction) -> Result<()> {
        self.check_mods(i, &["release", "relaxed", "aligned"])?;
        self.emit_only(Op::ClusterArrive {
            aligned: has(i, "aligned"),
            release: !has(i, "relaxed"),
        })
    }

    /// `barrier.cluster.wait.acquire.aligned`
    pub fn cluster_wait(&mut self, i: &Instruction) -> Result<()> {
        self.check_mods(i, &["acquire", "aligned"])?;
        self.emit_only(Op::ClusterWait {
            aligned: has(i, "aligned"),
        })
    }

    /// Whether what follows the first two modifiers is among `known`, and no operand is there.
    fn check_mods(&self, i: &Instruction, known: &[&str]) -> Result<()> {
        let [] = self.operands::<0>(i)?;
        if i.mods.iter().skip(2).all(|m| known.contains(&m.as_str())) {
            Ok(())
        } else {
            Err(self.unsupported(""))
        }
    }

    /// d = `%is_explicit_cluster`.
    pub fn emit_is_explicit(&mut self, d: Reg) {
        let explicit = Slot::Word(self.registers.special(Special::IsExplicitCluster));
        let zero = Slot::Word(self.registers.word(0));
        if let Some(compare @ Compare::W(_)) = alu::compare("ne", Type::U32, false) {
            self.emit(Op::Setp {
                compare,
                d: (Some(d), None),
                a: explicit,
                b: zero,
                combine: None,
            });
        }
    }
}
