//! Small texts and their syntax trees.

use crate::ast::Immediate::{F32, F64, Int};
use crate::ast::Operand::{Address, Element, Immediate, List, Name, Not, Offset, Pair, Vector};
use crate::ast::{Instruction, Module, Operand, Space, Statement, Type, Variable};

fn module(text: &str) -> Module {
    crate::parse::module(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The statements of a body that starts on line 1.
fn body(text: &str) -> Vec<Statement> {
    let mut module = module(&format!(".entry k() {{ {text} }}"));
    module.functions.remove(0).body.unwrap()
}

/// The only instruction of a body.
fn instruction(text: &str) -> Instruction {
    match &body(text)[..] {
        [Statement::Instruction(instruction)] => instruction.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

/// The variables of a text without functions.
fn variables(text: &str) -> Vec<Variable> {
    module(text).variables
}

/// A variable of line 1 with default attributes.
fn variable(space: Space, ty: Type, name: &str) -> Variable {
    Variable {
        space,
        ty,
        vector: 1,
        name: name.to_string(),
        range: None,
        dims: vec![],
        align: ty.bytes(),
        init: vec![],
        is_extern: false,
        line: 1,
    }
}

fn name(name: &str) -> Operand {
    Name(name.to_string())
}

fn address(base: &str, offset: i64) -> Operand {
    Address(Some(base.to_string()), offset)
}

#[test]
fn directives() {
    let text = r#"
        .version 8.7
        .target sm_90a, debug
        .address_size 64
        .pragma "nounroll";
        .alias f, g;
        .file 1 "a.cu"
        .file 2 "b\"c.cuh", 1700000000, 1234
        .section .debug_info
        {
            .b32 $L__end-$L__start { .b8 1,0x2 } /* } */
            $L__end: .b64 .debug_abbrev
        }
    "#;
    let module = module(text);
    assert_eq!(module.version, (8, 7));
    assert_eq!(module.target, "sm_90a");
    assert_eq!(
        module.files,
        [(1, "a.cu".to_string()), (2, r#"b\"c.cuh"#.to_string())]
    );
    assert!(module.variables.is_empty() && module.functions.is_empty());
}

#[test]
fn nothing() {
    assert_eq!(module(""), Module::default());
    assert_eq!(module("// comment"), Module::default());
    assert_eq!(module("/**/ \r\n"), Module::default());
}

#[test]
fn registers() {
    let declared = |name: &str, range| {
        let reg = variable(Space::Reg, Type::B32, name);
        Statement::Variable(Variable { range, ..reg })
    };
    assert_eq!(
        body(".reg .b32 %r<9>, a, $b_2;"),
        [
            declared("%r", Some(9)),
            declared("a", None),
            declared("$b_2", None)
        ]
    );
    assert_eq!(body(".reg.b32 a;"), [declared("a", None)]);
    let vector = Variable {
        vector: 4,
        align: 16,
        ..variable(Space::Reg, Type::F32, "v")
    };
    assert_eq!(body(".reg .v4 .f32 v;"), [Statement::Variable(vector)]);
}

#[test]
fn arrays() {
    let array = |space, dims: &[u64], align| Variable {
        dims: dims.to_vec(),
        align,
        ..variable(space, Type::B8, "x")
    };
    assert_eq!(
        variables(".shared .align 16 .b8 x[4][8];"),
        [array(Space::Shared, &[4, 8], 16)]
    );
    assert_eq!(
        variables(".visible .global .b8 x[3];"),
        [array(Space::Global, &[3], 1)]
    );
    let array = array(Space::Shared, &[0], 8);
    let expected = Variable {
        is_extern: true,
        ..array
    };
    assert_eq!(variables(".extern .shared .align 8 .b8 x[];"), [expected]);
}

#[test]
fn attributes_of_variables_are_skipped() {
    let expected = Variable {
        align: 8,
        ..variable(Space::Global, Type::U32, "x")
    };
    assert_eq!(
        variables(".global .attribute(.managed, .unified(1, 2)) .align 8 .u32 x;"),
        [expected]
    );
}

/// Dimensions and bytes of the only variable.
fn init(text: &str) -> (Vec<u64>, Vec<u8>) {
    let mut variables = variables(&format!(".global {text};"));
    let variable = variables.remove(0);
    (variable.dims, variable.init)
}

#[test]
fn initialisers_of_integers() {
    assert_eq!(init(".u32 x = 0x01020304"), (vec![], vec![4, 3, 2, 1]));
    assert_eq!(init(".s16 x = -2"), (vec![], vec![0xfe, 0xff]));
    assert_eq!(
        init(".b8 x[4] = {1, 255, -128}"),
        (vec![4], vec![1, 255, 128])
    );
    assert_eq!(
        init(".b64 x = 18446744073709551615"),
        (vec![], vec![255; 8])
    );
    assert_eq!(
        init(".b128 x = 1").1,
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(init(".v2 .b8 x = {1, 2}"), (vec![], vec![1, 2]));
}

#[test]
fn initialisers_of_floats() {
    let one = 1f32.to_le_bytes().to_vec();
    assert_eq!(init(".f32 x = 0f3f800000").1, one);
    assert_eq!(init(".b32 x = 0f3f800000").1, one);
    assert_eq!(init(".f32 x = 0f7f800001").1, 0x7f80_0001_u32.to_le_bytes());
    assert_eq!(init(".f32 x = 1.0").1, one);
    assert_eq!(init(".f32 x = 1").1, one);
    assert_eq!(init(".f32 x = .5").1, 0.5f32.to_le_bytes());
    assert_eq!(
        init(".f64 x = -0d3ff0000000000000").1,
        (-1f64).to_le_bytes()
    );
    assert_eq!(init(".f16 x = 1.0").1, [0x00, 0x3c]);
    assert_eq!(init(".bf16 x = 1.0").1, [0x80, 0x3f]);
}

#[test]
fn initialisers_of_rows() {
    assert_eq!(
        init(".b8 x[2][2] = {{1, 2}, {3, 4}}"),
        (vec![2, 2], vec![1, 2, 3, 4])
    );
    assert_eq!(init(".b8 x[2][2] = {1, 2, 3}"), (vec![2, 2], vec![1, 2, 3]));
    assert_eq!(
        init(".b8 x[2][2] = {{1, 2}, {3}}"),
        (vec![2, 2], vec![1, 2, 3])
    );
    assert_eq!(init(".b8 x[] = {1, 2, 3}"), (vec![3], vec![1, 2, 3]));
    assert_eq!(
        init(".s8 x[][2] = {{1, 2}, {3}}"),
        (vec![2, 2], vec![1, 2, 3])
    );
    assert_eq!(
        init(".v2 .b8 x[] = {{1, 2}, {3, 4}, 5, 6}"),
        (vec![3], vec![1, 2, 3, 4, 5, 6])
    );
}

#[test]
fn entries() {
    let text = ".visible .entry k(\n.param .u64 .ptr .global .align 16 a,\n.param .align 8 .b8 b[12]\n)
        .maxntid 256, 2\n.minnctapersm 2\n.reqnctapercluster 2, 1, 1\n.explicitcluster\n.pragma \"x\";\n{ ret; }";
    let function = module(text).functions.remove(0);
    assert!(function.is_entry && function.name == "k" && function.line == 1);
    let a = Variable {
        line: 2,
        ..variable(Space::Param, Type::U64, "a")
    };
    let b = variable(Space::Param, Type::B8, "b");
    let b = Variable {
        line: 3,
        align: 8,
        dims: vec![12],
        ..b
    };
    assert_eq!(function.params, [a, b]);
    assert_eq!(function.max_threads, Some([256, 2, 1]));
    assert_eq!(function.required_threads, None);
    assert_eq!(function.body.unwrap().len(), 1);
    let bare = module(".entry k .reqntid 8,4,2 {}").functions.remove(0);
    assert_eq!(bare.required_threads, Some([8, 4, 2]));
    assert_eq!(bare.body, Some(vec![]));
}

#[test]
fn functions() {
    let text = ".extern .func (.param .b32 r) f (.param .b64 a) ;
        .func .attribute(.unified(1, 2)) g () .noreturn { trap; }
        .weak .func (.reg .f32 %y) h(.reg .f32 %x) { ret; }";
    let functions = module(text).functions;
    let names: Vec<_> = functions
        .iter()
        .map(|f| (&f.name[..], f.line, f.is_entry))
        .collect();
    assert_eq!(names, [("f", 1, false), ("g", 2, false), ("h", 3, false)]);
    assert_eq!(
        functions[0].returns,
        [variable(Space::Param, Type::B32, "r")]
    );
    assert_eq!(functions[0].body, None);
    assert_eq!(functions[1].params, []);
    assert_eq!(functions[2].returns[0].space, Space::Reg);
    assert_eq!(functions[2].params[0].name, "%x");
}

#[test]
fn opcodes() {
    for form in [
        "ret",
        "bar.sync",
        "ld.global.L1::no_allocate.L2::128B.v4.f32",
        "cp.async.ca.shared::cta.global",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        "mbarrier.try_wait.parity.shared::cta.b64",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "dp4a.s32.s32",
    ] {
        let read = instruction(&format!("{form};"));
        assert_eq!(read.form(), form);
        assert_eq!(read.mods, form.split('.').skip(1).collect::<Vec<_>>());
        assert_eq!(
            (read.guard, read.operands, read.line, read.loc),
            (None, vec![], 1, vec![])
        );
    }
}

#[test]
fn guards() {
    assert_eq!(
        instruction("@%p bra L;").guard,
        Some(("%p".to_string(), false))
    );
    assert_eq!(
        instruction("@!%p bra.uni L;").guard,
        Some(("%p".to_string(), true))
    );
    assert_eq!(instruction("@ p\n\nret;").line, 3);
}

/// The operands of an instruction, given without its opcode.
fn operands(text: &str) -> Vec<Operand> {
    instruction(&format!("op {text};")).operands
}

#[test]
fn names() {
    assert_eq!(
        operands("%r1, %tid.x, _, $L__BB0_1, a"),
        ["%r1", "%tid.x", "_", "$L__BB0_1", "a"].map(name)
    );
    assert_eq!(operands("!%p"), [Not("%p".to_string())]);
    let offset = |offset| Offset("a".to_string(), offset);
    assert_eq!(
        operands("a+4, a-4, a+-4, a + 0x10"),
        [4, -4, -4, 16].map(offset)
    );
    let pair = |a, b| Pair(Box::new(name(a)), Box::new(name(b)));
    assert_eq!(
        operands("%p1|%p2, _|%q, %r1 | _"),
        [pair("%p1", "%p2"), pair("_", "%q"), pair("%r1", "_")]
    );
}

#[test]
fn immediates() {
    assert_eq!(
        operands("1, -1640531527, 0x7fffffff, 017, 0b11, 5U, +2"),
        [1, -1_640_531_527, 0x7fff_ffff, 15, 3, 5, 2].map(|value| Immediate(Int(value)))
    );
    assert_eq!(
        operands("0f3F800000, 0FBF800000"),
        [0x3f80_0000, 0xbf80_0000].map(|bits| Immediate(F32(bits)))
    );
    assert_eq!(
        operands("0d3FF0000000000000, 1.5, 2.0e3, -1e-5, .25"),
        [1.0, 1.5, 2000.0, -1e-5, 0.25f64].map(|value| Immediate(F64(value.to_bits())))
    );
}

#[test]
fn addresses() {
    assert_eq!(
        operands("[%rd1+16], [%rd1+-16], [%rd1-16], [%rd1], [name+4], [name], [ %rd1 + 0 ]"),
        [
            address("%rd1", 16),
            address("%rd1", -16),
            address("%rd1", -16),
            address("%rd1", 0),
            address("name", 4),
            address("name", 0),
            address("%rd1", 0),
        ]
    );
    assert_eq!(
        operands("[4096], [0xffffffffffffffff]"),
        [Address(None, 4096), Address(None, -1)]
    );
    let coordinates = ["%r1", "%r2"].map(|name| Name(name.into()));
    assert_eq!(
        operands("[%rd1, {%r1, %r2}]"),
        [Element("%rd1".into(), coordinates.into())]
    );
}

#[test]
fn groups() {
    assert_eq!(
        operands("{a,b, c,d}"),
        [Vector(["a", "b", "c", "d"].map(name).to_vec())]
    );
    assert_eq!(
        operands("{_, %r1}, {1}"),
        [
            Vector(vec![name("_"), name("%r1")]),
            Vector(vec![Immediate(Int(1))]),
        ]
    );
}

#[test]
fn calls() {
    let list = |names: &[&str]| List(names.iter().map(|n| name(n)).collect());
    assert_eq!(
        operands("(retval0), func, (param0, param1)"),
        [
            list(&["retval0"]),
            name("func"),
            list(&["param0", "param1"]),
        ]
    );
    assert_eq!(operands("func, (a)"), [name("func"), list(&["a"])]);
    assert_eq!(operands("func"), [name("func")]);
    assert_eq!(operands("func, ()"), [name("func"), list(&[])]);
}

#[test]
fn blocks_and_labels() {
    let label = |name: &str| Statement::Label(name.to_string());
    let read = body("a: $L_1: { b: { ; } } c: ret;");
    assert_eq!(read[0..2], [label("a"), label("$L_1")]);
    assert_eq!(
        read[2],
        Statement::Block(vec![label("b"), Statement::Block(vec![])])
    );
    assert_eq!(read[3], label("c"));
    assert_eq!(read.len(), 5);
}

#[test]
fn places() {
    let text = "ret;\n.loc 1 16 0\n@%p\nret; /* \n */ ret;\n{ .loc\t2 23 3, function_name $L__info_string0, inlined_at 1 6 3
        ret; }\n.pragma \"nounroll\";\nret; .loc 3 4 5, function_name .debug_str+16, inlined_at 1 2 3\nret;";
    let mut places = Vec::new();
    for statement in body(text) {
        match statement {
            Statement::Instruction(read) => places.push((read.line, read.loc)),
            Statement::Block(inner) => match &inner[..] {
                [Statement::Instruction(read)] => places.push((read.line, read.loc.clone())),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    let first = || vec![(1, 16)];
    let inlined = || vec![(2, 23), (1, 6)];
    let expected = [
        (1, vec![]),
        (4, first()),
        (5, first()),
        (7, inlined()),
        (9, inlined()),
        (10, vec![(3, 4), (1, 2)]),
    ];
    assert_eq!(places, expected);
}

/// A `.loc` names one call; the `.loc` before it names the call of that call.
#[test]
fn places_of_calls_in_calls() {
    let text = ".loc 1 6 3\n.loc 2 8 3, function_name $a, inlined_at 1 6 3\n\
                .loc 3 9 3, function_name $b, inlined_at 2 8 3\nret;\n\
                .loc 2 8 3, function_name $a, inlined_at 1 6 3\nret;\n.loc 1 7 3\nret;";
    let places = body(text).into_iter().map(|statement| match statement {
        Statement::Instruction(read) => read.loc,
        other => panic!("{other:?}"),
    });
    let expected = [
        vec![(3, 9), (2, 8), (1, 6)],
        vec![(2, 8), (1, 6)],
        vec![(1, 7)],
    ];
    assert_eq!(places.collect::<Vec<_>>(), expected);
    let endless = ".loc 1 1 1, inlined_at 1 1 1\n".repeat(100) + "ret;";
    let [Statement::Instruction(read)] = &body(&endless)[..] else {
        panic!();
    };
    assert!(read.loc.len() < 40);
}

#[test]
fn a_function_starts_without_a_place() {
    let functions = module(".entry a() { .loc 1 2 3 ret; } .entry b() { ret; }").functions;
    let Some([Statement::Instruction(read)]) = functions[1].body.as_deref() else {
        panic!("{functions:?}");
    };
    assert_eq!(read.loc, []);
}
