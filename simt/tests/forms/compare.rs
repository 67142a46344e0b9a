//! Comparisons, minima and maxima.

use super::floats::value;
use super::harness::{check, is_nan, mask};
use super::integers::{TYPES, number};

type Holds<T> = fn(&T, &T) -> bool;

const ORDERED: [(&str, Holds<f64>); 6] = [
    ("eq", |a, b| a == b),
    ("ne", |a, b| {
        a.partial_cmp(b).is_some_and(|order| order.is_ne())
    }),
    ("lt", |a, b| a < b),
    ("le", |a, b| a <= b),
    ("gt", |a, b| a > b),
    ("ge", |a, b| a >= b),
];

/// Integer comparisons; unsigned integers have additional names.
const OF_INTEGERS: [(&str, bool, Holds<i128>); 10] = [
    ("eq", false, |a, b| a == b),
    ("ne", false, |a, b| a != b),
    ("lt", false, |a, b| a < b),
    ("le", false, |a, b| a <= b),
    ("gt", false, |a, b| a > b),
    ("ge", false, |a, b| a >= b),
    ("lo", true, |a, b| a < b),
    ("ls", true, |a, b| a <= b),
    ("hi", true, |a, b| a > b),
    ("hs", true, |a, b| a >= b),
];

type OfBits = Box<dyn Fn(u64, u64) -> bool>;
type Comparison = (String, OfBits);

/// The comparisons of a type, as functions.
fn comparisons(ty: &'static str) -> Vec<Comparison> {
    if TYPES.contains(&ty) {
        let named = OF_INTEGERS
            .iter()
            .filter(|(_, unsigned, _)| !unsigned || ty.starts_with('u'));
        return named
            .map(|(name, _, holds)| {
                let of = move |a, b| holds(&number(ty, a), &number(ty, b));
                (name.to_string(), Box::new(of) as OfBits)
            })
            .collect();
    }
    if ty.starts_with('b') && ty != "bf16" {
        return vec![
            ("eq".into(), Box::new(|a, b| a == b)),
            ("ne".into(), Box::new(|a, b| a != b)),
        ];
    }
    let mut all: Vec<Comparison> = vec![];
    let unordered = move |a, b| is_nan(ty, a) || is_nan(ty, b);
    for (name, holds) in ORDERED {
        let of = move |a, b| holds(&value(ty, a), &value(ty, b));
        all.push((name.into(), Box::new(of)));
        all.push((
            format!("{name}u"),
            Box::new(move |a, b| unordered(a, b) || of(a, b)),
        ));
    }
    all.push(("num".into(), Box::new(move |a, b| !unordered(a, b))));
    all.push(("nan".into(), Box::new(unordered)));
    all
}

const COMPARED: [&str; 13] = [
    "b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16",
];

#[test]
fn predicates() {
    for ty in COMPARED {
        for (name, holds) in comparisons(ty) {
            let body =
                format!("setp.{name}.{ty} {{p}}, {{0}}, {{1}}; selp.u32 {{d}}, 1, 0, {{p}};");
            check(&body, &[ty, ty], "u32", |x| Some(holds(x[0], x[1]).into()));
            // Equal numbers are included.
            let body =
                format!("setp.{name}.{ty} {{p}}, {{0}}, {{0}}; selp.u32 {{d}}, 1, 0, {{p}};");
            check(&body, &[ty], "u32", |x| Some(holds(x[0], x[0]).into()));
        }
    }
}

#[test]
fn predicates_combined_with_another() {
    for (op, of) in [
        ("and", (|a, b| a && b) as fn(bool, bool) -> bool),
        ("or", |a, b| a || b),
        ("xor", |a, b| a != b),
    ] {
        for ty in COMPARED {
            let (name, holds) = comparisons(ty).swap_remove(0);
            let body = format!(
                "setp.gt.u32 %p2, {{2}}, 40; setp.{name}.{op}.{ty} {{p}}|{{q}}, {{0}}, {{1}}, %p2;
                selp.u32 {{d}}, 1, 0, {{p}}; @{{q}} add.u32 {{d}}, {{d}}, 2;"
            );
            check(&body, &[ty, ty, "u32"], "u32", |x| {
                let (first, other) = (holds(x[0], x[1]), x[2] > 40);
                Some(u64::from(of(first, other)) | u64::from(of(!first, other)) << 1)
            });
        }
    }
}

