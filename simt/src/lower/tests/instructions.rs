//! Operations of single instructions.

use crate::alu::Alu;
use crate::ast::{Space, Type};
use crate::code::{Atomic, Element, Logic, Op, Scope, Shuffle, Slot, Special, Vote};
use crate::lower::testing::{lower_with, ops};

/// The operation of a body with one instruction.
fn op(body: &str) -> Op {
    ops(body).swap_remove(0)
}

#[test]
fn equal_constants_share_a_register() {
    let kernel = lower_with("", "mov.b32 %r0, 7; mov.u32 %r1, 7; mov.b32 %r2, -1; mov.b16 %h0, -1;
        mov.f32 %f0, 1.5; mov.f32 %f1, 0f3fc00000; mov.u64 %d0, -1; mov.f64 %d1, 2.0; mov.u32 %r3, WARP_SZ;");
    let kernel = kernel.unwrap();
    let values = |list: &[(u32, u32)]| list.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    assert_eq!(
        values(&kernel.word_constants),
        [7, u32::MAX, 0xffff, 1.5f32.to_bits(), 32]
    );
    let doubles: Vec<_> = kernel
        .double_constants
        .iter()
        .map(|(_, value)| *value)
        .collect();
    assert_eq!(doubles, [u64::MAX, 2f64.to_bits()]);
}

#[test]
fn special_registers() {
    let kernel = lower_with(
        "",
        "mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.x; mov.u32 %r2, %nctaid.z;
        mov.u64 %d0, %clock64; mov.u32 %r3, %clock; mov.u64 %d1, %gridid;",
    )
    .unwrap();
    let specials: Vec<_> = kernel
        .specials
        .iter()
        .map(|(_, special)| *special)
        .collect();
    assert_eq!(
        specials,
        [Special::Tid(0), Special::Nctaid(2), Special::GridId]
    );
    assert!(matches!(
        kernel.code[3].op,
        Op::Clock { d: Slot::Double(0) }
    ));
    assert!(matches!(kernel.code[4].op, Op::Clock { d: Slot::Word(_) }));
    assert!(matches!(
        kernel.code[5].op,
        Op::Alu {
            alu: Alu::WtoD(_),
            ..
        }
    ));
}

/// Runs a body that only computes; returns its words and doubles, equal in all lanes.
fn run(body: &str) -> (Vec<u32>, Vec<u64>) {
    let kernel = lower_with("", body).unwrap();
    let mut words = vec![0; kernel.words as usize];
    let mut doubles = vec![0; kernel.doubles as usize];
    kernel
        .word_constants
        .iter()
        .for_each(|(r, value)| words[*r as usize] = *value);
    kernel
        .double_constants
        .iter()
        .for_each(|(r, value)| doubles[*r as usize] = *value);
    for step in &kernel.code {
        let Op::Alu { alu, d, from, .. } = &step.op else {
            continue;
        };
        let w = |n: usize| match from[n] {
            Slot::Word(r) => [words[r as usize]; 32],
            _ => panic!(),
        };
        let q = |n: usize| match from[n] {
            Slot::Double(r) => [doubles[r as usize]; 32],
            _ => panic!(),
        };
        let value = match alu {
            Alu::W(f) => u64::from(f(&w(0))[0]),
            Alu::WW(f) => u64::from(f(&w(0), &w(1))[0]),
            Alu::D(f) => f(&q(0))[0],
            Alu::WtoD(f) => f(&w(0))[0],
            Alu::WWtoD(f) => f(&w(0), &w(1))[0],
            Alu::DtoW(f) => u64::from(f(&q(0))[0]),
            other => panic!("{other:?}"),
        };
        match d {
            Slot::Word(r) => words[*r as usize] = value as u32,
            Slot::Double(r) => doubles[*r as usize] = value,
        }
    }
    (words, doubles)
}

#[test]
fn packing_and_unpacking() {
    // `%h0` to `%h8` are the first words; `%r0` is word 9.
    let (_, doubles) = run("mov.b32 %r0, 0x89abcdef; mov.b64 %d0, {%r0, 0x01234567};");
    assert_eq!(doubles[0], 0x0123_4567_89ab_cdef);
    let (words, _) = run(
        "mov.b64 %d0, 0x0123456789abcdef; mov.b64 {%h0, %h1, _, %h3}, %d0;
        mov.b64 {%r0, %r1}, %d0; mov.b32 {%h4, %h5}, %r0; mov.b32 %r2, {%h0, %h3};",
    );
    assert_eq!(words[..4], [0xcdef, 0x89ab, 0, 0x0123]);
    assert_eq!(words[4..6], [0xcdef, 0x89ab]);
    assert_eq!(words[9..12], [0x89ab_cdef, 0x0123_4567, 0x0123_cdef]);
    let (_, doubles) = run("mov.b16 %h0, 1; mov.b16 %h1, 2; mov.b64 %d0, {%h0, %h1, %h0, 3};");
    assert_eq!(doubles[0], 0x0003_0001_0002_0001);
}

#[test]
fn predicates() {
    assert!(matches!(
        op("mov.pred %p0, 1;"),
        Op::PredConstant { d: 0, value: true }
    ));
    assert!(matches!(
        op("mov.pred %p0, %p1;"),
        Op::Logic {
            logic: Logic::And,
            d: 0,
            a: 1,
            b: 1
        }
    ));
    assert!(matches!(
        op("xor.pred %p0, %p1, %p2;"),
        Op::Logic {
            logic: Logic::Xor,
            d: 0,
            a: 1,
            b: 2
        }
    ));
    let not = op("not.pred %p0, %p1;");
    assert!(matches!(
        not,
        Op::Setp {
            d: (Some(0), None),
            combine: Some((Logic::And, 1, true)),
            ..
        }
    ));
    assert!(matches!(
        op("selp.b64 %d0, %d1, 5, %p2;"),
        Op::Selp {
            p: 2,
            d: Slot::Double(0),
            ..
        }
    ));
    assert!(matches!(op("isspacep.shared %p0, %d0;"), Op::Setp { .. }));
}

#[test]
fn loads() {
    let Op::Load {
        d,
        bytes,
        signed,
        from,
        strong,
    } = op("ld.global.nc.L1::no_allocate.v4.f32 {%f0, _, %f2, %f3}, [%d0+-4];")
    else {
        panic!()
    };
    assert_eq!(
        (d.len(), d[1], bytes, signed, strong),
        (4, None, 4, false, false)
    );
    assert_eq!(
        (from.space, from.base, from.offset),
        (Space::Global, Some(Slot::Double(0)), -4)
    );
    assert!(matches!(
        op("ld.global.s8 %r0, [%d0];"),
        Op::Load {
            bytes: 1,
            signed: true,
            ..
        }
    ));
    assert!(matches!(
        op("ld.global.s32 %r0, [%d0];"),
        Op::Load {
            bytes: 4,
            signed: false,
            ..
        }
    ));
    assert!(matches!(
        op("ld.acquire.gpu.global.u32 %r0, [%d0];"),
        Op::Load { strong: true, .. }
    ));
    assert!(matches!(
        op("ld.volatile.shared.u32 %r0, [%r1];"),
        Op::Load { strong: true, .. }
    ));
    let narrow = ops("ld.shared.s8 %h0, [%r0];");
    assert!(
        matches!(narrow[1], Op::Alu { alu: Alu::W(_), .. }),
        "zeros above 16 bits"
    );
}

#[test]
fn stores() {
    let Op::Store { from, bytes, .. } = op("st.global.cs.v2.u16 [%d0], {%h0, 3};") else {
        panic!()
    };
    assert_eq!((from.len(), bytes), (2, 2));
    assert!(matches!(
        op("st.shared.u8 [%r0], %r1;"),
        Op::Store { bytes: 1, .. }
    ));
}

#[test]
fn atomics() {
    let add = op("atom.global.add.f32 %f0, [%d0], 0f3f800000;");
    assert!(matches!(
        add,
        Op::Atomic {
            d: Some(_),
            atomic: Atomic::Add(Type::F32),
            bytes: 4,
            ordered: false,
            ..
        }
    ));
    assert!(matches!(
        op("red.shared.max.u64 [%r0], %d0;"),
        Op::Atomic {
            d: None,
            bytes: 8,
            ..
        }
    ));
    let Op::Atomic {
        atomic,
        from,
        ordered,
        ..
    } = op("atom.acq_rel.gpu.global.cas.b32 %r0, [%d0], %r1, %r2;")
    else {
        panic!()
    };
    assert_eq!((atomic, from.len(), ordered), (Atomic::Cas, 2, true));
}

#[test]
fn asynchronous_copies() {
    let copy = op("cp.async.cg.shared.global.L2::128B [%r0], [%d0+16], 16, %r1;");
    assert!(matches!(
        copy,
        Op::CopyAsync {
            bytes: 16,
            size: Some(_),
            ..
        }
    ));
    assert!(matches!(
        op("cp.async.wait_group 2;"),
        Op::CopyWait(Some(2))
    ));
    assert!(matches!(op("cp.async.wait_all;"), Op::CopyWait(None)));
    assert!(matches!(op("cp.async.commit_group;"), Op::CopyCommit));
}

#[test]
fn warp_instructions() {
    let shuffle = op("shfl.sync.bfly.b32 %r0|%p0, %f0, 16, 31, -1;");
    assert!(matches!(
        shuffle,
        Op::Shuffle {
            p: Some(0),
            mode: Shuffle::Butterfly,
            ..
        }
    ));
    assert!(matches!(
        op("vote.sync.ballot.b32 %r0, !%p1, -1;"),
        Op::Vote {
            mode: Vote::Ballot,
            a: 1,
            negated: true,
            ..
        }
    ));
    assert!(matches!(
        op("match.all.sync.b64 %r0|%p0, %d0, -1;"),
        Op::Match {
            all: true,
            p: Some(0),
            ..
        }
    ));
    assert!(matches!(
        op("redux.sync.add.s32 %r0, %r1, -1;"),
        Op::Redux {
            atomic: Atomic::Add(Type::S32),
            ..
        }
    ));
    assert!(matches!(op("activemask.b32 %r0;"), Op::ActiveMask { .. }));
    assert!(matches!(op("bar.warp.sync -1;"), Op::WarpSync { .. }));
}

#[test]
fn barriers() {
    assert!(matches!(
        op("bar.sync 0;"),
        Op::Barrier {
            threads: None,
            wait: true,
            aligned: true,
            reduce: None,
            ..
        }
    ));
    assert!(matches!(
        op("barrier.sync 1, 64;"),
        Op::Barrier {
            threads: Some(_),
            aligned: false,
            ..
        }
    ));
    assert!(matches!(
        op("barrier.cta.arrive.aligned 1, 64;"),
        Op::Barrier {
            wait: false,
            aligned: true,
            ..
        }
    ));
    let or = op("bar.red.or.pred %p0, 0, !%p1;");
    assert!(matches!(
        or,
        Op::Barrier {
            reduce: Some((Vote::Any, 1, true, Ok(0))),
            ..
        }
    ));
    let count = op("bar.red.popc.u32 %r0, 0, 32, %p1;");
    assert!(matches!(
        count,
        Op::Barrier {
            threads: Some(_),
            reduce: Some((Vote::Popc, 1, false, Err(_))),
            ..
        }
    ));
    assert!(matches!(op("membar.gl;"), Op::Fence(Scope::Device)));
    assert!(matches!(op("fence.acq_rel.sys;"), Op::Fence(Scope::System)));
}

#[test]
fn matrices() {
    let load = op("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0, %r1}, [%r2];");
    assert!(matches!(load, Op::LoadMatrix { transposed: true, ref d, .. } if d.len() == 2));
    let store = op("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r0};");
    assert!(
        matches!(store, Op::StoreMatrix { transposed: false, ref from, .. } if from.len() == 1)
    );
    let Op::Mma(mma) = op(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3},
        {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
    ) else {
        panic!()
    };
    assert_eq!(
        (mma.shape, mma.a, mma.c),
        ((16, 8, 16), Element::Bf16, Element::F32)
    );
    assert_eq!(
        (mma.d_regs.len(), mma.a_regs.len(), mma.b_regs.len()),
        (4, 4, 2)
    );
    let Op::WmmaMemory(memory) = op("wmma.load.b.sync.aligned.col.m16n16k16.shared.f16
        {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%r8], 16;")
    else {
        panic!()
    };
    assert_eq!(
        (memory.matrix, memory.column_major, memory.store),
        ('b', true, false)
    );
}

#[test]
fn a_body_without_ret_ends_with_exit() {
    let kernel = lower_with("", "@%p0 ret;").unwrap();
    assert_eq!(kernel.code.len(), 2);
    assert!(matches!(kernel.code[1].op, Op::Exit) && kernel.code[1].guard.is_none());
    assert_eq!(lower_with("", "ret;").unwrap().code.len(), 1);
    let label = lower_with("", "@%p0 bra done; ret; done:").unwrap();
    assert!(matches!(label.code[0].op, Op::Branch { to: 2, .. }));
    assert!(matches!(label.code[2].op, Op::Exit));
}

#[test]
fn branches_have_meeting_points() {
    let ops = ops("top: @%p0 bra skip; mov.b32 %r0, 1; skip: @!%p1 bra top; ret;");
    assert!(matches!(
        ops[0],
        Op::Branch {
            to: 2,
            meet: Some(2)
        }
    ));
    assert!(matches!(
        ops[2],
        Op::Branch {
            to: 0,
            meet: Some(3)
        }
    ));
}

#[test]
fn arithmetic() {
    let kernel = lower_with(
        "",
        "fma.rn.f32 %f0, %f1, 2.0, %f2; shl.b64 %d0, %d1, 3; mul.wide.s32 %d0, %r0, -4;",
    );
    let kernel = kernel.unwrap();
    assert!(
        matches!(&kernel.code[0].op, Op::Alu { alu: Alu::WWW(_), from, flops: 2, .. } if from.len() == 3)
    );
    let values: Vec<_> = kernel
        .word_constants
        .iter()
        .map(|(_, value)| *value)
        .collect();
    assert_eq!(values, [2f32.to_bits(), 3, -4i32 as u32]);
    assert!(matches!(
        kernel.code[1].op,
        Op::Alu {
            alu: Alu::DWtoD(_),
            d: Slot::Double(0),
            ..
        }
    ));
    assert!(matches!(
        kernel.code[2].op,
        Op::Alu {
            alu: Alu::WWtoD(_),
            d: Slot::Double(0),
            ..
        }
    ));
}

#[test]
fn comparisons() {
    let op = op("setp.lt.and.f32 %p0|%p1, %f0, 0f00000000, !%p2;");
    assert!(matches!(
        op,
        Op::Setp {
            d: (Some(0), Some(1)),
            combine: Some((Logic::And, 2, true)),
            ..
        }
    ));
}

#[test]
fn conversions_to_wider_registers() {
    let (words, doubles) = run(
        "mov.b16 %h0, 0xfffe; cvt.s16.s8 %r0, %h0; cvt.s8.s32 %r1, %r0; cvt.s32.s16 %d0, %h0;
        mov.b64 %d1, -3; cvt.u16.u32 %r2, %d1; cvt.s8.s32 %h1, %r0;",
    );
    assert_eq!(words[9..12], [-2i32 as u32, -2i32 as u32, 0xfffd]);
    assert_eq!(words[1], 0xfffe, "the sign of a byte in 16 bits");
    assert_eq!(doubles[0], -2i64 as u64);
}

#[test]
fn indexed_branches() {
    let ops =
        ops("brx.idx %r0, {a, b}; a: mov.b32 %r1, 1; bra.uni end; b: mov.b32 %r1, 2; end: ret;");
    let Op::BranchIndex { to, meet, .. } = &ops[0] else {
        panic!("{:?}", ops[0])
    };
    assert_eq!((to.as_slice(), *meet), ([1, 3].as_slice(), Some(4)));
}

#[test]
fn fragments_of_mma() {
    let shapes = [
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5},
            {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r6,%r7}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7};",
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5},
            {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r2}, {%r3}, {%r0,%r1};",
    ];
    for shape in shapes {
        assert!(matches!(op(shape), Op::Mma(_)), "{shape}");
    }
}
