//! `fma.rn` of f32 and f64 without modifiers, the instruction that dominates matmuls.
//!
//! CPUs with an FMA instruction handle eight lanes or more at once, but portable code calls a function for
//! each lane. `pulp` compiles the loop for several instruction sets and picks one at run time.

use pulp::{Arch, Simd, WithSimd};

use super::float::canonical;
use super::{Alu, D, W};

/// The operands.
struct Fused<'a, Register>(&'a Register, &'a Register, &'a Register);

/// `fma.rn.f32`
pub(super) const SINGLE: Alu = Alu::WWW(|a, b, c| Arch::new().dispatch(Fused(a, b, c)));
/// `fma.rn.f64`
pub(super) const DOUBLE: Alu = Alu::DDD(|a, b, c| Arch::new().dispatch(Fused(a, b, c)));

impl WithSimd for Fused<'_, W> {
    type Output = W;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> W {
        let Self(a, b, c) = self;
        let mut d = [0; 32];
        for i in 0..32 {
            let [a, b, c] = [a[i], b[i], c[i]].map(f32::from_bits);
            d[i] = canonical(a.mul_add(b, c)).to_bits();
        }
        d
    }
}

impl WithSimd for Fused<'_, D> {
    type Output = D;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> D {
        let Self(a, b, c) = self;
        let mut d = [0; 32];
        for i in 0..32 {
            let [a, b, c] = [a[i], b[i], c[i]].map(f64::from_bits);
            d[i] = canonical(a.mul_add(b, c)).to_bits();
        }
        d
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{doubles, singles};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each lane equals the standard library's `mul_add`, on every CPU.
        #[test]
        fn rounded_once(a in singles(), b in singles(), c in singles(), x in doubles(), y in doubles(), z in doubles()) {
            let (Alu::WWW(single), Alu::DDD(double)) = (SINGLE, DOUBLE) else { panic!() };
            let found = single(&[a.to_bits(); 32], &[b.to_bits(); 32], &[c.to_bits(); 32]);
            prop_assert_eq!(found, [canonical(a.mul_add(b, c)).to_bits(); 32]);
            let found = double(&[x.to_bits(); 32], &[y.to_bits(); 32], &[z.to_bits(); 32]);
            prop_assert_eq!(found, [canonical(x.mul_add(y, z)).to_bits(); 32]);
        }
    }
}
