//! All kinds of syntax errors with their lines.

use crate::Error;

/// The error of `text`: line, expected, found.
fn wrong(text: &str) -> (u32, String, String) {
    match crate::parse::module(text) {
        Err(Error::Syntax {
            line,
            expected,
            found,
        }) => (line, expected, found),
        other => panic!("{text}: {other:?}"),
    }
}

/// Checks the error of `text`.
fn check(text: &str, line: u32, expected: &str, found: &str) {
    assert_eq!(
        wrong(text),
        (line, expected.to_string(), found.to_string()),
        "{text}"
    );
}

/// Checks the error of `statement` as the second line of a body.
fn check_body(statement: &str, expected: &str, found: &str) {
    check(
        &format!(".entry k() {{\n{statement}\n}}"),
        2,
        expected,
        found,
    );
}

#[test]
fn unfinished() {
    let end = "the end of the text";
    check("\n/* comment\n", 2, "`*/` at the end", "`/* comment`");
    check(".file 1 \"a.cu\n", 1, "`\"` at the end", "`\"a.cu`");
    check(".file 1 \"a.cu\\\"", 1, "`\"` at the end", "`\"a.cu\\\"`");
    check(".entry k()\n{\nret;\n", 4, "a statement or `}`", end);
    check(".section .debug_str\n{\n.b8 1,2\n", 4, "`}`", end);
    check(".global .attribute(.managed", 1, "`)`", end);
    check(".entry", 1, "the function's name", end);
}

#[test]
fn outside_of_functions() {
    let item = "a directive, a function or a variable";
    check("hello", 1, item, "`hello`");
    check("\n.visible\n.align 4", 3, item, "`.align`");
    check(".texref t;", 1, item, "`.texref`");
    check(".reg .b32 %r;", 1, item, "`.reg`");
    check("#define A", 1, item, "`#`");
    check("é", 1, item, "`é`");
    check(".version 9", 1, "a version, such as 8.7", "`9`");
    check(".version x", 1, "a version, such as 8.7", "`x`");
    check(".target 80", 1, "a target, such as sm_80", "`80`");
    check(".address_size 32", 1, "64", "`32`");
    check(".file x", 1, "the file's number", "`x`");
    check(".file 1 x", 1, "the file's name in quotes", "`x`");
    check(".section 1", 1, "the section's name", "`1`");
    check(".pragma nounroll;", 1, "a string", "`nounroll`");
    check(".alias a, 1;", 1, "a function's name", "`1`");
}

/// As ptxas: else the first of two kernels would run in the place of the second.
#[test]
fn one_header_and_one_of_each_name() {
    let once = "one header, before all else";
    check(".version 8.0\n.version 8.0", 2, once, "`.version`");
    check(".target sm_80\n.target sm_90", 2, once, "`.target`");
    let kernel = ".visible .entry k() { ret; }\n";
    check(&format!("{kernel}.version 8.0"), 2, once, "`.version`");
    check(&format!("{kernel}.target sm_80"), 2, once, "`.target`");
    check(
        ".global .b32 x;\n.address_size 64",
        2,
        once,
        "`.address_size`",
    );
    let name = "a name that is defined once";
    for second in [kernel, ".func k() { ret; }", ".global .b32 k;"] {
        let text = format!("{kernel}\n{second}");
        check(&text, 3, name, "`k`, which line 1 defines");
    }
    check(
        ".shared .b32 x;\n.shared .b32 x[4];",
        2,
        name,
        "`x`, which line 1 defines",
    );
    for text in [
        ".func f();\n.func f();\n.func f() { ret; }\n.func f();",
        ".extern .shared .b32 x[];\n.extern .shared .b32 x[];",
    ] {
        assert!(crate::parse::module(text).is_ok(), "{text}");
    }
}

#[test]
fn functions() {
    check(".entry 1()", 1, "the function's name", "`1`");
    check(".entry k(\n.u32 n)", 2, "a state space", "`.u32`");
    check(".entry k(.param .u32 n;", 1, "`,` or `)`", "`;`");
    check(
        ".entry k(.param .u32 .ptr .x n)",
        1,
        "a state space or `.align`",
        "`.x`",
    );
    check(".entry k()\nret;", 2, "`{`", "`ret`");
    check(".entry k() .maxntid x {}", 1, "a number of threads", "`x`");
    check(
        ".entry k() .reqntid 4294967296 {}",
        1,
        "a number of threads",
        "`4294967296`",
    );
    check(".entry k() .maxnreg 1, x {}", 1, "an integer", "`x`");
}

