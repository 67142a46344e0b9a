//! Memory layout and addresses of variables.

use crate::ast::Space;
use crate::code::{
    Address, CONST_WINDOW, Kernel, LOCAL_WINDOW, Op, PARAM_WINDOW, SHARED_WINDOW, Slot,
};
use crate::lower::testing::{lower_with, ops};

fn load_from(op: &Op) -> Address {
    match op {
        Op::Load { from, .. } => *from,
        other => panic!("{other:?}"),
    }
}

/// The last operand of a `mov` or `cvta`, a constant.
fn constant(kernel: &Kernel, step: usize) -> u64 {
    let Op::Alu { from, .. } = &kernel.code[step].op else {
        panic!("{:?}", kernel.code[step].op)
    };
    match from.last().unwrap() {
        Slot::Word(r) => u64::from(
            kernel
                .word_constants
                .iter()
                .find(|(reg, _)| reg == r)
                .unwrap()
                .1,
        ),
        Slot::Double(r) => {
            kernel
                .double_constants
                .iter()
                .find(|(reg, _)| reg == r)
                .unwrap()
                .1
        }
    }
}

fn at(space: Space, offset: i64) -> Address {
    Address {
        space,
        base: None,
        offset,
    }
}

#[test]
fn parameters_are_laid_out_in_order() {
    let ops = ops(
        "ld.param.u64 %d0, [a]; ld.param.u32 %r0, [n]; ld.param.u16 %h0, [n+2];
        mov.u64 %d1, a; ld.param.u32 %r1, [%d1+8];",
    );
    assert_eq!(load_from(&ops[0]), at(Space::Param, 0));
    assert_eq!(load_from(&ops[1]), at(Space::Param, 8));
    assert_eq!(load_from(&ops[2]), at(Space::Param, 10));
    assert_eq!(
        load_from(&ops[4]),
        Address {
            space: Space::Param,
            base: Some(Slot::Double(1)),
            offset: 8
        }
    );
}

#[test]
fn shared_memory_holds_the_variables_in_use() {
    let declarations = ".shared .align 4 .b8 unused[1000]; .shared .align 16 .b8 used[20];
        .extern .shared .align 16 .b8 dynamic[];";
    let kernel = lower_with(
        declarations,
        ".shared .f64 own[2]; ld.shared.f32 %f0, [used+4]; ld.shared.f32 %f0, [own];
        mov.u32 %r0, dynamic; mov.u64 %d0, used+8;",
    );
    let kernel = kernel.unwrap();
    assert_eq!(load_from(&kernel.code[0].op), at(Space::Shared, 4));
    assert_eq!(load_from(&kernel.code[1].op), at(Space::Shared, 24));
    assert_eq!(constant(&kernel, 2), 48, "behind 40 bytes, aligned");
    assert_eq!(constant(&kernel, 3), 8);
    assert_eq!(kernel.shared_bytes, 48);
}

#[test]
fn local_memory() {
    let kernel = lower_with(
        "",
        ".local .align 16 .b8 depot[24]; { .local .u32 more; mov.u64 %d0, depot;
        cvta.local.u64 %d1, %d0; ld.f32 %f0, [%d1+4]; ld.local.u32 %r0, [more]; }",
    );
    let kernel = kernel.unwrap();
    assert_eq!(constant(&kernel, 0), 0);
    assert_eq!(constant(&kernel, 1), LOCAL_WINDOW);
    let generic = Address {
        space: Space::Generic,
        base: Some(Slot::Double(1)),
        offset: 4,
    };
    assert_eq!(load_from(&kernel.code[2].op), generic);
    assert_eq!(load_from(&kernel.code[3].op), at(Space::Local, 24));
    assert_eq!(kernel.local_bytes, 28);
}

#[test]
fn constant_memory() {
    let declarations = ".const .u32 first = 7; .const .align 8 .b8 table[4] = {1, 2, 3, 4};";
    let kernel = lower_with(
        declarations,
        "ld.const.u8 %h0, [table+1]; mov.u64 %d0, table;
        cvta.const.u64 %d0, %d0;",
    )
    .unwrap();
    assert_eq!(load_from(&kernel.code[0].op), at(Space::Const, 9));
    assert_eq!(constant(&kernel, 1), 8);
    assert_eq!(constant(&kernel, 2), CONST_WINDOW);
    assert_eq!(kernel.constants, [7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
}

#[test]
fn variables_in_global_memory() {
    let kernel = lower_with(
        ".global .u32 counts[4];",
        "ld.global.u32 %r0, [counts+8];
        mov.u64 %d0, counts; cvta.global.u64 %d1, counts; mov.u64 %d2, counts+4;",
    )
    .unwrap();
    let names: Vec<_> = kernel
        .global_addresses
        .iter()
        .map(|(_, name, at)| (name.as_str(), *at))
        .collect();
    assert_eq!(names, [("counts", 0), ("counts", 4)]);
    let base = Some(Slot::Double(kernel.global_addresses[0].0));
    assert_eq!(
        load_from(&kernel.code[0].op),
        Address {
            space: Space::Global,
            base,
            offset: 8
        }
    );
}

#[test]
fn generic_addresses() {
    let kernel = lower_with(
        "",
        "cvta.shared.u64 %d0, %d1; cvta.to.shared.u64 %d0, %d1; cvta.to.param.u64 %d0, %d1;
        cvta.to.global.u64 %d0, %d1;",
    )
    .unwrap();
    assert_eq!(constant(&kernel, 0), SHARED_WINDOW);
    assert_eq!(constant(&kernel, 1), SHARED_WINDOW.wrapping_neg());
    assert_eq!(constant(&kernel, 2), PARAM_WINDOW.wrapping_neg());
    let Op::Alu { from, .. } = &kernel.code[3].op else {
        panic!()
    };
    assert_eq!(from.as_slice(), [Slot::Double(1)]);
}
