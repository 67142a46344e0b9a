//! Atomic updates.

use half::{bf16, f16};

use crate::alu::D;
use crate::ast::{Space, Type};
use crate::code::{Atomic, Op};

use super::access::{Kind, Lanes};
use super::block::Block;
use super::coalesce::lanes;

impl Block<'_> {
    /// `atom` and `red`.
    pub fn atomic(&mut self, w: usize, pc: u32, active: u32) {
        let Op::Atomic {
            d,
            atomic,
            at,
            from,
            bytes,
            ordered,
        } = &self.grid.kernel.code[pc as usize].op
        else {
            return;
        };
        self.check_read(w, pc, active, from);
        let operands: Vec<D> = from.iter().map(|s| self.warps[w].wide(*s)).collect();
        let (at, spaces) = self.resolve(w, pc, active, at);
        if *ordered {
            let clock = &mut self.clock;
            let device = !self.grid.kernel.code[pc as usize].is_narrow;
            self.warps[w].known.fence(w, active, clock, device);
        }
        let mut old = [0; 32];
        for (space, mask) in spaces.iter() {
            let on = Lanes {
                w,
                pc,
                mask,
                space,
                at: &at,
                groups: &[],
                strong: true,
            };
            self.count_atomic(&on, *bytes);
            for lane in lanes(mask) {
                if !self.is_fine(w, pc, lane, space, at[lane], *bytes, Kind::Update) {
                    continue;
                }
                let operand = |n: usize| operands.get(n).map_or(0, |o: &D| o[lane]);
                let with = (operand(0), operand(1));
                old[lane] = self.update(w, pc, lane, space, at[lane], (*atomic, *bytes), with);
            }
        }
        if let Some(d) = d {
            self.warps[w].set(*d, active, old);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn update(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        space: Space,
        at: u64,
        (atomic, bytes): (Atomic, u32),
        (a, b): (u64, u64),
    ) -> u64 {
        if space != Space::Global {
            let old = self.read(w, pc, lane, space, at, bytes, true);
            let new = update(atomic, old, a, b);
            self.write(w, pc, lane, space, at, bytes, new, true);
            return old;
        }
        let grid = self.grid;
        grid.global.exclusively(at, || {
            let old = self.read(w, pc, lane, space, at, bytes, true);
            // For f32, atomic units of global memory flush subnormals to zero (PTX ISA, `atom`).
            let new = match atomic {
                Atomic::Add(Type::F32) => {
                    let flushed = add(Type::F32, flush(old), flush(a));
                    flush(flushed)
                }
                _ => update(atomic, old, a, b),
            };
            self.write(w, pc, lane, space, at, bytes, new, true);
            old
        })
    }
}

/// Returns f(old, a); for `cas`, b if old equals a. Narrower values are in the low bytes.
pub fn update(atomic: Atomic, old: u64, a: u64, b: u64) -> u64 {
    match atomic {
        Atomic::Add(ty) => add(ty, old, a),
        Atomic::Min(ty) => {
            if less(ty, a, old) {
                a
            } else {
                old
            }
        }
        Atomic::Max(ty) => {
            if less(ty, old, a) {
                a
            } else {
                old
            }
        }
        Atomic::And => old & a,
        Atomic::Or => old | a,
        Atomic::Xor => old ^ a,
        Atomic::Exch => a,
        Atomic::Cas => {
            if old == a {
                b
            } else {
                old
            }
        }
        Atomic::Inc => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        Atomic::Dec => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
    }
}

/// Flushes a subnormal f32 to a zero of the same sign.
fn flush(x: u64) -> u64 {
    if f32::from_bits(x as u32).is_subnormal() {
        x & 0x8000_0000
    } else {
        x
    }
}

fn add(ty: Type, a: u64, b: u64) -> u64 {
    let half = |x: u64| f16::from_bits(x as u16);
    let brain = |x: u64| bf16::from_bits(x as u16);
    let add_half = |a, b| u64::from(f16::from_f32(half(a).to_f32() + half(b).to_f32()).to_bits());
    let add_brain =
        |a, b| u64::from(bf16::from_f32(brain(a).to_f32() + brain(b).to_f32()).to_bits());
    match ty {
        Type::F32 => {
            let sum = f32::from_bits(a as u32) + f32::from_bits(b as u32);
            u64::from(if sum.is_nan() {
                0x7fff_ffff
            } else {
                sum.to_bits()
            })
        }
        Type::F64 => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
        Type::F16 => add_half(a, b),
        Type::Bf16 => add_brain(a, b),
        Type::F16x2 => add_half(a, b) | add_half(a >> 16, b >> 16) << 16,
        Type::Bf16x2 => add_brain(a, b) | add_brain(a >> 16, b >> 16) << 16,
        Type::U64 | Type::S64 | Type::B64 => a.wrapping_add(b),
        _ => u64::from((a as u32).wrapping_add(b as u32)),
    }
}

fn less(ty: Type, a: u64, b: u64) -> bool {
    match ty {
        Type::S32 => (a as i32) < b as i32,
        Type::S64 => (a as i64) < b as i64,
        Type::F32 => f32::from_bits(a as u32) < f32::from_bits(b as u32),
        Type::F64 => f64::from_bits(a) < f64::from_bits(b),
        Type::F16 => f16::from_bits(a as u16) < f16::from_bits(b as u16),
        Type::Bf16 => bf16::from_bits(a as u16) < bf16::from_bits(b as u16),
        Type::U64 | Type::B64 => a < b,
        _ => (a as u32) < b as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_of_each_kind() {
        let u = |atomic, old: u32, a: u32| update(atomic, u64::from(old), u64::from(a), 9) as u32;
        assert_eq!(u(Atomic::Add(Type::U32), u32::MAX, 2), 1);
        assert_eq!(u(Atomic::Min(Type::S32), 1, u32::MAX), u32::MAX);
        assert_eq!(u(Atomic::Min(Type::U32), 1, u32::MAX), 1);
        assert_eq!(u(Atomic::Max(Type::S32), 1, u32::MAX), 1);
        assert_eq!((u(Atomic::Cas, 5, 5), u(Atomic::Cas, 4, 5)), (9, 4));
        assert_eq!((u(Atomic::Inc, 3, 3), u(Atomic::Inc, 2, 3)), (0, 3));
        assert_eq!(
            (
                u(Atomic::Dec, 0, 3),
                u(Atomic::Dec, 7, 3),
                u(Atomic::Dec, 2, 3)
            ),
            (3, 3, 1)
        );
        let f = |x: f32| x.to_bits();
        assert_eq!(u(Atomic::Add(Type::F32), f(1.5), f(2.)), f(3.5));
    }
}
