use half::{bf16, f16};
use proptest::prelude::*;

use super::super::testing::{doubles, integers, run, run32, run64, singles};

/// Name, bits, and whether the type is signed.
const INTEGERS: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

fn value(bits: u64, width: u32, signed: bool) -> i128 {
    let x = i128::from(bits) & ((1 << width) - 1);
    if signed && x >> (width - 1) == 1 {
        x - (1 << width)
    } else {
        x
    }
}

/// An integer in a register: a signed byte is sign-extended to 16 bits.
fn register(x: i128, width: u32, signed: bool) -> u64 {
    let x = value(x as u64, width, signed);
    (x & ((1 << width.max(16)) - 1)) as u64
}

fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed {
        (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    }
}

/// Rounds an `f64` to an integer, with bit arithmetic.
fn rounded(x: f64, mode: &str) -> i128 {
    let whole = x as i128; // Rounds towards zero and saturates beyond 2^127, which is out of range for all types.
    if x.abs() >= 2f64.powi(53) {
        return whole;
    }
    let rest = (x - whole as f64).abs();
    let step = if x < 0.0 { -1 } else { 1 };
    let moves = match mode {
        "rni" => rest > 0.5 || rest == 0.5 && whole % 2 != 0,
        "rmi" => rest > 0.0 && x < 0.0,
        "rpi" => rest > 0.0 && x > 0.0,
        _ => false,
    };
    if moves { whole + step } else { whole }
}

