//! Matmuls by a warp in every shape and type. Fragments are filled and read by the tables of the PTX manual,
//! and the results are integers that every type holds exactly.

use half::{bf16, f16};
use simt::{Arg, Buffer, Dim, Kernel, Module, Options, Schedule};

use super::floor::note;

/// An element type: its name, its bytes, and the bits of an integer.
#[derive(Clone, Copy)]
struct Format {
    name: &'static str,
    bytes: usize,
    bits: fn(i32) -> u32,
}

const F16: Format = Format {
    name: "f16",
    bytes: 2,
    bits: |x| f16::from_f32(x as f32).to_bits().into(),
};
const BF16: Format = Format {
    name: "bf16",
    bytes: 2,
    bits: |x| bf16::from_f32(x as f32).to_bits().into(),
};
const TF32: Format = Format {
    name: "tf32",
    bytes: 4,
    bits: |x| (x as f32).to_bits(),
};
const F32: Format = Format {
    name: "f32",
    ..TF32
};
const S8: Format = Format {
    name: "s8",
    bytes: 1,
    bits: |x| x as u8 as u32,
};
const U8: Format = Format { name: "u8", ..S8 };
const S32: Format = Format {
    name: "s32",
    bytes: 4,
    bits: |x| x as u32,
};

/// M, N, K, and the types of a, of b, and of c and d.
type Product = ([usize; 3], Format, Format, Format);

/// The forms of `mma.sync` that this machine supports; the others are errors.
const MMA: [Product; 17] = [
    ([16, 8, 8], F16, F16, F16),
    ([16, 8, 8], F16, F16, F32),
    ([16, 8, 16], F16, F16, F16),
    ([16, 8, 16], F16, F16, F32),
    ([16, 8, 8], BF16, BF16, F32),
    ([16, 8, 16], BF16, BF16, F32),
    ([16, 8, 4], TF32, TF32, F32),
    ([16, 8, 8], TF32, TF32, F32),
    ([8, 8, 16], S8, S8, S32),
    ([8, 8, 16], U8, S8, S32),
    ([8, 8, 16], S8, U8, S32),
    ([8, 8, 16], U8, U8, S32),
    ([16, 8, 16], S8, S8, S32),
    ([16, 8, 16], U8, S8, S32),
    ([16, 8, 32], S8, U8, S32),
    ([16, 8, 32], U8, U8, S32),
    ([16, 8, 32], S8, S8, S32),
];

/// The forms of `wmma`.
const WMMA: [Product; 17] = [
    ([16, 16, 16], F16, F16, F16),
    ([16, 16, 16], F16, F16, F32),
    ([32, 8, 16], F16, F16, F16),
    ([32, 8, 16], F16, F16, F32),
    ([8, 32, 16], F16, F16, F16),
    ([8, 32, 16], F16, F16, F32),
    ([16, 16, 16], BF16, BF16, F32),
    ([32, 8, 16], BF16, BF16, F32),
    ([8, 32, 16], BF16, BF16, F32),
    ([16, 16, 8], TF32, TF32, F32),
    ([16, 16, 16], S8, S8, S32),
    ([16, 16, 16], U8, U8, S32),
    ([32, 8, 16], S8, S8, S32),
    ([32, 8, 16], U8, U8, S32),
    ([8, 32, 16], S8, S8, S32),
    ([8, 32, 16], U8, U8, S32),
    ([16, 16, 16], F16, F16, F32),
];

/// An element that identifies its position; small, and sometimes negative if the type is signed.
fn number(format: Format, matrix: usize, row: usize, column: usize) -> i32 {
    let x = ((7 * row + 3 * column + 5 * matrix) % 11) as i32;
    if format.name == "u8" { x } else { x - 5 }
}

struct Matrices {
    product: Product,
}

impl Matrices {
    fn a(&self, row: usize, column: usize) -> i32 {
        number(self.product.1, 0, row, column)
    }
    fn b(&self, row: usize, column: usize) -> i32 {
        number(self.product.2, 1, row, column)
    }
    fn c(&self, row: usize, column: usize) -> i32 {
        number(self.product.3, 2, row, column)
    }
    fn d(&self, row: usize, column: usize) -> i32 {
        let products = (0..self.product.0[2]).map(|k| self.a(row, k) * self.b(k, column));
        self.c(row, column) + products.sum::<i32>()
    }
}

