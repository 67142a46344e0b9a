//! Runs an instruction on many operands.

use half::{bf16, f16};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use simt::{Arg, Buffer, Dim, Module, Options};

use super::floor::note;

/// Number of threads; each has its own operands.
const THREADS: usize = 512;

/// Bytes of a type: `s32` → 4, `f16x2` → 4.
pub fn bytes(ty: &str) -> usize {
    let (bits, lanes) = ty[1..].split_once('x').unwrap_or((&ty[1..], "1"));
    let bits: usize = bits.trim_start_matches('f').parse().unwrap();
    bits * lanes.parse::<usize>().unwrap() / 8
}

fn register(ty: &str, n: usize) -> String {
    let letter = ["h", "h", "r", "d"][bytes(ty).ilog2() as usize];
    format!("%{letter}{n}")
}

/// A mask of all bits of a type.
pub fn mask(ty: &str) -> u64 {
    u64::MAX >> (64 - 8 * bytes(ty))
}

/// 64-bit numbers, mostly at the ends of ranges.
fn integer(rng: &mut ChaCha8Rng) -> u64 {
    let bits = rng.random_range(0..=64u32);
    let end = (1u128 << bits) as u64;
    match rng.random_range(0..4) {
        0 => rng.random(),
        1 => rng.random_range(0..70),
        _ => end.wrapping_add(rng.random_range(0..5)).wrapping_sub(2),
    }
}

/// Special values, numbers of similar size, and arbitrary ones.
fn single(rng: &mut ChaCha8Rng) -> f32 {
    let edges = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x3f00_0000,
        0x3f80_0000,
        0x3f80_0001,
        0x3fc0_0000,
        0x4020_0000,
        0x4b00_0001,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    let sign = u32::from(rng.random::<bool>()) << 31;
    let bits = match rng.random_range(0..4) {
        0 => edges[rng.random_range(0..edges.len())],
        1 => rng.random::<u32>() >> 1,
        _ => rng.random_range(0x3d00_0000..0x4300_0000),
    };
    f32::from_bits(bits | sign)
}

fn double(rng: &mut ChaCha8Rng) -> f64 {
    match rng.random_range(0..3) {
        0 => single(rng).into(),
        1 => f64::from(single(rng)) * (1. + f64::EPSILON * rng.random_range(0..9) as f64),
        _ => rng.random_range(-1e3..1e3),
    }
}

/// A random operand of a type.
fn operand(ty: &str, rng: &mut ChaCha8Rng) -> u64 {
    let half = |rng: &mut ChaCha8Rng| match rng.random_range(0..3) {
        0 => rng.random::<u16>(),
        _ => f16::from_f32(single(rng)).to_bits(),
    };
    let brain = |rng: &mut ChaCha8Rng| bf16::from_f32(single(rng)).to_bits();
    match ty {
        "f32" => single(rng).to_bits().into(),
        "f64" => double(rng).to_bits(),
        "f16" => half(rng).into(),
        "bf16" => brain(rng).into(),
        "f16x2" => u64::from(half(rng)) << 16 | u64::from(half(rng)),
        "bf16x2" => u64::from(brain(rng)) << 16 | u64::from(brain(rng)),
        _ => integer(rng) & mask(ty),
    }
}

/// Returns operands and results of `body`: instructions with the operands `{0}`, `{1}` …, the result `{d}`,
/// and the predicates `{p}` and `{q}`.
pub fn run(body: &str, operands: &[&str], result: &str) -> Vec<(Vec<u64>, u64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let all: Vec<Vec<u64>> = (0..THREADS)
        .map(|_| operands.iter().map(|ty| operand(ty, &mut rng)).collect())
        .collect();
    let named = operands.iter().enumerate();
    let mut text = body
        .replace("{d}", &register(result, 7))
        .replace("{p}", "%p0")
        .replace("{q}", "%p1");
    let mut loads = String::new();
    for (n, ty) in named {
        let (register, bits) = (register(ty, n), 8 * bytes(ty));
        loads += &format!("ld.global.b{bits} {register}, [%in+{}];\n", 8 * n);
        text = text.replace(&format!("{{{n}}}"), &register);
    }
    let (pitch, bits) = (8 * operands.len(), 8 * bytes(result));
    let text = format!(
        ".version 8.6\n.target sm_100\n.address_size 64
        .entry kernel(.param .u64 in, .param .u64 out)
        {{
        .reg .b16 %h<9>; .reg .b32 %i, %r<9>; .reg .b64 %d<9>, %in, %out; .reg .pred %p<3>;
        ld.param.u64 %in, [in];
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        mad.wide.u32 %in, %i, {pitch}, %in;
        mad.wide.u32 %out, %i, 8, %out;
        {loads}
        {text}
        st.global.b{bits} [%out], {};
        ret;
        }}",
        register(result, 7)
    );
    let kernel = Module::parse(&text).and_then(|m| m.kernel("kernel"));
    let kernel = kernel.unwrap_or_else(|e| panic!("{body}: {e}"));
    let words = |x: u64| [x as u32, (x >> 32) as u32];
    let input: Vec<u32> = all.iter().flatten().flat_map(|&x| words(x)).collect();
    let mut buffers = [
        Buffer::u32s("in", &input),
        Buffer::u32s("out", &[0; 2 * THREADS]),
    ];
    let dim = Dim {
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        smem: 0,
    };
    let args = [Arg::Buffer(0), Arg::Buffer(1)];
    let report = kernel.launch(dim, &mut buffers, &args, &Options::default());
    let report = report.unwrap_or_else(|e| panic!("{body}: {e}"));
    note(&report);
    assert!(report.is_clean(), "{body}: {:?}", report.findings);
    let found = buffers[1].to_u32s();
    let found = found
        .chunks(2)
        .map(|w| u64::from(w[1]) << 32 | u64::from(w[0]));
    all.into_iter().zip(found).collect()
}

/// Whether the bits of a float are NaN.
pub fn is_nan(ty: &str, bits: u64) -> bool {
    match ty {
        "f16" => f16::from_bits(bits as u16).is_nan(),
        "bf16" => bf16::from_bits(bits as u16).is_nan(),
        "f32" => f32::from_bits(bits as u32).is_nan(),
        "f64" => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// Checks each result bit by bit; any NaN matches NaN. `None` means that PTX leaves the result open.
pub fn check(
    body: &str,
    operands: &[&str],
    result: &str,
    expected: impl Fn(&[u64]) -> Option<u64>,
) {
    let parts: Vec<(&str, u32)> = match result.strip_suffix("x2") {
        Some(part) if result.contains('f') => vec![(part, 0), (part, 16)],
        _ => vec![(result, 0)],
    };
    let mut compared = 0;
    for (operands, found) in run(body, operands, result) {
        let Some(expected) = expected(&operands) else {
            continue;
        };
        compared += 1;
        for &(ty, shift) in &parts {
            let part = |bits: u64| bits >> shift & mask(ty);
            let (a, b) = (part(expected), part(found));
            let same = a == b || is_nan(ty, a) && is_nan(ty, b);
            assert!(same, "{body} of {operands:x?}: expected {a:x}, found {b:x}");
        }
    }
    assert!(compared > THREADS / 4, "{body}: {compared}");
}
