//! Declared types of registers in instructions of other types. ptxas 13.0 accepts and refuses the same (sm_90).

use crate::lower::testing::{error, lower_with};

/// Registers of every type, in addition to those of [`lower_with`].
const REGISTERS: &str = ".reg .u16 %u16_<4>; .reg .f16 %f16_<4>; .reg .u32 %u32_<4>; .reg .s32 %s32_<4>; \
     .reg .f16x2 %f16x2_<4>; .reg .u64 %u64_<4>; .reg .s64 %s64_<4>; .reg .f64 %f64_<4>; ";

const ACCEPTED: [&str; 39] = [
    "add.s32 %r0, %u32_1, %s32_2;",
    "add.u32 %f16x2_0, %f16x2_1, 1;",
    "add.s64 %u64_0, %d1, %s64_2;",
    "add.f32 %r0, %f1, %r2;",
    "add.f64 %d0, %f64_1, %d2;",
    "fma.rn.f16 %h0, %f16_1, %h2, %f16_3;",
    "fma.rn.f16x2 %r0, %f16x2_1, %r2, %f16x2_3;",
    "fma.rn.bf16 %h0, %h1, %h2, %h3;",
    "mad.wide.u32 %s64_0, %s32_1, %u32_2, %d3;",
    "mul.wide.s16 %u32_0, %u16_1, %h2;",
    "xor.b32 %f0, %f1, %r2;",
    "and.b64 %f64_0, %d1, %u64_2;",
    "shl.b64 %f64_0, %d1, %u32_2;",
    "popc.b64 %u32_0, %f64_1;",
    "bfe.s64 %s64_0, %d1, %u32_2, 3;",
    "prmt.b32 %f0, %f1, %r2, %f3;",
    "setp.eq.b32 %p0, %f1, %r2;",
    "setp.lt.f32 %p0, %r1, %f2;",
    "set.lt.u32.f32 %s32_0, %r1, %f2;",
    "set.lt.f32.s32 %r0, %u32_1, %r2;",
    "selp.b32 %f0, %r1, %f2, %p0;",
    "slct.f32.s32 %r0, %f1, %r2, %u32_3;",
    "mov.b32 %f0, %r1;",
    "mov.f32 %r0, %f1;",
    "mov.b64 %d0, {%f0, %f1};",
    "mov.b32 {%f16_0, %h1}, %f2;",
    "cvt.rn.f32.u32 %r0, %u64_1;",
    "cvt.u64.u32 %s64_0, %r1;",
    "cvt.u8.u32 %u64_0, %s32_1;",
    "cvt.f32.f16 %f0, %r1;",
    "ld.global.u16 %u64_0, [%d0];",
    "ld.global.b16 %f0, [%d0];",
    "ld.global.f32 %d1, [%d0];",
    "st.global.b32 [%d0], %f64_1;",
    "st.global.v2.f32 [%d0], {%f1, %r1};",
    "st.global.v2.f32 [%d0], {%s32_1, %s32_2};",
    "shfl.sync.bfly.b32 %f0|%p0, %f1, 1, 31, -1;",
    "atom.global.cas.b32 %f0, [%d0], %r1, %f2;",
    "red.global.add.f32 [%d0], %r1;",
];

const REFUSED: [(&str, &str, &str); 26] = [
    ("add.s32 %f0, %r1, %r2;", "%f0", "f32"),
    ("add.s32 %r0, %r1, %f2;", "%f2", "f32"),
    ("add.u16 %h0, %f16_1, %h2;", "%f16_1", "f16"),
    ("add.u16 %h0, %r1, %h2;", "%r1", "b32"),
    ("add.s64 %d0, %f64_1, %d2;", "%f64_1", "f64"),
    ("mad.lo.u32 %r0, %r1, %f2, %r3;", "%f2", "f32"),
    ("mad.wide.u32 %f64_0, %r1, %r2, %d3;", "%f64_0", "f64"),
    ("add.f32 %f0, %u32_1, %f2;", "%u32_1", "u32"),
    ("add.f32 %f0, %f1, %f16x2_2;", "%f16x2_2", "f16x2"),
    ("fma.rn.bf16 %h0, %h1, %u16_2, %h3;", "%u16_2", "u16"),
    ("fma.rn.f16x2 %r0, %r1, %f2, %r3;", "%f2", "f32"),
    ("shl.b32 %r0, %r1, %f2;", "%f2", "f32"),
    ("popc.b32 %f0, %r1;", "%f0", "f32"),
    ("bfi.b32 %r0, %r1, %r2, %f3, 1;", "%f3", "f32"),
    ("setp.lt.u32 %p0, %f1, %r2;", "%f1", "f32"),
    ("set.lt.u32.f32 %f0, %f1, %f2;", "%f0", "f32"),
    ("selp.f32 %f0, %s32_1, %f2, %p0;", "%s32_1", "s32"),
    ("mov.u32 %r0, %f1;", "%f1", "f32"),
    ("mov.f32 %u32_0, %f1;", "%u32_0", "u32"),
    ("cvt.rn.f32.u32 %f0, %f1;", "%f1", "f32"),
    ("cvt.rzi.u32.f32 %f0, %f1;", "%f0", "f32"),
    ("ld.global.u32 %f0, [%d0];", "%f0", "f32"),
    ("ld.global.f32 %u32_0, [%d0];", "%u32_0", "u32"),
    ("ld.global.v2.u32 {%f1, %f2}, [%d0];", "%f1", "f32"),
    ("atom.global.add.u32 %r0, [%d0], %f2;", "%f2", "f32"),
    ("neg.s32 %r0, %f1;", "%f1", "f32"),
];

#[test]
fn types_of_registers_fit_as_in_ptxas() {
    for body in ACCEPTED {
        let lowered = lower_with("", &format!("{REGISTERS}\n{body}"));
        assert_eq!(
            lowered.map(|_| ()).map_err(|e| e.to_string()),
            Ok(()),
            "{body}"
        );
    }
    for (body, register, ty) in REFUSED {
        let form = body.split(' ').next().unwrap();
        let error = error(&format!("{REGISTERS}\n{body}"));
        let end = format!("as this operand of `{form}` (this one is .{ty}), found `{register}`");
        assert!(
            error.starts_with("line 6: expected a register of ") && error.ends_with(&end),
            "{body}: {error}"
        );
    }
}

#[test]
fn the_error_names_the_types_that_fit() {
    for (body, allowed) in [
        ("add.s32 %f0, %r1, %r2;", ".b32, .u32 or .s32"),
        ("mov.f64 %d0, %u64_1;", ".b64 or .f64"),
        ("fma.rn.bf16 %h0, %h1, %f16_2, %h3;", ".b16"),
        ("and.b16 %h0, %r1, %h2;", "16 bits"),
    ] {
        let error = error(&format!("{REGISTERS}{body}"));
        let expected = format!("line 5: expected a register of {allowed} as this operand of ");
        assert!(error.starts_with(&expected), "{body}: {error}");
    }
}
