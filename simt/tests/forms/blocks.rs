//! `ldmatrix` and `stmatrix`: positions of the elements in the PTX manual, and costs.
//!
//! Element (row, column) of block b is the number 64·b + 8·row + column. Lane i has the columns 2·(i % 4) and
//! the next one of row i / 4, which are the numbers 64·b + 2·i and the next one.

use simt::{Arg, Buffer, Class, Dim, Module, Options, Report};

use super::floor::note;

/// Bytes of shared memory, at most 32 rows 128 bytes apart.
const SHARED: u32 = 32 * 128;

/// Runs a warp whose lane i has its pair of elements of block b in `%v{b}`, and the address of row i in
/// `%row`; rows are `pitch` bytes apart. After `body`, shared memory is copied to `out`.
fn run(pitch: u32, body: &str) -> (Vec<u32>, Report) {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 out)
        {{
        .reg .u32 %i, %k, %x, %row, %at, %v0, %v1, %v2, %v3;
        .reg .u64 %out, %to;
        .reg .pred %p;
        .shared .align 16 .b8 rows[{SHARED}];
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        // Clears shared memory first.
        mov.u32 %at, rows;
        mad.lo.u32 %at, %i, 4, %at;
        mov.u32 %k, 0;
        mov.u32 %x, 0;
        ZEROS: st.shared.u32 [%at], %x;
        add.u32 %at, %at, 128;
        add.u32 %k, %k, 1;
        setp.lt.u32 %p, %k, 32;
        @%p bra ZEROS;
        bar.warp.sync -1;
        // Two 16-bit numbers in a word: 2·i and the next one.
        mul.lo.u32 %v0, %i, 0x20002;
        add.u32 %v0, %v0, 0x10000;
        add.u32 %v1, %v0, 0x400040;
        add.u32 %v2, %v1, 0x400040;
        add.u32 %v3, %v2, 0x400040;
        mov.u32 %row, rows;
        mad.lo.u32 %row, %i, {pitch}, %row;
        {body}
        bar.warp.sync -1;
        mov.u32 %at, rows;
        mad.lo.u32 %at, %i, 4, %at;
        mad.wide.u32 %to, %i, 4, %out;
        mov.u32 %k, 0;
        COPY: ld.shared.u32 %x, [%at];
        st.global.u32 [%to], %x;
        add.u32 %at, %at, 128;
        add.u64 %to, %to, 128;
        add.u32 %k, %k, 1;
        setp.lt.u32 %p, %k, 32;
        @%p bra COPY;
        ret;
        }}"
    );
    let kernel = Module::parse(&text)
        .and_then(|m| m.kernel("kernel"))
        .unwrap();
    let mut buffers = [Buffer::u32s("out", &[0; SHARED as usize / 4])];
    let dim = Dim {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        smem: 0,
    };
    let report = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], &Options::default());
    let report = report.unwrap();
    note(&report);
    (buffers[0].to_u32s(), report)
}

/// The 16-bit element of shared memory at `byte`.
fn half(memory: &[u32], byte: u32) -> u32 {
    memory[byte as usize / 4] >> (8 * (byte % 4)) & 0xffff
}

const REGISTERS: [(u32, &str, &str); 3] = [
    (1, "x1", "{%v0}"),
    (2, "x2", "{%v0, %v1}"),
    (4, "x4", "{%v0, %v1, %v2, %v3}"),
];

#[test]
fn blocks_are_stored() {
    for (blocks, count, registers) in REGISTERS {
        for (trans, pitch) in [("", 16), ("", 48), (".trans", 16), (".trans", 80)] {
            let store = format!(
                "stmatrix.sync.aligned.m8n8.{count}{trans}.shared.b16 [%row], {registers};"
            );
            let (memory, report) = run(pitch, &store);
            assert!(report.findings.is_empty(), "{store}: {:?}", report.findings);
            for row in 0..8 * blocks {
                for column in 0..8 {
                    let element = match trans {
                        "" => 8 * row + column,
                        _ => row / 8 * 64 + 8 * column + row % 8,
                    };
                    let found = half(&memory, row * pitch + 2 * column);
                    assert_eq!(found, element, "{store} {row} {column}");
                }
            }
            let written = memory.iter().filter(|word| **word != 0).count();
            assert_eq!(written as u32, 32 * blocks, "{store}");
        }
    }
}

#[test]
fn loading_reverses_storing() {
    for (blocks, count, registers) in REGISTERS {
        for trans in ["", ".trans"] {
            // Row r of the second store is row r of the first, one block after the other.
            let body = format!(
                "stmatrix.sync.aligned.m8n8.{count}.shared.b16 [%row], {registers};
                bar.warp.sync -1;
                mov.u32 %v0, 0; mov.u32 %v1, 0; mov.u32 %v2, 0; mov.u32 %v3, 0;
                ldmatrix.sync.aligned.m8n8.{count}{trans}.shared.b16 {registers}, [%row];
                bar.warp.sync -1;
                stmatrix.sync.aligned.m8n8.{count}{trans}.shared.b16 [%row], {registers};"
            );
            let (memory, report) = run(48, &body);
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            for row in 0..8 * blocks {
                for column in 0..8 {
                    let found = half(&memory, 48 * row + 2 * column);
                    assert_eq!(found, 8 * row + column, "{body} {row} {column}");
                }
            }
        }
    }
}

/// A wavefront covers 32 banks of 4 bytes: eight adjacent rows need one, eight rows in the same banks eight.
#[test]
fn rows_in_the_same_banks_cost_passes() {
    for (pitch, passes) in [(16, 1), (128, 8), (32, 2), (80, 1)] {
        for (blocks, count, registers) in REGISTERS {
            let store =
                format!("stmatrix.sync.aligned.m8n8.{count}.shared.b16 [%row], {registers};");
            let load =
                format!("ldmatrix.sync.aligned.m8n8.{count}.shared.b16 {registers}, [%row];");
            let (_, nothing) = run(pitch, "");
            let (_, stored) = run(pitch, &store);
            let (_, loaded) = run(pitch, &load);
            let (before, after) = (nothing.total, stored.total);
            let wavefronts = after.shared_store_wavefronts - before.shared_store_wavefronts;
            assert_eq!(wavefronts, u64::from(blocks * passes), "{store} {pitch}");
            assert_eq!(
                after.shared_store_ideal - before.shared_store_ideal,
                u64::from(blocks)
            );
            assert_eq!(
                after.shared_store_requests - before.shared_store_requests,
                1
            );
            let wavefronts = loaded.total.shared_load_wavefronts - before.shared_load_wavefronts;
            assert_eq!(wavefronts, u64::from(blocks * passes), "{load} {pitch}");
        }
    }
}

#[test]
fn defects_are_found() {
    let store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {%v0, %v1, %v2, %v3};";
    let cases = [
        (8, store.to_owned(), Class::Misaligned),
        (256, store.to_owned(), Class::OutOfBounds),
        // Row 0 of all blocks at one address, which eight lanes write.
        (
            16,
            format!("and.b32 %row, %row, -128; {store}"),
            Class::Race,
        ),
        (
            16,
            format!("setp.lt.u32 %p, %i, 16; @%p {store}"),
            Class::WrongMask,
        ),
    ];
    for (pitch, body, class) in cases {
        let (_, report) = run(pitch, &body);
        let classes: Vec<Class> = report.findings.iter().map(|f| f.class).collect();
        assert!(classes.contains(&class), "{body}: {:?}", report.findings);
    }
}
