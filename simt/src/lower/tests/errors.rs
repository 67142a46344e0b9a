//! Errors of lowering and their locations.

use crate::lower::testing::{error, lower_with, module};

#[test]
fn undeclared_names() {
    assert_eq!(
        error("\nmov.u32 %x, 1;"),
        "line 6: expected a register that is declared, found `%x`"
    );
    assert_eq!(
        error("mov.u32 %r0, %r9;"),
        "line 5: expected a register of at most 32 bits that is declared, found `%r9`"
    );
    assert_eq!(
        error("bra nowhere;"),
        "line 5: expected a label of this kernel, found `nowhere`"
    );
    assert_eq!(
        error("@%q ret;"),
        "line 5: expected a predicate that is declared, found `%q`"
    );
    assert_eq!(
        error("{ .reg .b32 %x; } mov.u32 %r0, %x;")
            .split(',')
            .count(),
        2
    );
    assert_eq!(
        error("mov.u32 %r0, _;"),
        "line 5: expected a register of at most 32 bits that is declared, found `_`"
    );
}

#[test]
fn registers_of_the_wrong_file() {
    assert_eq!(
        error("mov.u64 %d0, %r0;"),
        "line 5: expected a register of 64 bits as this operand of `mov.u64` (this one has 32), found `%r0`"
    );
    for body in [
        "mov.u32 %d0, %r0;",
        "add.u32 %d0, %r0, %r1;",
        "add.u32 %r0, %d0, %r1;",
    ] {
        let form = body.split(' ').next().unwrap();
        assert_eq!(
            error(body),
            format!(
                "line 5: expected a register of at most 32 bits as this operand of `{form}` (this one has 64), \
                 found `%d0`"
            )
        );
    }
    assert_eq!(
        error("and.pred %p0, %p1, %r0;"),
        "line 5: expected a predicate, found `%r0`"
    );
    assert_eq!(
        error("ld.global.u32 %h0, [%d0];"),
        "line 5: expected a register that is wide enough, found `%h0`"
    );
}

#[test]
fn too_many_and_too_few_operands() {
    assert_eq!(
        error("mov.u32 %r0;"),
        "line 5: expected 2 operands of mov.u32, found `1`"
    );
    assert_eq!(
        error("add.s32 %r0, %r1;"),
        "line 5: expected 3 operands of add.s32, found `2`"
    );
    assert_eq!(
        error("ld.global.v2.u32 %r0, [%d0];"),
        "line 5: expected 2 operands of ld.global.v2.u32, found `1`"
    );
    assert_eq!(
        error("setp.lt.and.u32 %p0, %r0, %r1;"),
        "line 5: expected 4 operands of setp.lt.and.u32, found `3`"
    );
}

#[test]
fn only_mov_reads_special_registers() {
    for (body, found) in [
        ("mad.lo.u32 %r0, %ctaid.x, %r1, %r1;", "%ctaid.x"),
        ("setp.lt.u32 %p0, %tid.x, 4;", "%tid.x"),
        ("st.global.b32 [%d0], %laneid;", "%laneid"),
        ("cvt.rn.f32.u32 %r0, %tid.x;", "%tid.x"),
    ] {
        let expected = "a register: only mov reads a special one";
        let line = format!("line 5: expected {expected}, found `{found}`");
        assert_eq!(error(body), line);
    }
    assert_eq!(
        error("mov.u64 %d0, %tid.x;"),
        "line 5: expected a register of 64 bits, found `%tid.x`"
    );
}

#[test]
fn an_integer_product_needs_its_half() {
    for body in ["mul.u32 %r0, %r1, %r1;", "mad.s32 %r0, %r1, %r1, %r1;"] {
        assert!(error(body).ends_with(": a product of integers needs .lo, .hi or .wide"));
    }
}

