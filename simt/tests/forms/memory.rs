//! Loads, stores and atomic updates of every type in every space, checked against the bytes in memory.

use half::{bf16, f16};
use simt::{Arg, Buffer, Dim, Module, Options};

use super::floor::note;

/// Bytes per thread.
const CELL: usize = 16;

/// Name, bytes, and whether wider registers are sign-extended.
const TYPES: [(&str, usize, bool); 14] = [
    ("b8", 1, false),
    ("u8", 1, false),
    ("s8", 1, true),
    ("b16", 2, false),
    ("u16", 2, false),
    ("s16", 2, true),
    ("b32", 4, false),
    ("u32", 4, false),
    ("s32", 4, true),
    ("f32", 4, false),
    ("b64", 8, false),
    ("u64", 8, false),
    ("s64", 8, true),
    ("f64", 8, false),
];

/// 16 bytes per thread, different from the neighbours' and of both signs.
fn bytes() -> Vec<u8> {
    (0..32 * CELL).map(|i| (i * 37 + i / 7) as u8).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |four: &[u8]| u32::from_le_bytes(four.try_into().unwrap());
    bytes.chunks(4).map(word).collect()
}

/// Runs a body and returns `out`, 16 bytes per thread. `%in` and `%out` are the thread's addresses, `%s` its
/// address in shared memory and `%l` one in local memory.
fn run(parameters: &str, body: &str, input: &[u8]) -> Vec<u8> {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .const .align 16 .b8 table[16] = {{200, 7, 130, 3, 255, 128, 1, 0, 9, 90, 180, 240, 17, 34, 51, 199}};
        .entry kernel(.param .u64 in, .param .u64 out{parameters})
        {{
        .reg .b16 %h<9>; .reg .b32 %i, %w<9>; .reg .b64 %d<9>, %in, %out, %s, %l, %g; .reg .pred %p;
        .shared .align 16 .b8 block[1024];
        .local .align 16 .b8 own[32];
        ld.param.u64 %in, [in];
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        mad.wide.u32 %in, %i, 16, %in;
        mad.wide.u32 %out, %i, 16, %out;
        mov.u64 %s, block;
        mad.wide.u32 %s, %i, 16, %s;
        mov.u64 %l, own;
        {body}
        ret;
        }}"
    );
    let kernel = Module::parse(&text).and_then(|m| m.kernel("kernel"));
    let kernel = kernel.unwrap_or_else(|e| panic!("{body}: {e}"));
    let mut buffers = [
        Buffer::u32s("in", &words(input)),
        Buffer::u32s("out", &[0; 8 * CELL]),
    ];
    let dim = Dim {
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
    };
    let mut args = vec![Arg::Buffer(0), Arg::Buffer(1)];
    if !parameters.is_empty() {
        args.push(Arg::Bytes(bytes()[..CELL].to_vec()));
    }
    let report = kernel.launch(dim, &mut buffers, &args, &Options::default());
    let report = report.unwrap_or_else(|e| panic!("{body}: {e}"));
    note(&report);
    assert!(report.is_clean(), "{body}: {:?}", report.findings);
    let found = buffers[1].to_u32s();
    found.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// The n-th register that is as wide as the type, or wider if there is none.
fn register(bytes: usize, n: usize) -> String {
    let letter = ["h", "h", "w", "d"][bytes.ilog2() as usize];
    format!("%{letter}{n}")
}

/// `{%w0, %w1}`, or a single register.
fn vector(bytes: usize, n: usize) -> String {
    vector_from(bytes, 0, n)
}

/// The same, starting with register `first`.
fn vector_from(bytes: usize, first: usize, n: usize) -> String {
    let all: Vec<String> = (first..first + n).map(|i| register(bytes, i)).collect();
    match n {
        1 => all[0].clone(),
        _ => format!("{{{}}}", all.join(", ")),
    }
}

/// The address, and the modifiers between `ld` or `st` and the vector.
const PLACES: [(&str, &str, &str); 14] = [
    ("%g", "global", "global"),
    ("%g", "volatile.global", "volatile.global"),
    ("%g", "relaxed.gpu.global", "relaxed.gpu.global"),
    ("%g", "acquire.sys.global", "release.sys.global"),
    ("%g", "global.ca", "global.wb"),
    ("%g", "global.cg", "global.cg"),
    ("%g", "global.cs", "global.cs"),
    ("%g", "global.lu", "global.wt"),
    ("%g", "global.L1::no_allocate", "global"),
    ("%g", "weak", "weak"),
    ("%s", "shared", "shared"),
    ("%s", "volatile.shared", "volatile.shared"),
    ("%s", "relaxed.cta.shared::cta", "relaxed.cta.shared::cta"),
    ("%l", "local", "local"),
];

