//! Warp instructions, checked against the PTX manual's definition for a single lane.

use simt::{Arg, Buffer, Dim, Module, Options};

use super::floor::note;

/// Returns each lane's `%r0`; `%i` is the lane's number, `%x` a value of its own.
fn run(body: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 out)
        {{
        .reg .b32 %i, %x, %r<5>; .reg .b64 %out, %d0; .reg .pred %p, %q;
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        mad.wide.u32 %out, %i, 4, %out;
        mad.lo.u32 %x, %i, 0x9e3779b9, 0x7f4a7c15;
        {body}
        st.global.u32 [%out], %r0;
        ret;
        }}"
    );
    let kernel = Module::parse(&text).and_then(|m| m.kernel("kernel"));
    let kernel = kernel.unwrap_or_else(|e| panic!("{body}: {e}"));
    let mut buffers = [Buffer::uninitialised("out", 128)];
    let dim = Dim {
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
    };
    let report = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], &Options::default());
    let report = report.unwrap_or_else(|e| panic!("{body}: {e}"));
    note(&report);
    assert!(report.is_clean(), "{body}: {:?}", report.findings);
    buffers[0].to_u32s()
}

fn x(lane: u32) -> u32 {
    lane.wrapping_mul(0x9e37_79b9).wrapping_add(0x7f4a_7c15)
}

fn check(body: &str, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..32).map(expected).collect();
    assert_eq!(run(body), expected, "{body}");
}

/// `shfl.sync`: the source lane, and whether it is in range.
fn source(mode: &str, lane: i32, b: i32, c: i32) -> (u32, bool) {
    let (bval, cval, mask) = (b & 0x1f, c & 0x1f, (c >> 8) & 0x1f);
    let most = (lane & mask) | (cval & !mask);
    let least = lane & mask;
    let j = match mode {
        "up" => lane - bval,
        "down" => lane + bval,
        "bfly" => lane ^ bval,
        _ => least | (bval & !mask),
    };
    let in_range = if mode == "up" { j >= most } else { j <= most };
    (if in_range { j } else { lane } as u32, in_range)
}

#[test]
fn shuffles() {
    for mode in ["up", "down", "bfly", "idx"] {
        for width in [2, 4, 8, 16, 32] {
            for distance in [0, 1, 2, 3, 5, 8, 16, 31, 33] {
                let c = (32 - width) << 8 | if mode == "up" { 0 } else { 0x1f };
                let shuffle = format!("shfl.sync.{mode}.b32 %r0|%p, %x, {distance}, {c}, -1;");
                let of = |lane: u32| source(mode, lane as i32, distance, c);
                check(&shuffle, |lane| x(of(lane).0));
                let flag = format!("{shuffle} selp.u32 %r0, 1, 0, %p;");
                check(&flag, |lane| of(lane).1.into());
            }
        }
    }
    // Each lane reads a different one.
    check(
        "xor.b32 %r1, %i, 21; shfl.sync.idx.b32 %r0, %x, %r1, 31, -1;",
        |lane| x(lane ^ 21),
    );
}

type Holds = fn(u32) -> bool;

#[test]
fn votes() {
    let all = |holds: fn(u32) -> bool| (0..32).fold(0, |m, i| m | u32::from(holds(i)) << i);
    let cases: [(&str, Holds); 4] = [
        ("setp.lt.u32 %p, %i, 40;", |_| true),
        ("setp.gt.u32 %p, %i, 40;", |_| false),
        ("setp.eq.u32 %p, %i, 7;", |i| i == 7),
        ("setp.ne.u32 %p, %i, 7;", |i| i != 7),
    ];
    for (set, holds) in cases {
        let mask = all(holds);
        check(&format!("{set} vote.sync.ballot.b32 %r0, %p, -1;"), |_| {
            mask
        });
        check(&format!("{set} vote.sync.ballot.b32 %r0, !%p, -1;"), |_| {
            !mask
        });
        for (mode, expected) in [
            ("all", mask == !0),
            ("any", mask != 0),
            ("uni", mask == 0 || mask == !0),
        ] {
            let body = format!("{set} vote.sync.{mode}.pred %q, %p, -1; selp.u32 %r0, 1, 0, %q;");
            check(&body, |_| expected.into());
        }
    }
}

#[test]
fn matches() {
    let third = |lane: u32| (0..32).fold(0, |m, i| m | u32::from(i / 3 == lane / 3) << i);
    let body = "div.u32 %r1, %i, 3;";
    check(&format!("{body} match.any.sync.b32 %r0, %r1, -1;"), third);
    let wide = format!("{body} mov.b64 %d0, {{7, %r1}}; match.any.sync.b64 %r0, %d0, -1;");
    check(&wide, third);
    for (ty, set) in [
        ("b32", "div.u32 %r1, %i, %r2;"),
        ("b64", "div.u32 %r1, %i, %r2; mov.b64 %d0, {9, %r1};"),
    ] {
        let a = if ty == "b32" { "%r1" } else { "%d0" };
        for (divisor, all) in [(32, true), (31, false)] {
            let both =
                format!("mov.u32 %r2, {divisor}; {set} match.all.sync.{ty} %r0|%p, {a}, -1;");
            check(&both, |_| if all { !0 } else { 0 });
            check(&format!("{both} selp.u32 %r0, 1, 0, %p;"), |_| all.into());
        }
    }
}

#[test]
fn reductions() {
    let all = || (0..32).map(x);
    let signed = || all().map(|x| x as i32);
    let sum = all().fold(0u32, u32::wrapping_add);
    for (form, expected) in [
        ("add.u32", sum),
        ("add.s32", sum),
        ("min.u32", all().min().unwrap()),
        ("max.u32", all().max().unwrap()),
        ("min.s32", signed().min().unwrap() as u32),
        ("max.s32", signed().max().unwrap() as u32),
        ("and.b32", all().fold(!0, |a, b| a & b)),
        ("or.b32", all().fold(0, |a, b| a | b)),
        ("xor.b32", all().fold(0, |a, b| a ^ b)),
    ] {
        check(&format!("redux.sync.{form} %r0, %x, -1;"), |_| expected);
    }
    // A mask of some lanes.
    let low = (0..8).map(x).fold(0u32, u32::wrapping_add);
    let body = "mov.u32 %r0, 0; setp.lt.u32 %p, %i, 8; @%p redux.sync.add.u32 %r0, %x, 255;";
    check(body, |lane| if lane < 8 { low } else { 0 });
}

#[test]
fn active_masks() {
    check("activemask.b32 %r0;", |_| !0);
    let body = "mov.u32 %r0, 0; setp.lt.u32 %p, %i, 5; @%p bra HERE; bra.uni THERE;
        HERE: activemask.b32 %r0;
        THERE: bar.warp.sync -1;";
    check(body, |lane| if lane < 5 { 31 } else { 0 });
    for (name, expected) in [
        ("%laneid", (|i| i) as fn(u32) -> u32),
        ("%lanemask_eq", |i| 1 << i),
        ("%lanemask_lt", |i| (1 << i) - 1),
        ("%lanemask_le", |i| u32::MAX >> (31 - i)),
        ("%lanemask_gt", |i| !(u32::MAX >> (31 - i))),
        ("%lanemask_ge", |i| !((1 << i) - 1)),
        ("%warpid", |_| 0),
        ("%ntid.x", |_| 32),
        ("%nctaid.y", |_| 1),
        ("%ctaid.z", |_| 0),
    ] {
        check(&format!("mov.u32 %r0, {name};"), expected);
    }
}