#[test]
fn a_missing_modifier_is_suggested() {
    for (form, operands, expected) in [
        (
            "fma.f32",
            "%f0, %f1, %f1, %f1",
            "a rounding modifier, as in `fma.rn.f32`",
        ),
        (
            "div.f32",
            "%f0, %f1, %f1",
            "a rounding modifier, as in `div.rn.f32`",
        ),
        ("ex2.f32", "%f0, %f1", "`.approx`, as in `ex2.approx.f32`"),
        (
            "cvt.f32.u32",
            "%f0, %r1",
            "a rounding modifier, as in `cvt.rn.f32.u32`",
        ),
        (
            "cvt.u32.f32",
            "%r0, %f1",
            "a rounding modifier, as in `cvt.rzi.u32.f32`",
        ),
        ("mul.wide", "%d0, %r0, 4", "a type, as in `mul.wide.u32`"),
        ("add", "%r0, %r1, %r1", "a type, as in `add.u32`"),
        (
            "fma",
            "%f0, %f1, %f1, %f1",
            "a rounding modifier and a type, as in `fma.rn.f32`",
        ),
        (
            "ld.global",
            "%r0, [%d0]",
            "a type at the end, such as `.u32` or `.f32`",
        ),
    ] {
        assert_eq!(
            error(&format!("{form} {operands};")),
            format!("line 5: expected {expected}, found `{form}`")
        );
    }
}

#[test]
fn a_comparison_has_the_name_that_ptx_gives_it() {
    for (found, expected, operands) in [
        ("setp.gte.u32", "setp.ge.u32", "%p0, %r0, %r1"),
        ("setp.neq.and.f32", "setp.ne.and.f32", "%p0, %f0, %f1, %p1"),
        ("set.lte.u32.f32", "set.le.u32.f32", "%r0, %f0, %f1"),
    ] {
        assert_eq!(
            error(&format!("{found} {operands};")),
            format!("line 5: expected `{expected}`, found `{found}`")
        );
    }
    let unknown = error("setp.above.u32 %p0, %r0, %r1;");
    assert_eq!(unknown, "line 5: `setp.above.u32` is not supported");
}

#[test]
fn cuda_names_suggest_special_registers() {
    for (name, meant) in [
        ("threadIdx.y", "%tid.y"),
        ("blockIdx.x", "%ctaid.x"),
        ("blockDim.x", "%ntid.x"),
        ("%blockDim.x", "%ntid.x"),
        ("gridDim.z", "%nctaid.z"),
        ("gridDim", "%nctaid.x"),
        ("warpSize", "WARP_SZ"),
        ("tid.x", "%tid.x"),
        ("laneid", "%laneid"),
    ] {
        assert_eq!(
            error(&format!("mov.u32 %r0, {name};")),
            format!("line 5: expected `{meant}`, as PTX calls it, found `{name}`")
        );
    }
    assert!(error("mov.u32 %r0, blockDim.w;").contains("that is declared, found `blockDim.w`"));
}

#[test]
fn names_declared_twice() {
    assert_eq!(
        error(".reg .b32 %x;\n.reg .b32 %x;"),
        "line 6: expected a name that is declared once, found `%x`"
    );
    assert!(error("a:\na:\n ret;").contains("a name that is declared once, found `a`"));
}

#[test]
fn a_variable_of_another_space() {
    let error = lower_with(".shared .b32 s[4];", "ld.global.b32 %r0, [s];")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "line 5: expected a register or a variable in .global, found `s`"
    );
}

#[test]
fn unsupported_instructions() {
    let why = |body: &str| {
        error(body)
            .split_once(" is not supported")
            .unwrap()
            .1
            .to_owned()
    };
    assert_eq!(
        why("wgmma.fence.sync.aligned;"),
        ": this machine has no warp groups"
    );
    assert_eq!(
        why(
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0, {%r1}], [%r2];"
        ),
        ": this machine has no copies of tensors"
    );
    assert_eq!(
        why("clusterlaunchcontrol.try_cancel.async.b128 [%r0], [%r1];"),
        ": this machine cancels no clusters"
    );
    assert_eq!(
        why("mov.u32 %r0, %tid;"),
        ": special registers are read one axis at a time"
    );
    assert_eq!(why("barrier.cluster.arrive.acquire;"), "");
    assert_eq!(why("griddepcontrol.launch;"), "");
    assert_eq!(why("frobnicate.b32 %r0;"), "");
    assert_eq!(
        error("\n\nvadd.s32.s32.s32 %r0, %r1, %r2;"),
        "line 7: `vadd.s32.s32.s32` is not supported"
    );
}

