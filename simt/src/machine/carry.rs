//! Arithmetic with a carry.

use crate::code::{CarryOp, Op, Slot};

use super::block::Block;
use super::coalesce::lanes;

impl Block<'_> {
    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
    pub fn carry(&mut self, w: usize, pc: u32, active: u32) {
        let kernel = self.grid.kernel;
        let Op::Carry {
            op,
            d,
            from,
            flag,
            reads,
            writes,
        } = &kernel.code[pc as usize].op
        else {
            return;
        };
        self.check_read(w, pc, active, from);
        let missing = active & !self.warps[w].preds_written[*flag as usize];
        if *reads && missing != 0 {
            self.unwritten_register(w, pc, missing, "the carry flag");
        }
        let warp = &mut self.warps[w];
        let bits = match d {
            Slot::Word(_) => 32,
            Slot::Double(_) => 64,
        };
        let carries = if *reads {
            warp.preds[*flag as usize]
        } else {
            0
        };
        let operands: Vec<_> = from.iter().map(|s| warp.wide(*s)).collect();
        let (mut values, mut flags) = ([0; 32], 0);
        for lane in lanes(active) {
            let operand = |n: usize| operands.get(n).map_or(0, |o| o[lane]);
            let of = [operand(0), operand(1), operand(2)];
            let (value, carry) = sum(*op, bits, of, carries >> lane & 1 != 0);
            values[lane] = value;
            flags |= u32::from(carry) << lane;
        }
        warp.set(*d, active, values);
        if *writes {
            warp.set_pred(*flag, active, flags);
        }
    }
}

/// Returns a sum of `bits` (32 or 64) bits and its carry, or a difference and its borrow.
fn sum(op: CarryOp, bits: u32, [a, b, c]: [u64; 3], carry: bool) -> (u64, bool) {
    let mask = u64::MAX >> (64 - bits);
    let sign = |x: u64| i128::from((x << (64 - bits)) as i64 >> (64 - bits));
    let product = match op {
        CarryOp::MadHigh { signed: true } => (sign(a) * sign(b)) as u128,
        _ => u128::from(a) * u128::from(b),
    };
    let (first, second) = match op {
        CarryOp::Add => (a, b),
        // a - b - borrow = a + !b + 1 - borrow; its carry is the inverse of the borrow.
        CarryOp::Sub => (a, !b & mask),
        CarryOp::MadLow => (product as u64 & mask, c),
        CarryOp::MadHigh { .. } => ((product >> bits) as u64 & mask, c),
    };
    let is_sub = op == CarryOp::Sub;
    let sum = u128::from(first) + u128::from(second) + u128::from(carry != is_sub);
    (sum as u64 & mask, (sum >> bits & 1 != 0) != is_sub)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The words of a 256-bit number, least significant first.
    fn words(x: [u128; 2]) -> Vec<u64> {
        x.iter()
            .flat_map(|x| (0..4).map(move |i| (x >> (32 * i)) as u64 & 0xffff_ffff))
            .collect()
    }

    proptest! {
        #[test]
        fn a_chain_of_additions_is_one_long_sum(a: u128, b: u128) {
            for (op, expected, out) in [
                (CarryOp::Add, a.wrapping_add(b), a.checked_add(b).is_none()),
                (CarryOp::Sub, a.wrapping_sub(b), a < b),
            ] {
                let mut carry = false;
                for ((x, y), z) in words([a, 0]).iter().zip(words([b, 0])).zip(words([expected, 0])).take(4) {
                    let (word, next) = sum(op, 32, [*x, y, 0], carry);
                    prop_assert_eq!(word, z);
                    carry = next;
                }
                prop_assert_eq!(carry, out);
            }
        }

        #[test]
        fn multiply_add_with_carry(a: u64, b: u64, c: u64, carry: bool) {
            let exact = u128::from(a) * u128::from(b);
            let low = u128::from(exact as u64) + u128::from(c) + u128::from(carry);
            prop_assert_eq!(sum(CarryOp::MadLow, 64, [a, b, c], carry), (low as u64, low >> 64 != 0));
            let high = (exact >> 64) + u128::from(c) + u128::from(carry);
            let unsigned = CarryOp::MadHigh { signed: false };
            prop_assert_eq!(sum(unsigned, 64, [a, b, c], carry), (high as u64, high >> 64 != 0));
            let [x, y] = [a, b].map(|x| i64::from(x as i32));
            let high = u64::from(((x * y) >> 32) as u32) + (c & 0xffff_ffff) + u64::from(carry);
            let found = sum(CarryOp::MadHigh { signed: true }, 32, [a & 0xffff_ffff, b & 0xffff_ffff, c & 0xffff_ffff], carry);
            prop_assert_eq!(found, (high & 0xffff_ffff, high >> 32 != 0));
        }
    }
}