/// The first bytes of each cell of `all`, followed by zeros.
fn firsts(all: &[u8], count: usize) -> Vec<u8> {
    let cells = all.chunks(CELL);
    let first = |cell: &[u8]| {
        let zeros = vec![0; CELL - count];
        [&cell[..count], &zeros].concat()
    };
    cells.flat_map(first).collect()
}

#[test]
fn loads_return_what_was_stored() {
    let input = bytes();
    for (ty, bytes, _) in TYPES {
        for n in [1, 2, 4].into_iter().filter(|n| n * bytes <= CELL) {
            for (at, load, store) in PLACES {
                let (values, back) = (vector(bytes, n), vector_from(bytes, 4, n));
                let v = ["", ".v2", "", ".v4"][n - 1];
                let body = format!(
                    "mov.u64 %g, %out; ld.global.nc{v}.{ty} {values}, [%in];
                    st.{store}{v}.{ty} [{at}], {values};
                    ld.{load}{v}.{ty} {back}, [{at}+0];
                    st.global{v}.{ty} [%out], {back};"
                );
                let found = run("", &body, &input);
                assert_eq!(found, firsts(&input, n * bytes), "{body}");
            }
        }
    }
}

/// A value stored in a space can be read by its generic address and by the space's own address.
#[test]
fn addresses_of_each_space() {
    let input = bytes();
    for (space, at) in [("global", "%out"), ("shared", "%s"), ("local", "%l")] {
        let body = format!(
            "ld.global.v4.u32 {{%w0, %w1, %w2, %w3}}, [%in];
            st.{space}.v4.u32 [{at}], {{%w0, %w1, %w2, %w3}};
            cvta.{space}.u64 %g, {at};
            ld.v2.u32 {{%w4, %w5}}, [%g];
            cvta.to.{space}.u64 %d0, %g;
            ld.{space}.v2.u32 {{%w6, %w7}}, [%d0+8];
            st.global.v4.u32 [%out], {{%w4, %w5, %w6, %w7}};"
        );
        assert_eq!(run("", &body, &input), input, "{body}");
    }
}

/// Copies of all sizes, with a wait for each group.
#[test]
fn copies_to_shared_memory() {
    let input = bytes();
    for (cache, size) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        for waits in [["wait_group 1", "wait_group 0"], ["wait_all", "wait_all"]] {
            // The second group copies the neighbour's cell; the result is a ⊕ b, word by word.
            let count = size / 4;
            let (a, b) = (vector(4, count), vector_from(4, 4, count));
            let v = ["", ".v2", "", ".v4"][count - 1];
            let xor = |n| format!("xor.b32 %w{n}, %w{n}, %w{};", n + 4);
            let xors: String = (0..count).map(xor).collect();
            let [first, second] = waits;
            let body = format!(
                "xor.b32 %w8, %i, 1; sub.s32 %w8, %w8, %i; mad.wide.s32 %g, %w8, 16, %in;
                cp.async.{cache}.shared.global [%s], [%in], {size};
                cp.async.commit_group;
                cp.async.{cache}.shared.global [%s+512], [%g], {size};
                cp.async.commit_group;
                cp.async.{first};
                ld.shared{v}.u32 {a}, [%s];
                cp.async.{second};
                ld.shared{v}.u32 {b}, [%s+512];
                {xors}
                st.global{v}.u32 [%out], {a};"
            );
            let byte = |i: usize| input[i] ^ input[i ^ CELL];
            let both: Vec<u8> = (0..input.len()).map(byte).collect();
            let expected = firsts(&both, size);
            assert_eq!(run("", &body, &input), expected, "{body}");
        }
    }
}

/// A copy with a source smaller than its size is filled with zeros.
#[test]
fn copies_of_a_part() {
    let input = bytes();
    for (cache, size) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        for part in 0..=size {
            let values = vector(4, size / 4);
            let v = ["", ".v2", "", ".v4"][size / 4 - 1];
            let body = format!(
                "cp.async.{cache}.shared.global [%s], [%in], {size}, {part};
                cp.async.wait_all;
                ld.shared{v}.u32 {values}, [%s];
                st.global{v}.u32 [%out], {values};"
            );
            assert_eq!(run("", &body, &input), firsts(&input, part), "{body}");
        }
    }
}