/// Positions (row, column) of a lane's elements in a fragment of `mma`, in the order of the manual. `groupID`
/// is lane / 4 and `threadID_in_group` lane % 4.
fn fragment_a(lane: usize, [m, _, k]: [usize; 3], format: Format) -> Vec<(usize, usize)> {
    let (group, of_group, per) = (lane / 4, lane % 4, 4 / format.bytes);
    let count = m * k / 32;
    let place = |i: usize| {
        // Registers go down by 8 rows first, then on by half of the 16 bytes that four lanes have of a row.
        let lower = m == 16 && (i / per) % 2 == 1;
        let right = if m == 16 { i / (2 * per) } else { i / per };
        let column = of_group * per + i % per + right * 4 * per;
        (group + if lower { 8 } else { 0 }, column)
    };
    (0..count).map(place).collect()
}

fn fragment_b(lane: usize, [_, n, k]: [usize; 3], format: Format) -> Vec<(usize, usize)> {
    let (group, of_group, per) = (lane / 4, lane % 4, 4 / format.bytes);
    let place = |i: usize| (of_group * per + i % per + i / per * 4 * per, group);
    (0..n * k / 32).map(place).collect()
}

fn fragment_c(lane: usize, [m, n, _]: [usize; 3]) -> Vec<(usize, usize)> {
    let place = |i: usize| (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
    (0..m * n / 32).map(place).collect()
}

/// Packs elements into words.
fn packed(elements: &[u32], format: Format) -> Vec<u32> {
    let word = |part: &[u32]| {
        let bits = part.iter().enumerate();
        bits.fold(0, |word, (i, x)| word | x << (8 * format.bytes * i))
    };
    elements.chunks(4 / format.bytes).map(word).collect()
}

fn names(letter: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("%{letter}{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

fn kernel(body: &str) -> simt::Result<Kernel> {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 in, .param .u64 out)
        {{
        .reg .b32 %i, %a<9>, %b<9>, %c<9>, %d<9>;
        .reg .b64 %in, %out, %from, %to;
        ld.param.u64 %in, [in];
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        {body}
        ret;
        }}"
    );
    Module::parse(&text)?.kernel("kernel")
}

/// Runs one warp and returns its output of `words` words.
fn run(kernel: &Kernel, input: &[u32], words: usize) -> Vec<u32> {
    let mut buffers = [
        Buffer::u32s("in", input),
        Buffer::uninitialised("out", 4 * words),
    ];
    let dim = Dim {
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
    };
    let options = Options {
        schedule: Schedule::PostDominator,
        ..Options::default()
    };
    let args = [Arg::Buffer(0), Arg::Buffer(1)];
    let report = kernel.launch(dim, &mut buffers, &args, &options);
    let report = report.unwrap();
    note(&report);
    assert!(report.is_clean(), "{:?}", report.findings);
    buffers[1].to_u32s()
}

fn name([m, n, k]: [usize; 3]) -> String {
    format!("m{m}n{n}k{k}")
}

#[test]
fn mma() {
    for product in MMA {
        let (shape, a, b, c) = product;
        let all = Matrices { product };
        let bits = |format: Format, x: i32| (format.bits)(x);
        let of_lane = |lane: usize| {
            let a_of = fragment_a(lane, shape, a).into_iter();
            let b_of = fragment_b(lane, shape, b).into_iter();
            let c_of = fragment_c(lane, shape).into_iter();
            let a_of: Vec<u32> = a_of.map(|(r, k)| bits(a, all.a(r, k))).collect();
            let b_of: Vec<u32> = b_of.map(|(k, n)| bits(b, all.b(k, n))).collect();
            let c_of: Vec<u32> = c_of.map(|(r, n)| bits(c, all.c(r, n))).collect();
            [packed(&a_of, a), packed(&b_of, b), packed(&c_of, c)]
        };
        let counts = of_lane(0).map(|words| words.len());
        let [of_a, of_b, of_c] = counts;
        let words = counts.iter().sum::<usize>();
        let load = |letter: &str, first: usize, count: usize| -> String {
            let one = |i| format!("ld.global.b32 %{letter}{i}, [%from+{}];\n", 4 * (first + i));
            (0..count).map(one).collect()
        };
        let store: String = (0..of_c)
            .map(|i| format!("st.global.b32 [%to+{}], %d{i};\n", 4 * i))
            .collect();
        let form = format!(
            "mma.sync.aligned.{}.row.col.{}.{}.{}.{}",
            name(shape),
            c.name,
            a.name,
            b.name,
            c.name
        );
        let body = format!(
            "mad.wide.u32 %from, %i, {}, %in; mad.wide.u32 %to, %i, {}, %out;
            {}{}{}
            {form} {}, {}, {}, {};
            {store}",
            4 * words,
            4 * of_c,
            load("a", 0, of_a),
            load("b", of_a, of_b),
            load("c", of_a + of_b, of_c),
            names("d", of_c),
            names("a", of_a),
            names("b", of_b),
            names("c", of_c),
        );
        let input: Vec<u32> = (0..32).flat_map(|lane| of_lane(lane).concat()).collect();
        let found = run(&kernel(&body).unwrap(), &input, 32 * of_c);
        for lane in 0..32 {
            let places = fragment_c(lane, shape).into_iter();
            let expected: Vec<u32> = places.map(|(r, n)| bits(c, all.d(r, n))).collect();
            let expected = packed(&expected, c);
            assert_eq!(
                found[lane * of_c..][..of_c],
                expected,
                "{form}, lane {lane}"
            );
        }
    }
}

/// Number of registers of a `wmma` fragment, by the manual's table: a and b of f16 have 8, with each element twice.
fn registers(matrix: char, [m, n, k]: [usize; 3], format: Format) -> usize {
    match (matrix, format.name) {
        ('a' | 'b', "f16") => 8,
        ('a', _) => m * k * format.bytes / 128,
        ('b', _) => k * n * format.bytes / 128,
        _ => m * n * format.bytes / 128,
    }
}

/// Matrices in memory, row-major or column-major, with padding after each row.
#[test]
fn wmma() {
    for (number, product) in WMMA.into_iter().enumerate() {
        let (shape @ [m, n, k], a, b, c) = product;
        let all = Matrices { product };
        let column_major = number % 2 == 1;
        let layout = |swap: bool| if swap != column_major { "col" } else { "row" };
        // b has the opposite layout.
        let [la, lb, lc] = [false, true, false].map(layout);
        let sizes = [(m, k, a, la), (k, n, b, lb), (m, n, c, lc), (m, n, c, lc)];
        let stride = |(rows, columns, format, layout): (usize, usize, Format, &str)| {
            let inner = if layout == "row" { columns } else { rows };
            inner + 16 / format.bytes
        };
        let bytes = |size: (usize, usize, Format, &str)| {
            let outer = if size.3 == "row" { size.0 } else { size.1 };
            (stride(size) * outer * size.2.bytes).next_multiple_of(32)
        };
        let mut memory = vec![0u8; sizes[..3].iter().map(|&size| bytes(size)).sum()];
        let mut first = 0;
        let numbers: [&dyn Fn(usize, usize) -> i32; 3] =
            [&|r, k| all.a(r, k), &|k, n| all.b(k, n), &|r, n| {
                all.c(r, n)
            }];
        let at = |size: (usize, usize, Format, &str), row: usize, column: usize| {
            let index = match size.3 {
                "row" => row * stride(size) + column,
                _ => column * stride(size) + row,
            };
            index * size.2.bytes
        };
        for (size, number) in sizes.into_iter().zip(numbers) {
            for (row, column) in (0..size.0).flat_map(|r| (0..size.1).map(move |c| (r, c))) {
                let bits = (size.2.bits)(number(row, column)).to_le_bytes();
                let at = first + at(size, row, column);
                memory[at..at + size.2.bytes].copy_from_slice(&bits[..size.2.bytes]);
            }
            first += bytes(size);
        }
        let offsets = [0, bytes(sizes[0]), bytes(sizes[0]) + bytes(sizes[1])];
        let form = match a.name {
            "f16" => format!("{}.{}", c.name, c.name),
            _ => format!("{}.{}.{}.{}", c.name, a.name, b.name, c.name),
        };
        let load = |i: usize, letter: char| {
            let (_, _, format, layout) = sizes[i];
            format!(
                "add.u64 %from, %in, {};
                wmma.load.{letter}.sync.aligned.{layout}.{}.global.{} {}, [%from], {};\n",
                offsets[i],
                name(shape),
                format.name,
                names(&letter.to_string(), registers(letter, shape, format)),
                stride(sizes[i])
            )
        };
        let of =
            |letter: char, format| names(&letter.to_string(), registers(letter, shape, format));
        let body = format!(
            "{}{}{}
            wmma.mma.sync.aligned.{la}.{lb}.{}.{form} {}, {}, {}, {};
            wmma.store.d.sync.aligned.{lc}.{}.global.{} [%out], {}, {};",
            load(0, 'a'),
            load(1, 'b'),
            load(2, 'c'),
            name(shape),
            of('d', c),
            of('a', a),
            of('b', b),
            of('c', c),
            name(shape),
            c.name,
            of('d', c),
            stride(sizes[3])
        );
        let words: Vec<u32> = memory
            .chunks(4)
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect();
        let found = run(&kernel(&body).unwrap(), &words, bytes(sizes[3]) / 4);
        let found: Vec<u8> = found.iter().flat_map(|w| w.to_le_bytes()).collect();
        for (row, column) in (0..m).flat_map(|r| (0..n).map(move |c| (r, c))) {
            let at = at(sizes[3], row, column);
            let expected = (c.bits)(all.d(row, column)).to_le_bytes();
            assert_eq!(
                found[at..at + c.bytes],
                expected[..c.bytes],
                "{}, {form}, {la}.{lb}: row {row}, column {column}",
                name(shape)
            );
        }
    }
}

/// A warp that transposes a tile by `wmma` pays for it: rows of 32 words lie in the same banks.
#[test]
fn fragments_count_as_loads_and_stores() {
    let eight = "{%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}";
    let body = format!(
        "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {eight}, [%in], 32;
        .shared .align 32 .b8 tile[2048];
        mov.u64 %to, tile;
        wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%to], {eight}, 32;
        wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {eight}, [%to], 32;
        wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%out], {eight}, 16;"
    );
    let mut buffers = [
        Buffer::u32s("in", &[0; 512]),
        Buffer::uninitialised("out", 1024),
    ];
    let dim = Dim {
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
    };
    let args = [Arg::Buffer(0), Arg::Buffer(1)];
    let launched = kernel(&body)
        .unwrap()
        .launch(dim, &mut buffers, &args, &Options::default());
    let report = launched.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let counts = report.total;
    // Four loads of 8 bytes: each of eight lines of 32 bytes. Eight stores of 4 bytes, each to four lines.
    let global = [
        (counts.global_load_requests, counts.global_load_sectors),
        (counts.global_store_requests, counts.global_store_sectors),
    ];
    assert_eq!(global, [(4, 32), (8, 32)]);
    let shared = [
        (counts.shared_load_requests, counts.shared_load_wavefronts),
        (counts.shared_store_requests, counts.shared_store_wavefronts),
    ];
    assert_eq!(shared, [(4, 32), (4, 32)]);
}

#[test]
fn unsupported_forms_are_errors() {
    for (form, named) in [
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7},
            {%a0, %a1}, {%b0, %b1}, {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};",
            "m8n8k4",
        ),
        (
            "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3},
            {%b0, %b1}, {%c0, %c1, %c2, %c3};",
            "s4",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k8.f32.f16.f16.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7},
            {%a0, %a1, %a2, %a3}, {%b0, %b1, %b2, %b3}, {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};",
            "m16n16k8",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3},
            {%b0, %b1}, {%c0, %c1, %c2, %c3};",
            "m16n8k16",
        ),
    ] {
        let error = kernel(form).expect_err(form).to_string();
        assert!(error.contains(named), "{error}");
    }
}