#[test]
fn variables() {
    check(".global x;", 1, "a type", "`x`");
    check(".global .f31 x;", 1, "a type", "`.f31`");
    check(".global .align 3 .b8 x;", 1, "a power of two", "`3`");
    check(".global .b8 1;", 1, "a name", "`1`");
    check(".global .b8 x", 1, "`,` or `;`", "the end of the text");
    check(".shared .b8 x<y>;", 1, "a number of registers", "`y`");
    check(".shared .b8 x<1;", 1, "`>`", "`;`");
    check(".shared .b8 x[4;", 1, "`]`", "`;`");
    check(".shared .b8 x = 1;", 1, "`,` or `;`", "`=`");
    let length = "a length, of less than 2^63 bytes in all";
    check(".shared .b8 x[-1];", 1, length, "`-`");
    check(".shared .b8 x[4][];", 1, length, "`]`");
    check(".shared .b8 x[4][0];", 1, length, "`0`");
    check(
        ".shared .b64 x[1073741824]\n[1073741824];",
        2,
        length,
        "`1073741824`",
    );
}

#[test]
fn initialisers() {
    let constant = "a constant that its type can hold";
    let full = "`}`, as the array is full";
    check(".global .b8 x = 256;", 1, constant, "`256`");
    check(".global .b8 x = -129;", 1, constant, "`129`");
    check(".global .b8 x = 1.5;", 1, constant, "`1.5`");
    check(
        ".global .b32 x = 0d3ff0000000000000;",
        1,
        constant,
        "`0d3ff0000000000000`",
    );
    check(".global .b64 x = 0f3f800000;", 1, constant, "`0f3f800000`");
    check(".global .b64 x = name;", 1, constant, "`name`");
    check(
        ".global .b64 x[2] = {1, generic(name)};",
        1,
        constant,
        "`generic`",
    );
    check(".global .b8 x[2] = 1;", 1, "`{`", "`1`");
    check(".global .b8 x[2] = {};", 1, constant, "`}`");
    check(".global .b8 x[2] = {1, 2,\n3};", 2, full, "`3`");
    check(".global .b8 x[2] = {{1}};", 1, constant, "`{`");
    check(".global .b8 x[2][2] = {{1, 2, 3}};", 1, full, "`3`");
    check(".global .b8 x[2][2] = {1, {2}};", 1, constant, "`{`");
    check(".global .b8 x[2][2] = {{1}, {2}};", 1, "`}`", "`,`");
    check(".global .b8 x[2] = {1;", 1, "`}`", "`;`");
}

#[test]
fn statements() {
    check_body(".visible .reg .b32 %r;", "a statement or `}`", "`.visible`");
    check_body("$L_1 ret;", "`:` after the label `$L_1`", "`ret`");
    check_body("t: .branchtargets a b;", "`,` or `;`", "`b`");
    check_body(
        ".branchtargets a;",
        "a statement or `}`",
        "`.branchtargets`",
    );
    check_body(
        "p: .callprototype _ ();",
        "a statement or `}`",
        "`.callprototype`",
    );
    check_body(".loc x", "a file's number", "`x`");
    check_body(".loc 1 x", "a line", "`x`");
    check_body(".loc 1 2 x", "a column", "`x`");
    check_body(".loc 1 2 3, x", "`function_name` or `inlined_at`", "`x`");
    check_body(".loc 1 2 3, function_name 1", "a label", "`1`");
    check_body("@1 ret;", "a predicate", "`1`");
    check_body("@%p;", "an instruction", "`;`");
    check_body("@%p $L_1:", "an instruction", "`$L_1`");
}