proptest! {
    #[test]
    fn between_integers(a in integers()) {
        for (from, from_width, from_signed) in INTEGERS {
            let x = value(a, from_width, from_signed);
            for (to, width, signed) in INTEGERS {
                prop_assert_eq!(run(&format!("cvt.{to}.{from}"), &[a]), register(x, width, signed));
                let (least, greatest) = range(width, signed);
                let clamped = register(x.clamp(least, greatest), width, signed);
                prop_assert_eq!(run(&format!("cvt.sat.{to}.{from}"), &[a]), clamped);
            }
        }
    }

    #[test]
    fn floats_to_integers(a in doubles(), b in -300.0..300.0f64, eighths in -80i32..80) {
        for x in [a, b, f64::from(eighths) / 8.0, a * 1e-300] {
            let single = x as f32;
            let half = f16::from_f32(single);
            let sources = [
                ("f64", x.to_bits(), x),
                ("f32", single.to_bits().into(), single.into()),
                ("f16", half.to_bits().into(), half.to_f64()),
            ];
            for (from, bits, x) in sources {
                for (to, width, signed) in INTEGERS {
                    for mode in ["rni", "rzi", "rmi", "rpi"] {
                        let (least, greatest) = range(width, signed);
                        let expected = match x.is_nan() {
                            true if from == "f64" || width == 64 => 1 << (width - 1),
                            true => 0,
                            false => rounded(x, mode).clamp(least, greatest),
                        };
                        let result = run(&format!("cvt.{mode}.{to}.{from}"), &[bits]);
                        prop_assert_eq!(result, register(expected, width, signed), "{} {} {} {}", mode, to, from, x);
                    }
                }
            }
        }
    }

    #[test]
    fn integers_to_floats(a in integers()) {
        for (from, width, signed) in INTEGERS {
            let x = value(a, width, signed);
            let single = |mode| f32::from_bits(run(&format!("cvt.{mode}.f32.{from}"), &[a]) as u32);
            let double = |mode| f64::from_bits(run(&format!("cvt.{mode}.f64.{from}"), &[a]));
            prop_assert_eq!((single("rn"), double("rn")), (x as f32, x as f64));
            let (down, up) = (single("rm"), single("rp"));
            prop_assert!(down as i128 <= x && x <= up as i128 && (down == up || down.next_up() == up));
            prop_assert!((down == up) == (down as i128 == x));
            prop_assert_eq!(single("rz"), if x < 0 { up } else { down });
            let (down, up) = (double("rm"), double("rp"));
            prop_assert!(down as i128 <= x && x <= up as i128 && (down == up || down.next_up() == up));
            prop_assert!((down == up) == (down as i128 == x));
            prop_assert_eq!(double("rz"), if x < 0 { up } else { down });
            if width <= 16 {
                let half = f16::from_f32(x as f32).to_bits();
                prop_assert_eq!(run(&format!("cvt.rn.f16.{from}"), &[a]), u64::from(half));
                let half = bf16::from_f32(x as f32).to_bits();
                prop_assert_eq!(run(&format!("cvt.rn.bf16.{from}"), &[a]), u64::from(half));
            }
        }
    }

    #[test]
    fn between_floats(a in doubles(), b in singles(), c in singles()) {
        let down = f32::from_bits(run("cvt.rm.f32.f64", &[a.to_bits()]) as u32);
        let up = f32::from_bits(run("cvt.rp.f32.f64", &[a.to_bits()]) as u32);
        prop_assert!(a.is_nan() || f64::from(down) <= a && a <= f64::from(up));
        prop_assert!(a.is_nan() || down == up && f64::from(up) == a || down.next_up() == up);
        let single = a as f32;
        let expected = if a.is_nan() { 0x7fff_ffff } else { single.to_bits() };
        prop_assert_eq!(run("cvt.rn.f32.f64", &[a.to_bits()]), u64::from(expected));
        if !b.is_nan() && !c.is_nan() {
            let bits = [b, c].map(|x| u64::from(x.to_bits()));
            prop_assert_eq!(run("cvt.f64.f32", &bits), f64::from(b).to_bits());
            let halves = [b, c].map(|x| u64::from(f16::from_f32(x).to_bits()));
            prop_assert_eq!(run("cvt.rn.f16x2.f32", &bits), halves[0] << 16 | halves[1]);
            prop_assert_eq!(run("cvt.rn.f16.f32", &bits), halves[0]);
            let halves = [b, c].map(|x| u64::from(bf16::from_f32(x).to_bits()));
            prop_assert_eq!(run("cvt.rn.bf16x2.f32", &bits), halves[0] << 16 | halves[1]);
            prop_assert_eq!(run("cvt.rn.bf16.f32", &bits), halves[0]);
            // Rounding an f32 towards zero cuts its low bits off.
            prop_assert_eq!(run("cvt.rz.bf16.f32", &bits), bits[0] >> 16);
            prop_assert_eq!(run("cvt.rz.tf32.f32", &bits), bits[0] & !0x1fff);
            let positive = if b > 0.0 { halves[0] } else { 0 };
            prop_assert_eq!(run("cvt.rn.relu.bf16.f32", &bits), positive);
        }
    }

    #[test]
    fn widening_f16_is_exact(a: u16) {
        let (half, brain) = (f16::from_bits(a), bf16::from_bits(a));
        prop_assume!(!half.is_nan() && !brain.is_nan());
        prop_assert_eq!(run("cvt.f32.f16", &[a.into()]), u64::from(half.to_f32().to_bits()));
        prop_assert_eq!(run("cvt.f64.f16", &[a.into()]), half.to_f64().to_bits());
        prop_assert_eq!(run("cvt.f32.bf16", &[a.into()]), u64::from(a) << 16);
    }

    #[test]
    fn to_integers_of_the_same_type(a in singles(), b in doubles()) {
        prop_assume!(!a.is_nan() && !b.is_nan());
        prop_assert_eq!(run32("cvt.rni.f32.f32", &[a]).to_bits(), a.round_ties_even().to_bits());
        prop_assert_eq!(run32("cvt.rzi.f32.f32", &[a]).to_bits(), a.trunc().to_bits());
        prop_assert_eq!(run32("cvt.rmi.f32.f32", &[a]).to_bits(), a.floor().to_bits());
        prop_assert_eq!(run64("cvt.rpi.f64.f64", &[b]).to_bits(), b.ceil().to_bits());
        let clamped = if a > 0.0 { a.min(1.0) } else { 0.0 };
        prop_assert_eq!(run32("cvt.sat.f32.f32", &[a]).to_bits(), clamped.to_bits());
    }
}

#[test]
fn tf32_rounds_ties_as_the_mode_says() {
    let rounded = |mode: &str, bits: u32| run(&format!("cvt.{mode}.tf32.f32"), &[bits.into()]);
    assert_eq!(rounded("rna", 0x3f80_1000), 0x3f80_2000);
    assert_eq!(rounded("rn", 0x3f80_1000), 0x3f80_0000);
    assert_eq!(rounded("rn", 0x3f80_3000), 0x3f80_4000);
    assert_eq!(rounded("rn", 0x3f80_1001), 0x3f80_2000);
    assert_eq!(rounded("rna", 0xbf80_0fff), 0xbf80_0000);
    assert_eq!(rounded("rna", 0x7f7f_ffff), 0x7f80_0000);
    assert_eq!(rounded("rna", 0x7f80_0001), 0x7fff_ffff);
}

#[test]
fn f64_to_f16_rounds_once() {
    // Rounded to f32 first, this number would become a tie of f16, which it is not.
    let x: f64 = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(run("cvt.rn.f16.f64", &[x.to_bits()]), 0x3c01);
    let x = (1u64 << 62) + (1 << 54) + 1;
    assert_eq!(run("cvt.rn.bf16.u64", &[x]), 0x5e81);
}
