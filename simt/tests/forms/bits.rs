//! Logic, shifts, bit counts, bit fields, and moves.

use super::harness::{bytes, check, mask};

const BITS: [&str; 3] = ["b16", "b32", "b64"];

#[test]
fn logic() {
    for ty in BITS {
        let both = [ty, ty];
        check(&format!("and.{ty} {{d}}, {{0}}, {{1}};"), &both, ty, |x| {
            Some(x[0] & x[1])
        });
        check(&format!("or.{ty} {{d}}, {{0}}, {{1}};"), &both, ty, |x| {
            Some(x[0] | x[1])
        });
        check(&format!("xor.{ty} {{d}}, {{0}}, {{1}};"), &both, ty, |x| {
            Some(x[0] ^ x[1])
        });
        check(&format!("not.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(!x[0] & mask(ty))
        });
    }
    for (op, of) in [
        ("and", (|a, b| a && b) as fn(bool, bool) -> bool),
        ("or", |a, b| a || b),
        ("xor", |a, b| a != b),
    ] {
        let body = format!(
            "setp.lt.u32 {{p}}, {{0}}, 33; setp.lt.u32 {{q}}, {{1}}, 33;
            {op}.pred {{p}}, {{p}}, {{q}}; not.pred {{q}}, {{p}}; mov.pred {{p}}, {{q}}; selp.u32 {{d}}, 0, 1, {{p}};"
        );
        check(&body, &["u32", "u32"], "u32", |x| {
            Some(of(x[0] < 33, x[1] < 33).into())
        });
    }
    for table in [0u64, 1, 0x1b, 0x80, 0x96, 0xca, 0xe8, 0xf0, 0xfe, 0xff] {
        let types = ["b32", "b32", "b32"];
        check(
            &format!("lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {table};"),
            &types,
            "b32",
            |x| {
                let at = |i: u32, n: usize| x[n] >> i & 1;
                let bit = |i| table >> (at(i, 0) << 2 | at(i, 1) << 1 | at(i, 2)) & 1;
                Some((0..32).map(|i| bit(i) << i).sum())
            },
        );
    }
}

#[test]
fn shifts() {
    for ty in BITS {
        let bits = 8 * bytes(ty) as u64;
        check(
            &format!("shl.{ty} {{d}}, {{0}}, {{1}};"),
            &[ty, "u32"],
            ty,
            |x| {
                Some(if x[1] < bits {
                    x[0] << x[1] & mask(ty)
                } else {
                    0
                })
            },
        );
        let right = |x: &[u64]| Some(if x[1] < bits { x[0] >> x[1] } else { 0 });
        check(
            &format!("shr.{ty} {{d}}, {{0}}, {{1}};"),
            &[ty, "u32"],
            ty,
            right,
        );
        let unsigned = ty.replace('b', "u");
        check(
            &format!("shr.{unsigned} {{d}}, {{0}}, {{1}};"),
            &[ty, "u32"],
            ty,
            right,
        );
        let signed = ty.replace('b', "s");
        check(
            &format!("shr.{signed} {{d}}, {{0}}, {{1}};"),
            &[ty, "u32"],
            ty,
            |x| {
                let wide = (x[0] << (64 - bits)) as i64 >> (64 - bits);
                Some((wide >> x[1].min(63)) as u64 & mask(ty))
            },
        );
    }
}

#[test]
fn counts() {
    for ty in ["b32", "b64"] {
        let bits = 8 * bytes(ty) as u32;
        check(&format!("popc.{ty} {{d}}, {{0}};"), &[ty], "u32", |x| {
            Some(x[0].count_ones().into())
        });
        check(&format!("clz.{ty} {{d}}, {{0}};"), &[ty], "u32", |x| {
            Some((x[0].leading_zeros() - (64 - bits)).into())
        });
        check(&format!("brev.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(x[0].reverse_bits() >> (64 - bits))
        });
    }
    for ty in ["u32", "s32", "u64", "s64"] {
        let bits = 8 * bytes(ty) as u32;
        for shift in ["", ".shiftamt"] {
            check(
                &format!("bfind{shift}.{ty} {{d}}, {{0}};"),
                &[ty],
                "u32",
                |x| {
                    let negative = ty.starts_with('s') && x[0] >> (bits - 1) & 1 == 1;
                    let x = if negative { !x[0] & mask(ty) } else { x[0] };
                    Some(match x.checked_ilog2() {
                        None => 0xffff_ffff,
                        Some(highest) if shift.is_empty() => highest.into(),
                        Some(highest) => (bits - 1 - highest).into(),
                    })
                },
            );
        }
    }
}