/// A type's bytes in a 64-bit register.
fn extended(cell: &[u8], bytes: usize, signed: bool) -> [u8; 8] {
    let mut all = [0; 8];
    all[..bytes].copy_from_slice(&cell[..bytes]);
    let shift = 64 - 8 * bytes as u32;
    if signed {
        (i64::from_le_bytes(all) << shift >> shift).to_le_bytes()
    } else {
        all
    }
}

#[test]
fn narrow_values_are_extended() {
    let input = bytes();
    for (ty, bytes, signed) in TYPES.into_iter().filter(|(ty, ..)| !ty.starts_with('f')) {
        let body = format!("ld.global.{ty} %d0, [%in+4]; st.global.u64 [%out], %d0;");
        let body = if bytes == 8 {
            body.replace("+4", "+8")
        } else {
            body
        };
        let first = if bytes == 8 { 8 } else { 4 };
        let cells = input.chunks(CELL);
        let expected = cells.flat_map(|cell| {
            let value = extended(&cell[first..], bytes, signed);
            [value, [0; 8]].concat()
        });
        let expected: Vec<u8> = expected.collect();
        assert_eq!(run("", &body, &input), expected, "{ty}");
        // The store truncates again.
        let body = format!("ld.global.u64 %d0, [%in]; st.global.{ty} [%out], %d0;");
        assert_eq!(run("", &body, &input), firsts(&input, bytes), "{ty}");
    }
}

#[test]
fn parameters_and_constants() {
    let table = [
        200, 7, 130, 3, 255, 128, 1, 0, 9, 90, 180, 240, 17, 34, 51, 199,
    ];
    let input = bytes();
    for (ty, bytes, _) in TYPES {
        for n in [1, 2, 4].into_iter().filter(|n| n * bytes <= CELL) {
            let (v, values) = (["", ".v2", "", ".v4"][n - 1], vector(bytes, n));
            for (space, name, all) in [
                ("const", "table", &table[..]),
                ("param", "p", &input[..CELL]),
            ] {
                let body = format!(
                    "ld.{space}{v}.{ty} {values}, [{name}]; st.global{v}.{ty} [%out], {values};"
                );
                let found = run(", .param .align 16 .b8 p[16]", &body, &input);
                assert_eq!(found, firsts(&all.repeat(32), n * bytes), "{body}");
            }
        }
    }
}

type Update = fn(u64, u64) -> u64;

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn h(bits: u64) -> f32 {
    f16::from_bits(bits as u16).to_f32()
}

fn b(bits: u64) -> f32 {
    bf16::from_bits(bits as u16).to_f32()
}

fn add_f16(old: u64, a: u64) -> u64 {
    f16::from_f32(h(old) + h(a)).to_bits().into()
}

fn add_bf16(old: u64, a: u64) -> u64 {
    bf16::from_f32(b(old) + b(a)).to_bits().into()
}

/// Operation, type, bytes, and the new value.
const UPDATES: [(&str, &str, usize, Update); 29] = [
    ("and", "b32", 4, |old, a| old & a),
    ("and", "b64", 8, |old, a| old & a),
    ("or", "b32", 4, |old, a| old | a),
    ("or", "b64", 8, |old, a| old | a),
    ("xor", "b32", 4, |old, a| old ^ a),
    ("xor", "b64", 8, |old, a| old ^ a),
    ("exch", "b32", 4, |_, a| a),
    ("exch", "b64", 8, |_, a| a),
    ("add", "u32", 4, |old, a| {
        (old as u32).wrapping_add(a as u32).into()
    }),
    ("add", "s32", 4, |old, a| {
        (old as u32).wrapping_add(a as u32).into()
    }),
    ("add", "u64", 8, |old, a| old.wrapping_add(a)),
    ("add", "f32", 4, |old, a| (f(old) + f(a)).to_bits().into()),
    ("add", "f64", 8, |old, a| (g(old) + g(a)).to_bits()),
    ("add.noftz", "f16", 2, add_f16),
    ("add.noftz", "bf16", 2, add_bf16),
    ("add.noftz", "f16x2", 4, |old, a| {
        add_f16(old, a) | add_f16(old >> 16, a >> 16) << 16
    }),
    ("add.noftz", "bf16x2", 4, |old, a| {
        add_bf16(old, a) | add_bf16(old >> 16, a >> 16) << 16
    }),
    ("inc", "u32", 4, |old, a| if old >= a { 0 } else { old + 1 }),
    ("dec", "u32", 4, |old, a| {
        if old == 0 || old > a { a } else { old - 1 }
    }),
    ("min", "u32", 4, |old, a| old.min(a)),
    ("max", "u32", 4, |old, a| old.max(a)),
    ("min", "s32", 4, |old, a| {
        (old as i32).min(a as i32) as u32 as u64
    }),
    ("max", "s32", 4, |old, a| {
        (old as i32).max(a as i32) as u32 as u64
    }),
    ("min", "u64", 8, |old, a| old.min(a)),
    ("max", "u64", 8, |old, a| old.max(a)),
    ("min", "s64", 8, |old, a| (old as i64).min(a as i64) as u64),
    ("max", "s64", 8, |old, a| (old as i64).max(a as i64) as u64),
    // Some threads' operands equal the old value, and some do not.
    ("cas", "b32", 4, |old, a| if old == a { 77 } else { old }),
    ("cas", "b64", 8, |old, a| if old == a { 77 } else { old }),
];

