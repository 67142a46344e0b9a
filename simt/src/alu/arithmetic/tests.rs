use std::cmp::Ordering::{self, *};

use proptest::prelude::*;

use super::super::exact::sign_of;
use super::super::float::canonical;
use super::super::testing::{doubles, run32, run64, singles};

/// Whether the results of the four rounding modes (`rn`, `rz`, `rm`, `rp`) are the correct ones. `exact` says
/// how the exact result compares with a number.
fn check32(form: &str, operands: &[f32], exact: impl Fn(f32) -> Ordering) {
    let [nearest, zero, down, up] = ["rn", "rz", "rm", "rp"].map(|mode| {
        let form = form.replace("rn", mode);
        run32(&form, operands)
    });
    let what = format!("{form} {operands:?}: {nearest} {zero} {down} {up}");
    assert!(exact(down) != Less && exact(up) != Greater, "{what}");
    assert!(
        down == up && exact(up) == Equal || down.next_up() == up,
        "{what}"
    );
    assert!(nearest == down || nearest == up, "{what}");
    assert_eq!(zero.abs(), down.abs().min(up.abs()), "{what}");
    assert!(zero == down || zero == up, "{what}");
}

/// The same for f64.
fn check64(form: &str, operands: &[f64], exact: impl Fn(f64) -> Ordering) {
    let [nearest, zero, down, up] = ["rn", "rz", "rm", "rp"].map(|mode| {
        let form = form.replace("rn", mode);
        run64(&form, operands)
    });
    let what = format!("{form} {operands:?}: {nearest} {zero} {down} {up}");
    assert!(exact(down) != Less && exact(up) != Greater, "{what}");
    assert!(
        down == up && exact(up) == Equal || down.next_up() == up,
        "{what}"
    );
    assert!(nearest == down || nearest == up, "{what}");
    assert_eq!(zero.abs(), down.abs().min(up.abs()), "{what}");
    assert!(zero == down || zero == up, "{what}");
}

/// Compares a sum of products with `x`, which may be infinite.
fn beyond(products: &[(f64, f64)], x: f64) -> Ordering {
    if x.is_infinite() {
        return 0.0.partial_cmp(&x).unwrap();
    }
    let mut terms = products.to_vec();
    terms.push((-x, 1.0));
    sign_of(&terms)
}

/// Compares the quotient a / b with `x`.
fn beyond_quotient(a: f64, b: f64, x: f64) -> Ordering {
    if x.is_infinite() {
        return 0.0.partial_cmp(&x).unwrap();
    }
    let order = sign_of(&[(a, 1.0), (-x, b)]);
    if b < 0.0 { order.reverse() } else { order }
}