#[test]
fn fields() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let bits = 8 * bytes(ty) as u64;
        check(
            &format!("bfe.{ty} {{d}}, {{0}}, {{1}}, {{2}};"),
            &[ty, "u32", "u32"],
            ty,
            |x| {
                let (at, count) = (x[1] & 0xff, x[2] & 0xff);
                let sign = if ty.starts_with('s') && count > 0 {
                    x[0] >> (at + count - 1).min(bits - 1) & 1
                } else {
                    0
                };
                let bit = |i: u64| {
                    if i < count && at + i < bits {
                        x[0] >> (at + i) & 1
                    } else {
                        sign
                    }
                };
                Some((0..bits).fold(0, |all, i| all | bit(i) << i))
            },
        );
    }
    for ty in ["b32", "b64"] {
        let bits = 8 * bytes(ty) as u64;
        check(
            &format!("bfi.{ty} {{d}}, {{0}}, {{1}}, {{2}}, {{3}};"),
            &[ty, ty, "u32", "u32"],
            ty,
            |x| {
                let (at, count) = (x[2] & 0xff, x[3] & 0xff);
                let bit = |i: u64| {
                    if i >= at && i < at + count {
                        x[0] >> (i - at) & 1
                    } else {
                        x[1] >> i & 1
                    }
                };
                Some((0..bits).fold(0, |all, i| all | bit(i) << i))
            },
        );
    }
}

/// Byte n of b:a, or the byte filled with its sign.
fn byte(x: &[u64], selector: u64) -> u64 {
    let byte = (x[1] << 32 | x[0]) >> (8 * (selector & 7)) & 0xff;
    match (selector & 8 != 0, byte & 0x80 != 0) {
        (false, _) => byte,
        (true, true) => 0xff,
        (true, false) => 0,
    }
}

#[test]
fn permutations() {
    let types = ["b32", "b32", "b32"];
    let of = |x: &[u64], selectors: [u64; 4]| {
        (0..4).fold(0, |all, i| all | byte(x, selectors[i]) << (8 * i))
    };
    check("prmt.b32 {d}, {0}, {1}, {2};", &types, "b32", |x| {
        Some(of(x, [0, 4, 8, 12].map(|shift| x[2] >> shift & 15)))
    });
    // For each value of the low two bits: bytes 3, 2, 1, 0 of the manual's table.
    let tables: [(&str, [[u64; 4]; 4]); 6] = [
        (
            "f4e",
            [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
        ),
        (
            "b4e",
            [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
        ),
        (
            "rc8",
            [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            "ecl",
            [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            "ecr",
            [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
        ),
        (
            "rc16",
            [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
        ),
    ];
    for (mode, table) in tables {
        check(
            &format!("prmt.b32.{mode} {{d}}, {{0}}, {{1}}, {{2}};"),
            &types,
            "b32",
            |x| {
                let [d, c, b, a] = table[(x[2] & 3) as usize];
                Some(of(x, [a, b, c, d]))
            },
        );
    }
}

#[test]
fn moves_and_choices() {
    let types = [
        "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64",
    ];
    for ty in types {
        check(&format!("mov.{ty} {{d}}, {{0}};"), &[ty], ty, |x| {
            Some(x[0])
        });
        let body = format!("setp.gt.u32 {{p}}, {{2}}, 40; selp.{ty} {{d}}, {{0}}, {{1}}, {{p}};");
        check(&body, &[ty, ty, "u32"], ty, |x| {
            Some(if x[2] > 40 { x[0] } else { x[1] })
        });
    }
    check("mov.b32 {d}, {{0}, {1}};", &["b16", "b16"], "b32", |x| {
        Some(x[1] << 16 | x[0])
    });
    check("mov.b64 {d}, {{0}, {1}};", &["b32", "b32"], "b64", |x| {
        Some(x[1] << 32 | x[0])
    });
    check("mov.b64 {%r6, {d}}, {0};", &["b64"], "b32", |x| {
        Some(x[0] >> 32)
    });
    check("mov.b32 {{d}, %h6}, {0};", &["b32"], "b16", |x| {
        Some(x[0] & 0xffff)
    });
}
