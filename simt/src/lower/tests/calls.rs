//! Inlined functions.

use crate::ast::Space;
use crate::code::{Address, Op, Slot};
use crate::lower::testing::lower_with;

const DOUBLE_IT: &str = ".func (.param .b32 result) double_it(.param .b32 x) {
    .reg .b32 %r<3>; ld.param.b32 %r1, [x]; st.param.b32 [result], %r1; ret; }";

const SEQUENCE: &str = "{ .param .b32 given; st.param.b32 [given], %r0; .param .b32 got;
    call.uni (got), double_it, (given); ld.param.b32 %r1, [got]; }";

fn local(offset: i64) -> Address {
    Address {
        space: Space::Local,
        base: None,
        offset,
    }
}

#[test]
fn a_parameter_is_memory_of_the_caller() {
    let kernel = lower_with(DOUBLE_IT, SEQUENCE).unwrap();
    let addresses = kernel.code.iter().filter_map(|step| match &step.op {
        Op::Load { from, .. } => Some(*from),
        Op::Store { to, .. } => Some(*to),
        _ => None,
    });
    assert_eq!(
        addresses.collect::<Vec<_>>(),
        [local(0), local(0), local(4), local(4)]
    );
    assert_eq!(kernel.local_bytes, 8);
    assert!(
        matches!(kernel.code[3].op, Op::Branch { to: 4, meet: None }),
        "ret"
    );
}

#[test]
fn each_call_has_its_own_registers() {
    let kernel = lower_with(DOUBLE_IT, &format!("{SEQUENCE} {SEQUENCE}")).unwrap();
    let loads = kernel.code.iter().filter_map(|step| match &step.op {
        Op::Load { d, .. } => d[0],
        _ => None,
    });
    let loads: Vec<_> = loads.collect();
    assert_eq!(loads.len(), 4);
    assert_ne!(loads[0], loads[2]);
    assert_eq!(loads[1], loads[3], "the caller's own");
}

#[test]
fn parameters_in_registers() {
    let function = ".func (.reg .b32 y) f(.reg .b32 x) { mov.b32 y, x; ret; }";
    let kernel = lower_with(function, "call (%r1), f, (7);").unwrap();
    let moves: Vec<_> = kernel
        .code
        .iter()
        .filter_map(|step| match &step.op {
            Op::Alu { d, from, .. } => Some((*d, from[0])),
            _ => None,
        })
        .collect();
    let (x, y) = (moves[0].0, moves[1].0);
    let seven = Slot::Word(
        kernel
            .word_constants
            .iter()
            .find(|(_, value)| *value == 7)
            .unwrap()
            .0,
    );
    assert_eq!(moves, [(x, seven), (y, x), (moves[2].0, y)]);
}

#[test]
fn lanes_that_do_not_call_branch_around() {
    let function = ".func f() { .shared .b32 s[4]; st.shared.b32 [s], 1; ret; }";
    let kernel = lower_with(function, "@%p1 call f; @!%p2 call f;").unwrap();
    assert_eq!(
        kernel.shared_bytes, 16,
        "shared variables of a function are there once"
    );
    let branches = kernel
        .code
        .iter()
        .filter(|step| step.guard.is_some())
        .map(|step| match step.op {
            Op::Branch { to, meet } => (step.guard, to, meet),
            _ => panic!("{:?}", step.op),
        });
    let expected = [
        (Some((1, true)), 3, Some(3)),
        (Some((2, false)), 6, Some(6)),
    ];
    assert_eq!(branches.collect::<Vec<_>>(), expected);
}

#[test]
fn a_function_can_take_the_address_of_a_parameter() {
    let function = ".func f(.param .align 8 .b8 x[16]) { .reg .b64 %a; .reg .b32 %v; mov.b64 %a, x;
        ld.param.b32 %v, [%a+4]; }";
    let kernel = lower_with(
        function,
        "{ .param .align 8 .b8 v[16]; st.param.v2.b64 [v], {%d0, %d1};
        call f, (v); }",
    )
    .unwrap();
    let from = kernel.code.iter().find_map(|step| match &step.op {
        Op::Load { from, .. } => Some(*from),
        _ => None,
    });
    assert_eq!(from.unwrap().space, Space::Local);
}

#[test]
fn printing() {
    let declarations = ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);";
    let kernel = lower_with(declarations, "{ .param .b64 f; st.param.b64 [f], %d0; .param .b64 v;
        st.param.b64 [v], %d1; .param .b32 r; call.uni (r), vprintf, (f, v); ld.param.b32 %r0, [r]; }");
    let kernel = kernel.unwrap();
    assert!(
        kernel
            .code
            .iter()
            .any(|step| matches!(step.op, Op::Print { d: Some(_), .. }))
    );
}

#[test]
fn a_failed_assertion() {
    let declarations = ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c,
        .param .b64 d, .param .b64 e);";
    let kernel = lower_with(
        declarations,
        "@%p0 call __assertfail, (%d0, %d1, 12, %d2, 1);",
    )
    .unwrap();
    let step = &kernel.code[0];
    assert!(matches!(&step.op, Op::AssertFail { from } if from.len() == 4));
    assert_eq!(step.guard, Some((0, false)));
}