#[test]
fn ftz_flushes_before_comparing() {
    let body = "setp.eq.ftz.f32 {p}, {0}, 0f00000000; selp.u32 {d}, 1, 0, {p};";
    check(body, &["f32"], "u32", |x| {
        Some((value("f32", x[0]).abs() < f32::MIN_POSITIVE.into()).into())
    });
}

#[test]
fn results_of_all_ones_or_one() {
    for ty in COMPARED
        .into_iter()
        .filter(|ty| !["f16", "bf16"].contains(ty))
    {
        for (name, holds) in comparisons(ty) {
            for (to, yes) in [
                ("u32", 0xffff_ffff),
                ("s32", 0xffff_ffff),
                ("f32", 1f32.to_bits().into()),
            ] {
                let body = format!("set.{name}.{to}.{ty} {{d}}, {{0}}, {{1}};");
                check(&body, &[ty, ty], to, |x| {
                    Some(if holds(x[0], x[1]) { yes } else { 0 })
                });
            }
        }
    }
    for (ty, one) in [("f16", 0x3c00), ("bf16", 0x3f80)] {
        let pair = &*format!("{ty}x2");
        for (name, holds) in comparisons(ty) {
            let body = format!("set.{name}.{pair}.{pair} {{d}}, {{0}}, {{1}};");
            check(&body, &[pair, pair], "b32", |x| {
                let part = |shift: u32| {
                    let [a, b] = [0, 1].map(|n| x[n] >> shift & 0xffff);
                    if holds(a, b) { one } else { 0 }
                };
                Some(part(16) << 16 | part(0))
            });
        }
    }
}

/// The minimum or maximum. -0 is below +0, and of NaN and a number the result is the number unless `nan`.
fn extreme(ty: &str, greater: bool, nan: bool, a: u64, b: u64) -> u64 {
    let (x, y) = (value(ty, a), value(ty, b));
    let not_a_number = match ty {
        "f16" => 0x7fff,
        "bf16" => 0x7fff,
        "f32" => 0x7fff_ffff,
        _ => f64::NAN.to_bits(),
    };
    match (x.is_nan(), y.is_nan()) {
        (true, true) => return not_a_number,
        (true, _) | (_, true) if nan => return not_a_number,
        (true, false) => return b,
        (false, true) => return a,
        _ => {}
    }
    let first_is_less = x < y || x == y && x.is_sign_negative();
    if first_is_less != greater { a } else { b }
}

#[test]
fn minima_and_maxima() {
    for ty in ["f32", "f64", "f16", "bf16"] {
        for (form, greater) in [("min", false), ("max", true)] {
            let check_one = |how: &str, of: &dyn Fn(&[u64]) -> u64| {
                let body = format!("{form}{how}.{ty} {{d}}, {{0}}, {{1}};");
                check(&body, &[ty, ty], ty, |x| Some(of(x)));
            };
            check_one("", &|x| extreme(ty, greater, false, x[0], x[1]));
            if ty != "f64" {
                check_one(".NaN", &|x| extreme(ty, greater, true, x[0], x[1]));
                let sign = 1 << (8 * super::harness::bytes(ty) - 1);
                check_one(".xorsign.abs", &|x| {
                    let of = extreme(ty, greater, false, x[0] & !sign, x[1] & !sign);
                    of & !sign | (x[0] ^ x[1]) & sign
                });
            }
            if ty.ends_with("16") {
                let pair = &*format!("{ty}x2");
                for (how, nan) in [("", false), (".NaN", true)] {
                    let body = format!("{form}{how}.{pair} {{d}}, {{0}}, {{1}};");
                    check(&body, &[pair, pair], pair, |x| {
                        let part = |shift: u32| {
                            let [a, b] = [0, 1].map(|n| x[n] >> shift & mask(ty));
                            extreme(ty, greater, nan, a, b)
                        };
                        Some(part(16) << 16 | part(0))
                    });
                }
            }
        }
    }
}
