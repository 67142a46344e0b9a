//! Examples of each operator, and mutants of small kernels that must be found.

mod kernels;
mod outputs;

use super::*;

/// Applies an operator to an instruction, in a kernel with 31 in `%r31` and −1 in `%all`.
fn changed(operator: &str, instruction: &str) -> Vec<String> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{
            mov.u32 %r31, 31; mov.b32 %all, -1; {instruction}; }}"
    );
    let all = mutants(&Module::parse(&text).unwrap(), "k");
    let of = |m: &&Mutant| m.operator == operator && !m.was.starts_with("mov.u32 %r31");
    let of = all
        .iter()
        .filter(of)
        .filter(|m| !m.was.starts_with("mov.b32 %all"));
    of.map(|m| m.now.clone()).collect()
}

/// The replacement of a deleted instruction.
const DROPPED: &str = "";

/// An operator, an instruction, and the results.
const EXAMPLES: &[(&str, &str, &[&str])] = &[
    ("drop-barrier", "bar.sync 0", &[DROPPED]),
    ("drop-barrier", "bar.warp.sync -1", &[DROPPED]),
    ("drop-barrier", "membar.gl", &[DROPPED]),
    ("drop-barrier", "cp.async.wait_group 1", &[DROPPED]),
    ("drop-barrier", "bar.red.popc.u32 %r1, 0, %p1", &[]),
    (
        "drop-barrier",
        "cp.async.cg.shared.global [%r1], [%rd1], 16",
        &[],
    ),
    (
        "wait-less",
        "cp.async.wait_group 1",
        &["cp.async.wait_group 2"],
    ),
    (
        "shrink-mask",
        "bar.warp.sync -1",
        &["bar.warp.sync 2147483647"],
    ),
    (
        "shrink-mask",
        "bar.warp.sync %all",
        &["bar.warp.sync 2147483647"],
    ),
    ("shrink-mask", "bar.warp.sync %r1", &[]),
    (
        "shrink-mask",
        "vote.sync.any.pred %p1, %p2, 255",
        &["vote.sync.any.pred %p1, %p2, 127"],
    ),
    (
        "shuffle-width",
        "shfl.sync.bfly.b32 %r1, %r2, 4, %r31, -1",
        &["shfl.sync.bfly.b32 %r1, %r2, 4, 7199, -1"],
    ),
    (
        "shuffle-width",
        "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1",
        &["shfl.sync.idx.b32 %r1, %r2, 0, 4127, -1"],
    ),
    (
        "shuffle-width",
        "shfl.sync.bfly.b32 %r1, %r2, %r3, 31, -1",
        &[],
    ),
    (
        "shuffle-lane",
        "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1",
        &["shfl.sync.down.b32 %r1|%p1, %r2, 8, 31, -1"],
    ),
    (
        "shuffle-lane",
        "shfl.sync.idx.b32 %r1, %r2, 31, 31, -1",
        &["shfl.sync.idx.b32 %r1, %r2, 0, 31, -1"],
    ),
    (
        "shift-index",
        "ld.global.nc.f32 %f1, [%rd1+-4]",
        &["ld.global.nc.f32 %f1, [%rd1]"],
    ),
    (
        "shift-index",
        "st.shared.v2.f32 [%r1], {%f1, %f2}",
        &["st.shared.v2.f32 [%r1+8], {%f1, %f2}"],
    ),
    (
        "shift-index",
        "cp.async.cg.shared.global [%r1], [%rd1], 16",
        &[
            "cp.async.cg.shared.global [%r1+16], [%rd1], 16",
            "cp.async.cg.shared.global [%r1], [%rd1+16], 16",
        ],
    ),
    ("shift-index", "ld.param.u32 %r1, [p]", &[]),
    ("drop-store", "@%p1 st.global.f32 [%rd1], %f1", &[DROPPED]),
    ("drop-store", "ld.global.f32 %f1, [%rd1]", &[]),
    ("drop-store", "cp.async.commit_group", &[]),
    (
        "plain-update",
        "@%p1 atom.shared.add.u32 %r1, [%r2], 1",
        &[
            "{ @%p1 ld.shared.u32 %r1, [%r2]; @%p1 add.u32 %mutated, %r1, 1; \
           @%p1 st.shared.u32 [%r2], %mutated }",
        ],
    ),
    ("plain-update", "atom.global.cas.b32 %r1, [%rd1], 0, 1", &[]),
    (
        "flip-comparison",
        "setp.ltu.f32 %p1, %f1, %f2",
        &["setp.geu.f32 %p1, %f1, %f2"],
    ),
    (
        "flip-comparison",
        "setp.eq.s32 %p1|%p2, %r1, 0",
        &["setp.ne.s32 %p1|%p2, %r1, 0"],
    ),
    (
        "off-by-one",
        "setp.ge.u32 %p1, %r1, %r2",
        &["setp.gt.u32 %p1, %r1, %r2"],
    ),
    ("off-by-one", "setp.ge.f32 %p1, %f1, %f2", &[]),
    ("off-by-one", "setp.eq.u32 %p1, %r1, %r2", &[]),
    ("drop-guard", "@!%p1 bra out", &["bra out"]),
    ("drop-guard", "bra out", &[]),
    ("negate-guard", "@!%p1 bra out", &["@%p1 bra out"]),
    ("drop-branch", "@%p1 bra out", &[DROPPED]),
    ("drop-branch", "@%p1 st.global.f32 [%rd1], %f1", &[]),
    (
        "wrong-operand",
        "sub.s32 %r1, %r2, %r3",
        &["sub.s32 %r1, %r3, %r2"],
    ),
    (
        "wrong-operand",
        "selp.b32 %r1, %r2, %r3, %p1",
        &["selp.b32 %r1, %r3, %r2, %p1"],
    ),
    (
        "wrong-operand",
        "add.f32 %f1, %f1, %f2",
        &["add.f32 %f1, %f1, %f1"],
    ),
    ("wrong-operand", "add.f32 %f1, %f2, %f2", &[]),
    (
        "wrong-operand",
        "fma.rn.f32 %f1, %f2, %f3, %f4",
        &["fma.rn.f32 %f1, %f2, %f4, %f3"],
    ),
    ("wrong-operand", "mad.wide.u32 %rd1, %r2, 4, %rd2", &[]),
    (
        "wrong-operation",
        "add.s64 %rd1, %rd2, 4",
        &["sub.s64 %rd1, %rd2, 4"],
    ),
    ("wrong-operation", "add.f32 %f1, %f2, 0f80000000", &[]),
    (
        "wrong-operation",
        "max.f32 %f1, %f2, %f3",
        &["min.f32 %f1, %f2, %f3"],
    ),
    (
        "wrong-operation",
        "shr.s32 %r1, %r2, 1",
        &["shl.b32 %r1, %r2, 1"],
    ),
    (
        "wrong-operation",
        "div.full.f32 %f1, %f2, %f3",
        &["mul.f32 %f1, %f2, %f3"],
    ),
    (
        "wrong-operation",
        "div.u32 %r1, %r2, 3",
        &["mul.lo.u32 %r1, %r2, 3"],
    ),
    (
        "wrong-operation",
        "neg.ftz.f32 %f1, %f2",
        &["mov.f32 %f1, %f2"],
    ),
    ("wrong-operation", "mul.wide.u32 %rd1, %r1, 4", &[]),
    (
        "wrong-constant",
        "and.b32 %r1, %r2, 31",
        &["and.b32 %r1, %r2, 32"],
    ),
    (
        "wrong-constant",
        "mul.f32 %f1, %f2, 0f3F000000",
        &["mul.f32 %f1, %f2, 0f3F800000"],
    ),
    (
        "wrong-constant",
        "mov.f32 %f1, 0fFF800000",
        &["mov.f32 %f1, 0f00000000"],
    ),
    ("wrong-constant", "setp.lt.u32 %p1, %r1, 5", &[]),
];

#[test]
fn operators_rewrite_exactly_what_they_are_for() {
    for (operator, was, now) in EXAMPLES {
        assert_eq!(changed(operator, was), *now, "{operator}: {was}");
    }
}

#[test]
fn each_operator_has_an_example() {
    for operator in OPERATORS {
        let makes = |e: &&(&str, &str, &[&str])| e.0 == operator.name && !e.2.is_empty();
        assert!(EXAMPLES.iter().any(|e| makes(&e)), "{}", operator.name);
    }
}

#[test]
fn no_mutant_equals_the_original() {
    let module = Module::parse(kernels::REVERSE).unwrap();
    for mutant in mutants(&module, "reverse") {
        assert_ne!(mutant.was, mutant.now);
        assert_ne!(mutant.apply(&module).ast, module.ast, "{}", mutant.was);
    }
    assert!(mutants(&module, "another").is_empty());
}
