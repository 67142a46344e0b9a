//! Two kernels and their mutants: one uses shared memory, the other shuffles.

use std::path::Path;

use crate::mutate::{Judge, Mutant, Verdict, mutants};
use crate::{Case, Class, Module};

/// y[i] = x[63 − i] in blocks of 64.
pub const REVERSE: &str = ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry reverse(.param .u64 x, .param .u64 y, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
    .shared .align 4 .b32 tile[64];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    ld.param.u32 %r4, [n];
    setp.ge.u32 %p1, %r3, %r4;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd4, %rd1, %rd3;
    mov.f32 %f1, 0f3F800000;
    @!%p1 ld.global.f32 %f1, [%rd4];
    mov.u32 %r5, tile;
    mad.lo.u32 %r6, %r1, 4, %r5;
    st.shared.f32 [%r6], %f1;
    bar.sync 0;
    sub.u32 %r7, 63, %r1;
    mad.lo.u32 %r8, %r7, 4, %r5;
    ld.shared.f32 %f2, [%r8];
    add.u64 %rd5, %rd2, %rd3;
    @!%p1 st.global.f32 [%rd5], %f2;
    ret;
}";

/// y = Σx over 32 lanes, in every lane.
const SUM: &str = ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry sum(.param .u64 x, .param .u64 y) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<5>; .reg .f32 %f<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    mov.u32 %r2, 16;
again:
    mov.b32 %r3, %f1;
    shfl.sync.down.b32 %r3, %r3, %r2, 31, -1;
    mov.b32 %f2, %r3;
    add.f32 %f1, %f1, %f2;
    shr.u32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra again;
    shfl.sync.idx.b32 %r3, %f1, 0, 31, -1;
    mov.b32 %f3, %r3;
    add.u64 %rd2, %rd2, %rd3;
    st.global.f32 [%rd2], %f3;
    ret;
}";

fn judged(text: &str, entry: &str, cases: &[&str]) -> Vec<(Mutant, Verdict)> {
    let module = Module::parse(text).unwrap();
    let cases: Vec<Case> = cases.iter().map(|case| case.parse().unwrap()).collect();
    let judge = Judge::new(&module, entry, &cases, Path::new("")).unwrap();
    let verdict = |m: Mutant| {
        let verdict = judge.verdict(&module, &m).unwrap();
        (m, verdict)
    };
    mutants(&module, entry).into_iter().map(verdict).collect()
}

/// Lists the surviving mutants as text.
fn survivors(judged: &[(Mutant, Verdict)]) -> Vec<String> {
    let survivors = judged
        .iter()
        .filter(|(_, v)| matches!(v, Verdict::Survived { .. }));
    survivors
        .map(|(m, _)| format!("{} → {}", m.was, m.now))
        .collect()
}

#[test]
fn mutants_of_a_tile_are_killed() {
    let case = "--grid 2 --block 64 --arg f32:100:random --arg f32:100:poison --arg u32:100";
    let judged = judged(REVERSE, "reverse", &[case]);
    assert!(judged.len() > 25, "{}", judged.len());
    let survivors = survivors(&judged);
    assert!(survivors.is_empty(), "{survivors:#?}");
    let by = |operator: &str| judged.iter().find(|(m, _)| m.operator == operator).unwrap();
    // A comparison of outputs alone may miss the first two.
    for (operator, class) in [
        ("drop-barrier", Class::Race),
        ("off-by-one", Class::OutOfBounds),
        ("drop-guard", Class::OutOfBounds),
    ] {
        let Verdict::Killed {
            diagnosis: Some(found),
            ..
        } = &by(operator).1
        else {
            panic!("{operator}: {:?}", by(operator).1);
        };
        assert_eq!(found.class, class, "{operator}");
    }
    let Verdict::Killed {
        oracle: Some(difference),
        ..
    } = &by("drop-store").1
    else {
        panic!("{:?}", by("drop-store").1);
    };
    assert!(
        difference.to_string().contains("argument 1"),
        "{difference}"
    );
}

#[test]
fn mutants_of_a_shuffle_are_killed() {
    let judged = judged(SUM, "sum", &["--arg f32:32:random --arg f32:32:poison"]);
    let survivors = survivors(&judged);
    assert!(survivors.is_empty(), "{survivors:#?}");
    assert!(judged.iter().any(|(m, _)| m.operator == "shrink-mask"));
}

#[test]
fn a_mutant_that_no_case_executes_survives_unreached() {
    let case = "--grid 1 --block 64 --arg f32:64:random --arg f32:64:poison --arg u32:64";
    let text = REVERSE.replace(
        "bar.sync 0;",
        "bar.sync 0; bra past;\nneg.f32 %f1, %f1;\npast:",
    );
    let judged = judged(&text, "reverse", &[case]);
    let negated = judged
        .iter()
        .find(|(m, _)| m.was.starts_with("neg"))
        .unwrap();
    assert_eq!(negated.1, Verdict::Survived { reached: false });
}

#[test]
fn a_kernel_with_a_finding_cannot_be_judged() {
    let module = Module::parse(REVERSE).unwrap();
    let short = "--grid 2 --block 64 --arg f32:99:random --arg f32:100:poison --arg u32:100";
    let error =
        Judge::new(&module, "reverse", &[short.parse().unwrap()], Path::new("")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("expected a launch without findings") && text.contains("ld.global.f32"),
        "{text}"
    );
}
