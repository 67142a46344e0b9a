//! Integer arithmetic, checked against 128-bit integers.

use super::harness::{bytes, check, mask};

pub const TYPES: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

pub fn is_signed(ty: &str) -> bool {
    ty.starts_with('s')
}

/// The number that these bits represent.
pub fn number(ty: &str, bits: u64) -> i128 {
    let shift = 128 - 8 * bytes(ty) as u32;
    if is_signed(ty) {
        (i128::from(bits) << shift) >> shift
    } else {
        (bits & mask(ty)).into()
    }
}

fn wrapped(ty: &str, x: i128) -> Option<u64> {
    Some(x as u64 & mask(ty))
}

/// Minimum and maximum of a type.
pub fn range(ty: &str) -> (i128, i128) {
    let bits = 8 * bytes(ty) as u32;
    if is_signed(ty) {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

type Of2 = fn(i128, i128) -> i128;

#[test]
fn operations_of_two_operands() {
    let forms: [(&str, Of2); 5] = [
        ("add", |a, b| a + b),
        ("sub", |a, b| a - b),
        ("mul.lo", |a, b| a.wrapping_mul(b)),
        ("min", |a, b| a.min(b)),
        ("max", |a, b| a.max(b)),
    ];
    for ty in TYPES {
        for (form, of) in forms {
            let body = format!("{form}.{ty} {{d}}, {{0}}, {{1}};");
            check(&body, &[ty, ty], ty, |x| {
                wrapped(ty, of(number(ty, x[0]), number(ty, x[1])))
            });
        }
        // The result of division by zero is unspecified.
        for (form, of) in [("div", (|a, b| a / b) as Of2), ("rem", |a, b| a % b)] {
            let body = format!("{form}.{ty} {{d}}, {{0}}, {{1}};");
            check(&body, &[ty, ty], ty, |x| {
                let (a, b) = (number(ty, x[0]), number(ty, x[1]));
                if b == 0 { None } else { wrapped(ty, of(a, b)) }
            });
        }
    }
    for ty in ["u16", "s16"] {
        let pair = format!("{ty}x2");
        for (form, of) in [forms[0], forms[3], forms[4]] {
            check(
                &format!("{form}.{pair} {{d}}, {{0}}, {{1}};"),
                &["b32", "b32"],
                "b32",
                |x| {
                    let part = |shift: u32| {
                        let of = of(
                            number(ty, x[0] >> shift & 0xffff),
                            number(ty, x[1] >> shift & 0xffff),
                        );
                        wrapped(ty, of)
                    };
                    Some(part(16)? << 16 | part(0)?)
                },
            );
        }
    }
}

/// The part of a product that a form keeps, for a type of `bits` bits.
fn part(form: &str, bits: u32, product: i128) -> i128 {
    match form {
        "hi" => product >> bits,
        _ => product,
    }
}

#[test]
fn products_and_multiply_add() {
    for ty in TYPES {
        let bits = 8 * bytes(ty) as u32;
        // The product of two unsigned 64-bit numbers needs all 128 bits of an i128.
        let product = |a: u64, b: u64| number(ty, a).wrapping_mul(number(ty, b));
        let high = |a, b| match (ty, product(a, b)) {
            ("u64", p) => (p as u128 >> 64) as i128,
            (_, p) => part("hi", bits, p),
        };
        check(
            &format!("mul.hi.{ty} {{d}}, {{0}}, {{1}};"),
            &[ty, ty],
            ty,
            |x| wrapped(ty, high(x[0], x[1])),
        );
        check(
            &format!("mad.hi.{ty} {{d}}, {{0}}, {{1}}, {{2}};"),
            &[ty, ty, ty],
            ty,
            |x| wrapped(ty, high(x[0], x[1]) + number(ty, x[2])),
        );
        check(
            &format!("mad.lo.{ty} {{d}}, {{0}}, {{1}}, {{2}};"),
            &[ty, ty, ty],
            ty,
            |x| wrapped(ty, product(x[0], x[1]).wrapping_add(number(ty, x[2]))),
        );
        if bits < 64 {
            let wide = &format!("{}{}", &ty[..1], 2 * bits);
            check(
                &format!("mul.wide.{ty} {{d}}, {{0}}, {{1}};"),
                &[ty, ty],
                wide,
                |x| wrapped(wide, product(x[0], x[1])),
            );
            check(
                &format!("mad.wide.{ty} {{d}}, {{0}}, {{1}}, {{2}};"),
                &[ty, ty, wide],
                wide,
                |x| wrapped(wide, product(x[0], x[1]) + number(wide, x[2])),
            );
        }
    }
}

#[test]
fn saturating_sums() {
    let ty = "s32";
    let clamped = |x: i128| wrapped(ty, x.clamp(range(ty).0, range(ty).1));
    let n = |x: u64| number(ty, x);
    check("add.sat.s32 {d}, {0}, {1};", &[ty, ty], ty, |x| {
        clamped(n(x[0]) + n(x[1]))
    });
    check("sub.sat.s32 {d}, {0}, {1};", &[ty, ty], ty, |x| {
        clamped(n(x[0]) - n(x[1]))
    });
    check(
        "mad.hi.sat.s32 {d}, {0}, {1}, {2};",
        &[ty, ty, ty],
        ty,
        |x| clamped(((n(x[0]) * n(x[1])) >> 32) + n(x[2])),
    );
}

#[test]
fn absolute_values_and_negation() {
    for ty in ["s16", "s32", "s64"] {
        check(&format!("neg.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            wrapped(ty, -number(ty, x[0]))
        });
        check(&format!("abs.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            wrapped(ty, number(ty, x[0]).abs())
        });
    }
}

#[test]
fn dot_products_of_bytes_and_halves() {
    let part = |x: u64, i: u32, bits: u32, ty: &str| {
        let x = x >> (bits * i) & ((1 << bits) - 1);
        match ty {
            "s32" => (x as i64) << (64 - bits) >> (64 - bits),
            _ => x as i64,
        }
    };
    for a in ["u32", "s32"] {
        for b in ["u32", "s32"] {
            let sum = |c: u64, products: i64| {
                Some((c as i64).wrapping_add(products) as u64 & 0xffff_ffff)
            };
            let types = ["b32", "b32", "b32"];
            check(
                &format!("dp4a.{a}.{b} {{d}}, {{0}}, {{1}}, {{2}};"),
                &types,
                "b32",
                |x| {
                    sum(
                        x[2],
                        (0..4)
                            .map(|i| part(x[0], i, 8, a) * part(x[1], i, 8, b))
                            .sum(),
                    )
                },
            );
            for (half, first) in [("lo", 0), ("hi", 2)] {
                check(
                    &format!("dp2a.{half}.{a}.{b} {{d}}, {{0}}, {{1}}, {{2}};"),
                    &types,
                    "b32",
                    |x| {
                        let product = |i| part(x[0], i, 16, a) * part(x[1], first + i, 8, b);
                        sum(x[2], product(0) + product(1))
                    },
                );
            }
        }
    }
}
