//! Any text gives a module or an error, without a panic.

use proptest::prelude::*;

const KERNEL: &str = include_str!("../../../../kernels/src/linear/level3/linear_bf16.ptx");

/// Words and marks of PTX, and similar invalid ones.
const TOKENS: &[&str] = &[
    ".version 8.7\n",
    ".target sm_80",
    ".address_size 64",
    ".file",
    ".loc",
    ".section",
    ".pragma",
    ".alias",
    ".visible",
    ".extern",
    ".entry",
    ".func",
    ".param",
    ".reg",
    ".shared",
    ".global",
    ".const",
    ".align",
    ".ptr",
    ".attribute",
    ".v4",
    ".b8",
    ".f32",
    ".u64",
    ".pred",
    ".maxntid",
    ".5",
    ".L1::no_allocate",
    "..",
    "::",
    "name",
    "%r1",
    "%",
    "_",
    "$L",
    "%tid.x",
    "ld.global",
    "call",
    "setp",
    "0",
    "1",
    "4",
    "16",
    "0x1f",
    "0f3f800000",
    "0f3f8",
    "1.5e-3",
    "9223372036854775808",
    "18446744073709551616",
    "\"text\"",
    "\"",
    "//",
    "/*",
    "*/",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":",
    ",",
    "=",
    "+",
    "-",
    "@",
    "!",
    "|",
    "\n",
    "é",
    "\\",
];

/// A replacement of `length` characters at `at`.
#[derive(Debug, Clone, Copy)]
enum Change {
    Delete,
    Duplicate,
    SwapWith(usize),
}

fn change() -> impl Strategy<Value = (Change, usize, usize)> {
    let index = 0..KERNEL.len();
    let kind = prop_oneof![
        Just(Change::Delete),
        Just(Change::Duplicate),
        index.clone().prop_map(Change::SwapWith),
    ];
    (kind, index, 1..20_usize)
}

fn changed(mut text: Vec<char>, changes: &[(Change, usize, usize)]) -> String {
    for &(change, at, length) in changes {
        let at = at % text.len();
        let end = text.len().min(at + length);
        match change {
            Change::Delete if text.len() > length => _ = text.drain(at..end),
            Change::Delete => {}
            Change::Duplicate => {
                let copy = text[at..end].to_vec();
                text.splice(at..at, copy);
            }
            Change::SwapWith(other) => {
                let other = other % text.len();
                text.swap(at, other);
            }
        }
    }
    text.into_iter().collect()
}

fn read(text: &str) {
    _ = crate::parse::module(text);
}

/// Puts `tokens` in a kernel's body, which covers most of the grammar.
fn in_body(tokens: &str) -> String {
    format!(".visible .entry name() {{ {tokens} }}")
}

proptest! {
    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn characters(text in "\\PC{0,200}") {
        read(&text);
        read(&in_body(&text));
    }

    #[test]
    fn soups(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60)) {
        read(&tokens.join(" "));
        read(&tokens.concat());
        read(&in_body(&tokens.join(" ")));
    }

    #[test]
    fn initialisers(tokens in prop::collection::vec(
        prop::sample::select(&["{", "}", "{", "}", ",", ",", "1", "2", "-", "0f3f800000", "1.5"][..]), 0..40,
    )) {
        for array in ["a[2][2]", "a[][2]", "a[]", "a", "a[2][2][2]"] {
            for ty in ["b8", "v2 .f32", "f64", "pred"] {
                read(&format!(".global .{ty} {array} = {{ {} }};", tokens.concat()));
            }
        }
    }

    #[test]
    fn mutations(changes in prop::collection::vec(change(), 1..6)) {
        read(&changed(KERNEL.chars().collect(), &changes));
    }

    #[test]
    fn beginnings(end in 0..KERNEL.len()) {
        if let Some(text) = KERNEL.get(..end) {
            read(text);
        }
    }
}
