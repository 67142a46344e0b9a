//! Instructions that lower to several steps or share a flag, checked against numbers computed here.

use simt::{Arg, Buffer, Dim, Module, Options};

use super::floor::note;

/// Returns `%d0` of each of 64 threads; `%i` is the thread.
fn run(body: &str) -> Vec<u64> {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 out)
        {{
        .reg .b32 %i, %r<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .b64 %d<9>, %to; .reg .pred %p<9>;
        mov.u32 %i, %tid.x;
        ld.param.u64 %to, [out];
        mad.wide.u32 %to, %i, 8, %to;
        mov.u64 %d0, 0;
        {body}
        st.global.u64 [%to], %d0;
        ret;
        }}"
    );
    let kernel = Module::parse(&text).unwrap().kernel("kernel").unwrap();
    let mut buffers = [Buffer::uninitialised("out", 512)];
    let dim = Dim {
        grid: [1; 3],
        block: [64, 1, 1],
        smem: 0,
    };
    let report = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], &Options::default());
    let report = report.unwrap();
    note(&report);
    assert!(report.is_clean(), "{:?}", report.findings);
    let words = buffers[0].to_u32s();
    let pairs = words
        .chunks(2)
        .map(|w| u64::from(w[1]) << 32 | u64::from(w[0]));
    pairs.collect()
}

fn check(body: &str, expected: impl Fn(u64) -> u64) {
    let expected: Vec<u64> = (0..64).map(expected).collect();
    assert_eq!(run(body), expected, "{body}");
}

#[test]
fn sums_of_two_words() {
    let body = "mad.lo.u32 %r0, %i, 0x10000001, 0xf0000000; mov.u32 %r1, %i;
        add.cc.u32 %r2, %r0, 0x20000000; addc.u32 %r3, %r1, 7; mov.b64 %d0, {%r2, %r3};";
    let low = |i: u64| (i * 0x1000_0001 + 0xf000_0000) & 0xffff_ffff;
    check(body, |i| (low(i) | i << 32) + (7 << 32 | 0x2000_0000));
    let body = body.replace("add", "sub");
    check(&body, |i| {
        (low(i) | i << 32).wrapping_sub(7 << 32 | 0x2000_0000)
    });
}

#[test]
fn products_of_two_words() {
    // (i << 32 | 0xfffffff0 + i) × 0xdeadbeef, in 64 bits.
    let body = "add.u32 %r0, %i, 0xfffffff0; mov.u32 %r7, 0xdeadbeef;
        mul.lo.u32 %r2, %r0, %r7; mul.lo.u32 %r3, %i, %r7;
        mad.hi.cc.u32 %r3, %r0, %r7, %r3; mov.b64 %d0, {%r2, %r3};";
    check(body, |i| {
        let a = i << 32 | (i + 0xffff_fff0) & 0xffff_ffff;
        a.wrapping_mul(0xdead_beef)
    });
}

#[test]
fn indexed_branches() {
    let body = "and.b32 %r0, %i, 3;
        list: .branchtargets zero, one, two, one;
        brx.idx %r0, list;
        zero: mov.u64 %d0, 10; bra end;
        one: mov.u64 %d0, 11; bra end;
        two: mov.u64 %d0, 12;
        end:";
    check(body, |i| [10, 11, 12, 11][i as usize % 4]);
}

#[test]
fn selection_by_sign() {
    let body = "sub.s32 %r0, %i, 5; slct.u64.s32 %d0, 100, 200, %r0;";
    check(body, |i| if i >= 5 { 100 } else { 200 });
    let body = "cvt.rn.f32.u32 %f0, %i; sub.f32 %f0, %f0, 0f40A00000; neg.f32 %f1, %f0;
        slct.b32.f32 %r0, 1, 2, %f0; slct.f32.f32 %f2, 0f3F800000, 0f40000000, %f1;
        mov.b32 %r1, %f2; mov.b64 %d0, {%r0, %r1};";
    check(body, |i| {
        let second = if i <= 5 { 1f32 } else { 2.0 };
        u64::from(second.to_bits()) << 32 | if i >= 5 { 1 } else { 2 }
    });
}

#[test]
fn comparisons_of_64_bits() {
    let body = "cvt.u64.u32 %d1, %i; shl.b64 %d1, %d1, 40; mov.u64 %d2, 0x50000000000;
        set.lt.u32.u64 %r0, %d1, %d2; setp.ge.u32 %p0, %i, 2;
        set.lt.and.f32.u64 %f0, %d1, %d2, %p0; mov.b32 %r1, %f0; mov.b64 %d0, {%r0, %r1};";
    check(body, |i| {
        let all = if i < 5 { 0xffff_ffff } else { 0 };
        let one = if (2..5).contains(&i) { 1f32 } else { 0.0 };
        u64::from(one.to_bits()) << 32 | all
    });
}

#[test]
fn classes_of_floats() {
    let kinds = [
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ];
    // Thread i puts its number in the high bits, so that all classes occur.
    let values = |i: u64| f32::from_bits((i as u32) << 26 | u32::from(i.is_multiple_of(3)));
    let tests: String = (0..kinds.len())
        .map(|n| {
            let kind = kinds[n];
            format!(
                "testp.{kind}.f32 %p0, %f0; selp.u32 %r1, {}, 0, %p0; or.b32 %r2, %r2, %r1;
                testp.{kind}.f64 %p0, %g0; selp.u32 %r1, {}, 0, %p0; or.b32 %r2, %r2, %r1;",
                1 << n,
                64 << n
            )
        })
        .collect();
    let body = format!(
        "shl.b32 %r0, %i, 26; rem.u32 %r1, %i, 3; setp.eq.u32 %p0, %r1, 0; @%p0 or.b32 %r0, %r0, 1;
        mov.b32 %f0, %r0; cvt.f64.f32 %g0, %f0; mov.u32 %r2, 0; {tests} cvt.u64.u32 %d0, %r2;"
    );
    check(&body, |i| {
        let x = values(i);
        let of = |subnormal: bool| {
            let normal = (x.is_normal() || x == 0.0) || x.is_finite() && !subnormal;
            let all = [
                x.is_finite(),
                x.is_infinite(),
                !x.is_nan(),
                x.is_nan(),
                normal,
                subnormal,
            ];
            (0..6).fold(0, |bits, n| bits | u64::from(all[n]) << n)
        };
        // As an f64, none of them is subnormal.
        of(x.is_subnormal()) | of(false) << 6
    });
}