#[test]
fn operands() {
    check_body("add.s32 %r1 %r2;", "`,` or `;`", "`%r2`");
    check_body("ret }", "an operand", "`}`");
    check_body("add.s32 %r1, ;", "an operand", "`;`");
    check_body("add.s32 %r1, 08;", "an operand", "`08`");
    check_body("add.s32 %r1, 0f3f80;", "an operand", "`0f3f80`");
    check_body(
        "add.s32 %r1, 18446744073709551616;",
        "an operand",
        "`18446744073709551616`",
    );
    check_body("add.s32 %r1, !5;", "a name", "`5`");
    let constant = "an integer (an address is a register plus a constant)";
    check_body("ld.b32 %r1, [%rd1+%rd2];", constant, "`%rd2`");
    check_body("ld.b32 %r1, [%rd1+1.5];", "an integer", "`1.5`");
    check_body(
        "ld.b32 %r1, [];",
        "a register, a variable or an integer",
        "`]`",
    );
    check_body("cp.x [%rd1, %r1];", "`{`", "`%r1`");
    check_body("cp.x [%rd1+4, {%r1}];", "`]`", "`,`");
    check_body("ld.v2 {%r1, {%r2}}, [x];", "an operand", "`{`");
    check_body("ld.v2 {%r1; ", "`,` or `}`", "`;`");
    check_body("setp.eq %p1|5, 1, 2;", "a name", "`5`");
    check_body("call f, (a;", "`,` or `)`", "`;`");
}

#[test]
fn a_missing_semicolon() {
    let end = "`;` at the end of the line";
    let body = |statements: &str| format!(".entry k() {{\n{statements}\n}}");
    for (statements, line, found) in [
        (
            "add.s32 %r1, %r2, %r3\n// note\n%value x;",
            2,
            "`%value` in line 4",
        ),
        (
            "add.s32 %r1, %r2, %r3\nadd.s32 %r1, 1, 2;",
            2,
            "`add` in line 3",
        ),
        ("add.s32 %r1,\n %r2, %r3\n@%p bra L;", 3, "`@` in line 4"),
        (".reg .b32 %r<3>\nret;", 2, "`ret` in line 3"),
        ("bar.sync 0\n$L_1:", 2, "`$L_1` in line 3"),
        ("ret", 2, "`}` in line 3"),
        ("ret\nadd.s32 %r1, 1, 2;", 2, "`add` in line 3"),
        ("@%p\nret\n", 3, "`}` in line 5"),
        (".pragma \"nounroll\"\nret;", 2, "`ret` in line 3"),
    ] {
        check(&body(statements), line, end, found);
    }
    // Operands may start on the next line.
    assert!(crate::parse::module(&body("add.s32\n%r1, %r2,\n%r3\n;")).is_ok());
}

#[test]
fn an_extra_brace() {
    let text = ".entry k()\n{\n add.s32 %r1, 1, 2;\n}\n";
    let of_k = |found: &str| format!("one that ends `k` before {found} in line 5");
    for (rest, found) in [
        ("ret;\n}", "`ret`"),
        ("}", "`}`"),
        ("@%p ret;\n}", "`@`"),
        (".reg .b32 %r;\n}", "`.reg`"),
    ] {
        check(&format!("{text}{rest}"), 4, "no `}` here", &of_k(found));
    }
    let item = "a directive, a function or a variable";
    check(&format!("{text}.texref t;"), 5, item, "`.texref`");
    check(&format!("{text}.section .a {{}}\nret;"), 6, item, "`ret`");
}

#[test]
fn too_many_levels() {
    let blocks = |levels| format!(".entry k() {}{}", "{".repeat(levels), "}".repeat(levels));
    assert!(crate::parse::module(&blocks(64)).is_ok());
    check(&blocks(65), 1, "at most 64 levels of braces", "`{`");
    check(&blocks(1_000_000), 1, "at most 64 levels of braces", "`{`");
}

#[test]
fn long_tokens_are_shortened() {
    let name = "x".repeat(41);
    let short = format!("`{}…`", "x".repeat(39));
    assert_eq!(wrong(&name).2, short);
    assert_eq!(wrong(&name[1..]).2, format!("`{}`", &name[1..]));
    let text = format!("\"{}\"", "é".repeat(50));
    assert_eq!(wrong(&text).2, format!("`\"{}…`", "é".repeat(38)));
}

#[test]
fn lines_are_counted_through_comments() {
    check(
        "// one\n/* two\n three */ .version 8.0\r\n\n  hello",
        5,
        "a directive, a function or a variable",
        "`hello`",
    );
}