proptest! {
    #[test]
    fn f32_to_nearest_equals_the_host(a in singles(), b in singles(), c in singles()) {
        let same = |form: &str, expected: f32| {
            assert_eq!(run32(form, &[a, b, c]).to_bits(), canonical(expected).to_bits(), "{form} {a} {b} {c}");
        };
        same("add.f32", a + b);
        same("sub.rn.f32", a - b);
        same("mul.f32", a * b);
        same("fma.rn.f32", a.mul_add(b, c));
        same("mad.rn.f32", a.mul_add(b, c));
        same("div.rn.f32", a / b);
        same("rcp.rn.f32", 1.0 / a);
        same("sqrt.rn.f32", a.sqrt());
    }

    #[test]
    fn f64_to_nearest_equals_the_host(a in doubles(), b in doubles(), c in doubles()) {
        let same = |form: &str, expected: f64| {
            assert_eq!(run64(form, &[a, b, c]).to_bits(), canonical(expected).to_bits(), "{form} {a} {b} {c}");
        };
        same("add.f64", a + b);
        same("sub.rn.f64", a - b);
        same("mul.f64", a * b);
        same("fma.rn.f64", a.mul_add(b, c));
        same("div.rn.f64", a / b);
        same("rcp.rn.f64", 1.0 / a);
        same("sqrt.rn.f64", a.sqrt());
    }

    #[test]
    fn directed_roundings_of_f32(a in singles(), b in singles(), c in singles()) {
        prop_assume!(a.is_finite() && b.is_finite() && c.is_finite());
        let [x, y, z] = [a, b, c].map(f64::from);
        check32("add.rn.f32", &[a, b], |r| beyond(&[(x, 1.0), (y, 1.0)], r.into()));
        check32("sub.rn.f32", &[a, b], |r| beyond(&[(x, 1.0), (-y, 1.0)], r.into()));
        check32("mul.rn.f32", &[a, b], |r| beyond(&[(x, y)], r.into()));
        check32("fma.rn.f32", &[a, b, c], |r| beyond(&[(x, y), (z, 1.0)], r.into()));
        if b != 0.0 {
            check32("div.rn.f32", &[a, b], |r| beyond_quotient(x, y, r.into()));
            check32("rcp.rn.f32", &[b], |r| beyond_quotient(1.0, y, r.into()));
        }
        let root = |r: f32| if r < 0.0 { Greater } else { sign_of(&[(x.abs(), 1.0), (-f64::from(r), r.into())]) };
        check32("sqrt.rn.f32", &[a.abs()], root);
    }

    #[test]
    fn directed_roundings_of_f64(a in doubles(), b in doubles(), c in doubles()) {
        prop_assume!(a.is_finite() && b.is_finite() && c.is_finite());
        check64("add.rn.f64", &[a, b], |r| beyond(&[(a, 1.0), (b, 1.0)], r));
        check64("mul.rn.f64", &[a, b], |r| beyond(&[(a, b)], r));
        check64("fma.rn.f64", &[a, b, c], |r| beyond(&[(a, b), (c, 1.0)], r));
        if b != 0.0 {
            check64("div.rn.f64", &[a, b], |r| beyond_quotient(a, b, r));
        }
        let root = |r: f64| if r < 0.0 { Greater } else { sign_of(&[(a.abs(), 1.0), (-r, r)]) };
        check64("sqrt.rn.f64", &[a.abs()], root);
    }

    #[test]
    fn f64_results_equal_exact_integer_arithmetic(a in -(1i64 << 53)..1 << 53, b in -(1i64 << 53)..1 << 53, c: i64, shift in 0u32..50) {
        let addend = c >> 11 << shift >> shift;
        let exact = i128::from(a) * i128::from(b) + (i128::from(addend) << shift);
        let operands = [a as f64, b as f64, addend as f64 * f64::from(shift).exp2()];
        // A result that is no integer cannot equal the exact one.
        let order = |r: f64| exact.cmp(&(r.floor() as i128)).then(r.floor().partial_cmp(&r).unwrap());
        check64("fma.rn.f64", &operands, order);
        if b != 0 {
            // Rounding keeps the sign of the remainder.
            let rest = |r: f64| (-r).mul_add(b as f64, a as f64).partial_cmp(&0.0).unwrap();
            let order = |r: f64| if b < 0 { rest(r).reverse() } else { rest(r) };
            check64("div.rn.f64", &operands[..2], order);
        }
    }

    #[test]
    fn infinities_and_nan_are_the_same_in_every_rounding_mode(b in singles(), c in singles()) {
        for a in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            for mode in ["rz", "rm", "rp"] {
                let single = run32(&format!("fma.{mode}.f32"), &[a, b, c]);
                prop_assert_eq!(single.to_bits(), canonical(a.mul_add(b, c)).to_bits());
                let double = run64(&format!("fma.{mode}.f64"), &[a, b, c].map(f64::from));
                let expected = f64::from(a).mul_add(b.into(), c.into());
                prop_assert_eq!(double.to_bits(), canonical(expected).to_bits());
            }
        }
    }

    #[test]
    fn ftz_flushes_and_sat_clamps(a in singles(), b in singles(), c in singles()) {
        let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
        let flushed = canonical(flush(flush(a).mul_add(flush(b), flush(c))));
        prop_assert_eq!(run32("fma.rn.ftz.f32", &[a, b, c]).to_bits(), flushed.to_bits());
        let sum = a + b;
        let clamped = if sum > 0.0 { sum.min(1.0) } else { 0.0 };
        prop_assert_eq!(run32("add.sat.f32", &[a, b]).to_bits(), clamped.to_bits());
    }
}

#[test]
fn the_rounding_mode_decides_the_sign_of_zero() {
    for (mode, cancelled) in [("rn", 0.0f32), ("rz", 0.0), ("rm", -0.0), ("rp", 0.0)] {
        let add = |a, b| run32(&format!("add.{mode}.f32"), &[a, b]).to_bits();
        assert_eq!(add(1.0, -1.0), cancelled.to_bits(), "{mode}");
        assert_eq!(add(0.0, -0.0), cancelled.to_bits(), "{mode}");
        assert_eq!(add(0.0, 0.0), 0.0f32.to_bits());
        assert_eq!(add(-0.0, -0.0), (-0.0f32).to_bits());
        let fma = |c| run64(&format!("fma.{mode}.f64"), &[-3.0, 2.0, c]);
        assert_eq!(fma(6.0).to_bits(), f64::from(cancelled).to_bits());
    }
    assert_eq!(
        run32("mul.rp.f32", &[-1e-30, 1e-30]).to_bits(),
        (-0.0f32).to_bits()
    );
    assert_eq!(run32("mul.rm.f32", &[-1e-30, 1e-30]).to_bits(), 0x8000_0001);
    assert_eq!(run64("mul.rp.f64", &[1e-300, 1e-300]), f64::from_bits(1));
    assert_eq!(run64("add.rz.f64", &[f64::MAX, f64::MAX]), f64::MAX);
    assert_eq!(run64("div.rm.f64", &[f64::MAX, 0.5]), f64::MAX);
    assert_eq!(run64("div.rm.f64", &[1.0, 0.0]), f64::INFINITY);
}