#[test]
fn a_type_that_ptx_lacks_is_answered_with_those_that_it_has() {
    let bits = ".b16, .b32 or .b64";
    for (form, types, opcode) in [
        ("shl.u64", bits, "shl"),
        ("shl.s32", bits, "shl"),
        ("not.u32", ".b16, .b32, .b64 or .pred", "not"),
        ("popc.u32", ".b32 or .b64", "popc"),
        (
            "add.b32",
            ".u16, .u32, .u64, .s16, .s32, .s64, .f16, .f16x2, .bf16, .bf16x2, .f32 or .f64",
            "add",
        ),
        ("rem.f32", ".u16, .u32, .u64, .s16, .s32 or .s64", "rem"),
        (
            "mov.f16",
            ".b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 or .pred",
            "mov",
        ),
    ] {
        let expected =
            format!("line 5: expected {types}, the types of `{opcode}` in PTX, found `{form}`");
        let registers = ".reg .b16 %h<3>; .reg .b32 %w<3>;";
        let name = if form == "mov.f16" { 'h' } else { 'w' };
        let body = format!("{{ {registers} {form} %{name}0, %{name}1, %{name}2; }}");
        assert_eq!(error(&body), expected);
    }
}

#[test]
fn unsupported_calls() {
    let error =
        |declarations: &str, body: &str| lower_with(declarations, body).unwrap_err().to_string();
    let recursive = ".func f() { call f; }";
    assert!(
        error(recursive, "call f;")
            .ends_with("`call` is not supported: functions that call themselves")
    );
    assert!(error(".extern .func g();", "call g;").ends_with("is not supported: `g` has no body"));
    assert!(error("", "call g;").ends_with("expected a function, found `g`"));
    assert!(error("", "call %d0;").ends_with("is not supported: indirect calls"));
}

#[test]
fn an_error_names_the_source_line() {
    let body = ".file 1 \"a.cu\"\n.visible .entry k() {\n.reg .b32 %r<2>;\n.loc 1 12 3\nmov.b32 %r0, %d0;\n}";
    let error = crate::lower::kernel(&module(body), "k")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "line 8 (a.cu:12): expected a register of at most 32 bits that is declared, found `%d0`"
    );
}

#[test]
fn an_error_in_a_cuda_header_names_the_calling_line() {
    let body = ".file 1 \"a.cu\"\n.file 2 \"cuda/bin/..//include/sm_30.hpp\"\n.visible .entry k() {\n.reg .b32 %r<2>;\n\
                .loc 2 9 3, function_name $f, inlined_at 1 12 3\nmov.b32 %r0, %d0;\n}";
    let error = crate::lower::kernel(&module(body), "k").unwrap_err();
    assert!(
        error.to_string().starts_with("line 9 (a.cu:12): "),
        "{error}"
    );
}

#[test]
fn code_of_a_header_has_the_line_of_its_caller() {
    let body = ".file 1 \"a.cu\"\n.file 2 \"x.cuh\"\n.visible .entry k() {\n.reg .b32 %r<2>;\n\
                .loc 2 9 3, function_name $f, inlined_at 1 12 3\nmov.b32 %r0, %d0;\n}";
    let Err(crate::error::Error::Name { location, .. }) = crate::lower::kernel(&module(body), "k")
    else {
        panic!("expected a wrong name");
    };
    assert_eq!(location.source, Some(("x.cuh".into(), 9)));
    assert_eq!(location.called.as_deref(), Some(&("a.cu".into(), 12)));
}

#[test]
fn a_missing_kernel() {
    let module = module(".visible .entry k() { ret; }\n.func f() { ret; }");
    assert!(
        crate::lower::kernel(&module, "f")
            .unwrap_err()
            .to_string()
            .contains("found `f`")
    );
}

#[test]
fn sizes_beyond_the_limits() {
    assert_eq!(
        error(".local .b8 x[99999999999999];"),
        "line 5: `.local x` is not supported: too much memory"
    );
    assert!(error("\n.shared .b64 x[99999][99999999];").starts_with("line 6: `.shared x`"));
    let module =
        module(".global .b8 g[268435456];\n.global .b8 h[1];\n.visible .entry k() { ret; }");
    let found = crate::lower::kernel(&module, "k").unwrap_err().to_string();
    assert!(
        found.contains("`.global h` is not supported: too much memory"),
        "{found}"
    );
    assert!(error(".reg .b32 %many<4000000000>;").ends_with("too much memory"));
}

#[test]
fn fragments_of_the_wrong_size() {
    let error = error("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r4, %r5},
        {%f0, %f1, %f2, %f3};");
    assert_eq!(
        error,
        "line 5: expected fragments of [4, 4, 2, 4] registers, found `[4, 2, 2, 4]`"
    );
}
