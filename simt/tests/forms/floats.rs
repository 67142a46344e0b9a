//! Float arithmetic, checked bit by bit in each rounding mode, and the approximate functions within the
//! manual's error bounds.

use half::{bf16, f16};

use super::exact::{Exact, MODES, Mode, format, product, quotient, root, sum};
use super::harness::{check, run};

/// The number that these bits represent, in a type narrower than f64.
pub fn value(ty: &str, bits: u64) -> f64 {
    match ty {
        "f16" => f16::from_bits(bits as u16).to_f64(),
        "bf16" => bf16::from_bits(bits as u16).to_f64(),
        "f32" => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// The bits of a number that the type holds exactly.
pub fn bits(ty: &str, x: f64) -> u64 {
    match ty {
        "f16" => f16::from_f64(x).to_bits().into(),
        "bf16" => bf16::from_f64(x).to_bits().into(),
        "f32" => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

/// Flushes numbers below the normal numbers of f32 to zeros of the same sign.
fn flushed(x: f64) -> f64 {
    if x.abs() < f32::MIN_POSITIVE.into() {
        0f64.copysign(x)
    } else {
        x
    }
}

/// Clamps to [0, 1]; NaN becomes 0.
fn saturated(x: f64) -> f64 {
    if x > 0. { x.min(1.) } else { 0. }
}

/// a + b, with the sign of a zero sum of operands that are not zero.
fn added(a: f64, b: f64, mode: Mode) -> Exact {
    let total = sum(a, b);
    let cancels = a == -b && (a != 0. || a.is_sign_negative() != b.is_sign_negative());
    match cancels && a.is_finite() {
        true if mode == Mode::Down => Exact(-0., 0.),
        true => Exact(0., 0.),
        false => total,
    }
}

type Of = fn(&[f64], Mode) -> Exact;
type Function = fn(&[f64]) -> f64;
type OfOne = fn(f64) -> f64;
type Within = fn(f64) -> bool;
/// The operands' exact result minus the rounded one.
type Rest = fn(&[f64], f64) -> f64;

const FORMS: [(&str, usize, Of); 4] = [
    ("add", 2, |x, mode| added(x[0], x[1], mode)),
    ("sub", 2, |x, mode| added(x[0], -x[1], mode)),
    ("mul", 2, |x, _| Exact(product(x[0], x[1]), 0.)),
    ("fma", 3, |x, mode| added(product(x[0], x[1]), x[2], mode)),
];

fn text(form: &str, operands: usize) -> String {
    let operands: Vec<String> = (0..operands).map(|n| format!("{{{n}}}")).collect();
    format!("{form} {{d}}, {};", operands.join(", "))
}

#[test]
fn f32_in_every_rounding_mode() {
    let f32s = ["f32"; 3];
    for (name, mode) in MODES {
        for (form, count, of) in FORMS {
            for (how, ftz, sat) in [
                ("", false, false),
                (".ftz", true, false),
                (".sat", false, true),
                (".ftz.sat", true, true),
            ] {
                let body = text(&format!("{form}.{name}{how}.f32"), count);
                check(&body, &f32s[..count], "f32", |x| {
                    let flush = |x| if ftz { flushed(x) } else { x };
                    let x: Vec<f64> = x.iter().map(|&x| flush(value("f32", x))).collect();
                    let y = of(&x, mode).round(super::exact::F32, mode);
                    // At the smallest normal number it matters whether flushing precedes rounding.
                    if ftz && y.abs() == f32::MIN_POSITIVE.into() {
                        return None;
                    }
                    let y = flush(y);
                    Some(bits("f32", if sat { saturated(y) } else { y }))
                });
            }
        }
        for (form, count, of) in [
            ("div", 2, (|x, _| quotient(x[0], x[1])) as Of),
            ("rcp", 1, |x, _| quotient(1., x[0])),
            ("sqrt", 1, |x, _| root(x[0])),
        ] {
            let body = text(&format!("{form}.{name}.f32"), count);
            check(&body, &f32s[..count], "f32", |x| {
                let x: Vec<f64> = x.iter().map(|&x| value("f32", x)).collect();
                Some(bits("f32", of(&x, mode).round(super::exact::F32, mode)))
            });
        }
    }
    for (form, count, of) in &FORMS[..3] {
        check(
            &text(&format!("{form}.f32"), *count),
            &f32s[..*count],
            "f32",
            |x| {
                let x: Vec<f64> = x.iter().map(|&x| value("f32", x)).collect();
                Some(bits(
                    "f32",
                    of(&x, Mode::Nearest).round(super::exact::F32, Mode::Nearest),
                ))
            },
        );
    }
}

#[test]
fn f64_without_a_rounding_mode() {
    let forms: [(&str, Function); 3] = [
        ("add", |x| x[0] + x[1]),
        ("sub", |x| x[0] - x[1]),
        ("mul", |x| x[0] * x[1]),
    ];
    for (form, of) in forms {
        check(&text(&format!("{form}.f64"), 2), &["f64"; 2], "f64", |x| {
            let x = [value("f64", x[0]), value("f64", x[1])];
            Some(of(&x).to_bits())
        });
    }
}

#[test]
fn types_of_16_bits() {
    for ty in ["f16", "bf16"] {
        for (form, count, of) in FORMS {
            let one = |x: &[u64], shift: u32| {
                let x: Vec<f64> = x.iter().map(|&x| value(ty, x >> shift & 0xffff)).collect();
                bits(ty, of(&x, Mode::Nearest).round(format(ty), Mode::Nearest))
            };
            let name = if form == "fma" { "fma.rn" } else { form };
            let body = text(&format!("{name}.{ty}"), count);
            check(&body, &[ty; 3][..count], ty, |x| Some(one(x, 0)));
            let pair = &*format!("{ty}x2");
            let body = text(&format!("{name}.{pair}"), count);
            check(&body, &[pair; 3][..count], pair, |x| {
                Some(one(x, 16) << 16 | one(x, 0))
            });
        }
    }
}

/// The adjacent number in the direction of the rest, if the rounding mode asks for it.
fn directed(x: f64, rest: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Down if rest < 0. => x.next_down(),
        Mode::Up if rest > 0. => x.next_up(),
        Mode::Zero if rest < 0. && x > 0. => x.next_down(),
        Mode::Zero if rest > 0. && x < 0. => x.next_up(),
        _ => x,
    }
}

/// Whether operands are far enough from both ends of the range that errors of products and quotients are
/// normal numbers.
fn moderate(x: &[f64]) -> bool {
    x.iter()
        .all(|x| *x == 0. || (1e-100..1e100).contains(&x.abs()))
}

#[test]
fn f64_in_every_rounding_mode() {
    let f64s = ["f64"; 3];
    let forms: [(&str, usize, Function, Rest); 7] = [
        ("add", 2, |x| x[0] + x[1], |x, _| sum(x[0], x[1]).1),
        ("sub", 2, |x| x[0] - x[1], |x, _| sum(x[0], -x[1]).1),
        ("mul", 2, |x| x[0] * x[1], |x, y| x[0].mul_add(x[1], -y)),
        (
            "div",
            2,
            |x| x[0] / x[1],
            |x, y| (-y).mul_add(x[1], x[0]) * x[1].signum(),
        ),
        (
            "rcp",
            1,
            |x| 1. / x[0],
            |x, y| (-y).mul_add(x[0], 1.) * x[0].signum(),
        ),
        ("sqrt", 1, |x| x[0].sqrt(), |x, y| (-y).mul_add(y, x[0])),
        (
            "fma",
            3,
            |x| x[0].mul_add(x[1], x[2]),
            |x, y| {
                let p = x[0] * x[1];
                let low = x[0].mul_add(x[1], -p);
                let Exact(s, t) = sum(p, x[2]);
                let Exact(u, v) = sum(t, low);
                let Exact(w, z) = sum(s - y, u);
                if w != 0. { w } else { z + v }
            },
        ),
    ];
    for (name, mode) in MODES {
        for (form, count, nearest, rest) in forms {
            let body = text(&format!("{form}.{name}.f64"), count);
            check(&body, &f64s[..count], "f64", |x| {
                let x: Vec<f64> = x.iter().map(|&x| f64::from_bits(x)).collect();
                let y = nearest(&x);
                if mode == Mode::Nearest {
                    return Some(y.to_bits());
                }
                // The sign of a zero sum is tested above.
                let known = moderate(&x) && y.is_finite() && y != 0.;
                known.then(|| directed(y, rest(&x, y), mode).to_bits())
            });
        }
    }
}

#[test]
fn absolute_values_and_negation() {
    for (ty, sign) in [
        ("f16", 1 << 15),
        ("bf16", 1 << 15),
        ("f32", 1 << 31),
        ("f64", 1u64 << 63),
    ] {
        check(&format!("neg.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(x[0] ^ sign)
        });
        check(&format!("abs.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(x[0] & !sign)
        });
    }
    for ty in ["f16x2", "bf16x2"] {
        check(&format!("neg.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(x[0] ^ 0x8000_8000)
        });
        check(&format!("abs.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(x[0] & 0x7fff_7fff)
        });
    }
    for (ty, sign) in [("f32", 1u64 << 31), ("f64", 1 << 63)] {
        check(
            &format!("copysign.{ty} {{d}}, {{0}}, {{1}};"),
            &[ty, ty],
            ty,
            |x| Some(x[0] & sign | x[1] & !sign),
        );
    }
}

/// Maximum error of an approximate form over operands for which `of` is finite and normal; relative, or
/// absolute where the manual says so.
fn error(
    body: &str,
    ty: &str,
    count: usize,
    absolute: bool,
    of: impl Fn(&[f64]) -> Option<f64>,
) -> f64 {
    let least = if ty == "f16" {
        6.2e-5
    } else {
        f64::from(f32::MIN_POSITIVE)
    };
    let most = if ty == "f16" { 6e4 } else { 3e38 };
    let mut worst: f64 = 0.;
    let mut compared = 0;
    for (x, found) in run(body, &[ty; 2][..count], ty) {
        let x: Vec<f64> = x.iter().map(|&x| value(ty, x)).collect();
        let normal = x.iter().all(|x| x.is_finite() && x.abs() >= least);
        let Some(y) = of(&x).filter(|y| normal && (least..most).contains(&y.abs())) else {
            continue;
        };
        compared += 1;
        let error = (value(ty, found) - y).abs();
        worst = worst.max(if absolute { error } else { error / y.abs() });
    }
    assert!(compared > 30, "{body}: {compared}");
    worst
}

#[test]
fn approximate_functions() {
    let two = |e: i32| 2f64.powi(e);
    let forms: [(&str, usize, Function, f64); 12] = [
        ("ex2.approx", 1, |x| x[0].exp2(), two(-22)),
        ("ex2.approx.ftz", 1, |x| x[0].exp2(), two(-22)),
        ("rcp.approx", 1, |x| 1. / x[0], two(-23)),
        ("rcp.approx.ftz", 1, |x| 1. / x[0], two(-23)),
        ("sqrt.approx", 1, |x| x[0].sqrt(), two(-23)),
        ("sqrt.approx.ftz", 1, |x| x[0].sqrt(), two(-23)),
        ("rsqrt.approx", 1, |x| 1. / x[0].sqrt(), two(-22)),
        ("rsqrt.approx.ftz", 1, |x| 1. / x[0].sqrt(), two(-22)),
        ("tanh.approx", 1, |x| x[0].tanh(), two(-11)),
        ("div.approx", 2, |x| x[0] / x[1], two(-22)),
        ("div.approx.ftz", 2, |x| x[0] / x[1], two(-22)),
        ("div.full", 2, |x| x[0] / x[1], two(-22)),
    ];
    for (form, count, of, granted) in forms {
        // For a divisor beyond 2^126 the quotient is 0.
        let near = |x: &[f64]| {
            x.iter()
                .all(|x| x.abs() < two(126))
                .then(|| of(x))
                .filter(|y| y.is_finite())
        };
        let worst = error(
            &text(&format!("{form}.f32"), count),
            "f32",
            count,
            false,
            near,
        );
        assert!(worst <= granted, "{form}: {worst:e} of {granted:e}");
    }
    // Absolute errors in the range for which the manual states them.
    let forms: [(&str, OfOne, Within); 3] = [
        ("lg2.approx", |x| x.log2(), |x| (0.5..2.).contains(&x)),
        ("sin.approx", |x| x.sin(), |x| x.abs() < 3.),
        ("cos.approx", |x| x.cos(), |x| x.abs() < 3.),
    ];
    for (form, of, within) in forms {
        let of = |x: &[f64]| within(x[0]).then(|| of(x[0]));
        let worst = error(&text(&format!("{form}.f32"), 1), "f32", 1, true, of);
        assert!(worst <= two(-20), "{form}: {worst:e}");
    }
    let forms: [(&str, &str, OfOne, f64); 4] = [
        ("ex2.approx", "f16", |x| x.exp2(), two(-9)),
        ("ex2.approx.ftz", "bf16", |x| x.exp2(), two(-7)),
        ("tanh.approx", "f16", |x| x.tanh(), two(-10)),
        ("tanh.approx", "bf16", |x| x.tanh(), two(-7)),
    ];
    for (form, ty, of, granted) in forms {
        let of = |x: &[f64]| Some(of(x[0])).filter(|y| y.is_finite());
        let worst = error(&text(&format!("{form}.{ty}"), 1), ty, 1, false, of);
        assert!(worst <= granted, "{form}.{ty}: {worst:e} of {granted:e}");
    }
}

/// `rcp` and `rsqrt` of f64 read only the high words.
#[test]
fn approximate_functions_of_f64() {
    for (form, of) in [
        ("rcp", (|x: f64| 1. / x) as fn(f64) -> f64),
        ("rsqrt", |x: f64| 1. / x.sqrt()),
    ] {
        let of = |x: &[f64]| Some(of(x[0])).filter(|y| y.is_finite());
        let worst = error(
            &text(&format!("{form}.approx.ftz.f64"), 1),
            "f64",
            1,
            false,
            of,
        );
        assert!(worst <= 2f64.powi(-19), "{form}: {worst:e}");
    }
}
