//! Conversions between all types.

use super::exact::{Exact, MODES, Mode, format};
use super::floats::{bits, value};
use super::harness::{bytes, check, is_nan, mask};
use super::integers::{number, range};

const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];

/// The register type of a type; there are no 8-bit registers.
fn register(ty: &str) -> &str {
    match bytes(ty) {
        1 => "b32",
        _ => ty,
    }
}

/// The bits of an integer in its register, sign-extended.
fn in_register(ty: &str, x: i128) -> u64 {
    number(ty, x as u64) as u64 & mask(register(ty))
}

#[test]
fn between_integers() {
    for from in INTEGERS {
        for to in INTEGERS {
            check(
                &format!("cvt.{to}.{from} {{d}}, {{0}};"),
                &[register(from)],
                register(to),
                |x| Some(in_register(to, number(from, x[0]))),
            );
            check(
                &format!("cvt.sat.{to}.{from} {{d}}, {{0}};"),
                &[register(from)],
                register(to),
                |x| {
                    let (least, most) = range(to);
                    Some(in_register(to, number(from, x[0]).clamp(least, most)))
                },
            );
        }
    }
}

#[test]
fn integers_to_floats() {
    for from in INTEGERS {
        for (name, mode) in MODES {
            for to in ["f16", "f32", "f64"] {
                check(
                    &format!("cvt.{name}.{to}.{from} {{d}}, {{0}};"),
                    &[register(from)],
                    to,
                    |x| {
                        let x = number(from, x[0]);
                        let near = x as f64;
                        let rest = (x - near as i128) as f64;
                        Some(match to {
                            "f64" => match mode {
                                Mode::Down if rest < 0. => near.next_down(),
                                Mode::Up if rest > 0. => near.next_up(),
                                Mode::Zero if rest < 0. && near > 0. => near.next_down(),
                                Mode::Zero if rest > 0. && near < 0. => near.next_up(),
                                _ => near,
                            }
                            .to_bits(),
                            _ => bits(to, Exact(near, rest).round(format(to), mode)),
                        })
                    },
                );
            }
        }
        check(
            &format!("cvt.rn.bf16.{from} {{d}}, {{0}};"),
            &[register(from)],
            "bf16",
            |x| {
                let x = number(from, x[0]);
                let near = x as f64;
                let exact = Exact(near, (x - near as i128) as f64);
                Some(bits("bf16", exact.round(format("bf16"), Mode::Nearest)))
            },
        );
    }
}

/// Rounds a float to an integer in a rounding mode.
fn integral(x: f64, mode: &str) -> f64 {
    match mode {
        "rni" => x.round_ties_even(),
        "rzi" => x.trunc(),
        "rmi" => x.floor(),
        _ => x.ceil(),
    }
}

#[test]
fn floats_to_integers() {
    for from in ["f16", "bf16", "f32", "f64"] {
        for to in INTEGERS {
            for mode in ["rni", "rzi", "rmi", "rpi"] {
                check(
                    &format!("cvt.{mode}.{to}.{from} {{d}}, {{0}};"),
                    &[from],
                    register(to),
                    |x| {
                        if is_nan(from, x[0]) {
                            // NaN becomes zero; with 64-bit types, only the top bit.
                            let long = from == "f64" || bytes(to) == 8;
                            let first = 1i128 << (8 * bytes(to) - 1);
                            return Some(in_register(to, if long { first } else { 0 }));
                        }
                        let (least, most) = range(to);
                        let x = integral(value(from, x[0]), mode);
                        Some(in_register(to, (x as i128).clamp(least, most)))
                    },
                );
            }
        }
    }
}

#[test]
fn floats_to_integers_of_the_same_type() {
    for ty in ["f16", "f32", "f64"] {
        for mode in ["rni", "rzi", "rmi", "rpi"] {
            check(
                &format!("cvt.{mode}.{ty}.{ty} {{d}}, {{0}};"),
                &[ty],
                ty,
                |x| Some(bits(ty, integral(value(ty, x[0]), mode))),
            );
        }
    }
    check("cvt.sat.f32.f32 {d}, {0};", &["f32"], "f32", |x| {
        let x = value("f32", x[0]);
        Some(bits("f32", if x > 0. { x.min(1.) } else { 0. }))
    });
    check("cvt.ftz.f32.f32 {d}, {0};", &["f32"], "f32", |x| {
        let y = value("f32", x[0]);
        let small = y.abs() < f32::MIN_POSITIVE.into();
        Some(if small { x[0] & 1 << 31 } else { x[0] })
    });
}

#[test]
fn between_floats() {
    for (from, to) in [
        ("f16", "f32"),
        ("f16", "f64"),
        ("bf16", "f32"),
        ("f32", "f64"),
    ] {
        check(
            &format!("cvt.{to}.{from} {{d}}, {{0}};"),
            &[from],
            to,
            |x| Some(bits(to, value(from, x[0]))),
        );
    }
    for (from, to) in [
        ("f32", "f16"),
        ("f64", "f16"),
        ("f64", "f32"),
        ("f32", "bf16"),
    ] {
        let modes = if to == "bf16" {
            &MODES[..2]
        } else {
            &MODES[..]
        };
        for &(name, mode) in modes {
            check(
                &format!("cvt.{name}.{to}.{from} {{d}}, {{0}};"),
                &[from],
                to,
                |x| {
                    Some(bits(
                        to,
                        Exact(value(from, x[0]), 0.).round(format(to), mode),
                    ))
                },
            );
        }
    }
    for (name, mode) in &MODES[..2] {
        for to in ["f16", "bf16"] {
            for (how, relu) in [("", false), (".relu", true)] {
                let one = |x: u64| {
                    let x = Exact(value("f32", x), 0.).round(format(to), *mode);
                    // NaN stays NaN.
                    bits(to, if relu && x <= 0. { 0. } else { x })
                };
                let pair = &*format!("{to}x2");
                check(
                    &format!("cvt.{name}{how}.{pair}.f32 {{d}}, {{0}}, {{1}};"),
                    &["f32", "f32"],
                    pair,
                    |x| Some(one(x[0]) << 16 | one(x[1])),
                );
            }
        }
    }
    // Rounds to 10 fraction bits, ties away from zero.
    check("cvt.rna.tf32.f32 {d}, {0};", &["f32"], "b32", |x| {
        let finite = value("f32", x[0]).is_finite();
        finite.then(|| (x[0] + 0x1000) & 0xffff_e000)
    });
}