/// The old value and the operand of each thread, without NaN.
fn operands(ty: &str, bytes: usize) -> Vec<u8> {
    let small = |i: u64| (i as f32 - 13.5) * if i % 4 == 1 { 1024. } else { 0.375 };
    let number = |i: u64| -> u64 {
        match ty {
            "f16" => f16::from_f32(small(i)).to_bits().into(),
            "bf16" => bf16::from_f32(small(i)).to_bits().into(),
            "f16x2" => u64::from(f16::from_f32(small(i)).to_bits()) * 0x10001,
            "bf16x2" => u64::from(bf16::from_f32(small(i)).to_bits()) * 0x10001,
            "f32" => (small(i) / 3.).to_bits().into(),
            "f64" => (f64::from(small(i)) / 3.).to_bits(),
            _ => (i * i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 3 * 21),
        }
    };
    let cell = |i: u64| {
        let (old, a) = (
            number(i),
            number(if i.is_multiple_of(5) { i } else { i + 9 }),
        );
        let part = |x: u64| x.to_le_bytes()[..bytes].to_vec();
        let mut cell = [part(old), part(a)].concat();
        cell.resize(CELL, 0);
        cell
    };
    (0..32).flat_map(cell).collect()
}

#[test]
fn atomic_updates() {
    let spaces = [
        ("%out", ".global"),
        ("%out", ".relaxed.gpu.global"),
        ("%out", ".acq_rel.sys"),
        ("%s", ".shared"),
        ("%s", ".relaxed.cta.shared::cta"),
    ];
    for (name, ty, bytes, update) in UPDATES {
        let input = operands(ty, bytes);
        let (old, a, z) = (register(bytes, 0), register(bytes, 1), register(bytes, 2));
        let width = 8 * bytes;
        let third = if name == "cas" { ", 77" } else { "" };
        for (at, how) in spaces {
            let begin = format!(
                "ld.global.b{width} {old}, [%in]; ld.global.b{width} {a}, [%in+{bytes}];
                st{}.b{width} [{at}], {old};",
                if at == "%s" { ".shared" } else { ".global" }
            );
            let end = format!(
                "ld{}.b{width} {z}, [{at}]; st.global.b{width} [%out], {z};",
                if at == "%s" { ".shared" } else { ".global" }
            );
            let (op, noftz) = name
                .split_once('.')
                .map_or((name, ""), |(op, _)| (op, ".noftz"));
            let atom = format!(
                "{begin} atom{how}.{op}{noftz}.{ty} {old}, [{at}], {a}{third}; {end}
                st.global.b{width} [%out+{bytes}], {old};"
            );
            let red = format!("{begin} red{how}.{op}{noftz}.{ty} [{at}], {a}; {end}");
            let expected = |with_old: bool| -> Vec<u8> {
                let cell = |cell: &[u8]| {
                    let mut parts = [0; 2];
                    for (i, part) in parts.iter_mut().enumerate() {
                        let mut all = [0; 8];
                        all[..bytes].copy_from_slice(&cell[i * bytes..][..bytes]);
                        *part = u64::from_le_bytes(all);
                    }
                    let new = update(parts[0], parts[1]).to_le_bytes();
                    let old = if with_old { parts[0] } else { 0 }.to_le_bytes();
                    let mut all = [&new[..bytes], &old[..bytes]].concat();
                    all.resize(CELL, 0);
                    all
                };
                input.chunks(CELL).flat_map(cell).collect()
            };
            assert_eq!(run("", &atom, &input), expected(true), "{atom}");
            if !["cas", "exch"].contains(&op) {
                assert_eq!(run("", &red, &input), expected(false), "{red}");
            }
        }
    }
}
