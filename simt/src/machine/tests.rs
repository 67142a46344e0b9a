//! Memory use of the shadow, and the sectors that a launch touches.

use super::*;
use crate::{Module, Touched};

/// Bytes per shadow page.
const PAGE: usize = 512;
const BLOCKS: usize = 256;
/// Distance in bytes between accessed pages.
const STRIDE: usize = 32 * PAGE;

/// A kernel with a block of 512 threads per accessed page: each thread writes element i and, after a barrier,
/// reads the element of a thread in another warp.
fn text(ty: &str, bytes: usize) -> String {
    let elements = PAGE / bytes;
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 data)
        {{
        .reg .u32 %i, %b, %other;
        .reg .u16 %x;
        .reg .{ty} %v;
        .reg .u64 %data, %page, %to, %from;
        .reg .pred %p;
        ld.param.u64 %data, [data];
        mov.u32 %i, %tid.x;
        mov.u32 %b, %ctaid.x;
        mad.wide.u32 %page, %b, {STRIDE}, %data;
        mad.wide.u32 %to, %i, {bytes}, %page;
        setp.lt.u32 %p, %i, {elements};
        mov.{ty} %v, 7;
        @%p st.global.{ty} [%to], %v;
        bar.sync 0;
        sub.u32 %other, {elements}, %i;
        sub.u32 %other, %other, 1;
        mad.wide.u32 %from, %other, {bytes}, %page;
        @%p ld.global.{ty} %v, [%from];
        ret;
        }}"
    )
}

/// Returns bytes of shadow per accessed byte.
fn ratio(text: &str, elements: usize) -> f64 {
    let kernel = Module::parse(text).unwrap().kernel("kernel").unwrap();
    let dim = Dim {
        grid: [BLOCKS as u32, 1, 1],
        block: [elements as u32, 1, 1],
        smem: 0,
    };
    let buffers = [Buffer::uninitialised("data", BLOCKS * STRIDE)];
    let options = Options::default();
    let launched = Launched {
        kernel: &kernel.code,
        variables: &[],
        dim,
        cluster: None,
        args: &[Arg::Buffer(0)],
        records: false,
        earlier: &[],
    };
    let grid = prepare(launched, [1; 3], &buffers, &options);
    let before = grid.global.shadow_bytes() as f64;
    assert!(before < 0.005 * (BLOCKS * STRIDE) as f64, "{before}");
    let report = run(&grid, true);
    assert!(report.is_clean(), "{:?}", report.findings);
    grid.global.shadow_bytes() as f64 / (BLOCKS * PAGE) as f64
}

const ONE_WARP: Dim = Dim {
    grid: [1; 3],
    block: [32, 1, 1],
    smem: 0,
};

#[test]
fn a_sparse_buffers_shadow_is_at_most_12_times_the_accessed_bytes() {
    for (ty, bytes, most) in [("u32", 4, 6.0), ("u16", 2, 8.0), ("u64", 8, 6.0)] {
        let found = ratio(&text(ty, bytes), PAGE / bytes);
        assert!(found > 2.0 && found < most, "{ty}: {found}");
    }
    let text = text("u16", 1).replace(".global.u16", ".global.u8");
    let found = ratio(&text, PAGE);
    assert!(found > 8.0 && found < 12.0, "u8: {found}");
}

/// 32 threads read element i of x three times, and write element 8·i of y.
#[test]
fn each_sector_that_is_touched_counts_once() {
    let text = ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 x, .param .u64 y)
        {
        .reg .u32 %i;
        .reg .f32 %v;
        .reg .u64 %x, %y, %from, %to;
        ld.param.u64 %x, [x];
        ld.param.u64 %y, [y];
        mov.u32 %i, %tid.x;
        mad.wide.u32 %from, %i, 4, %x;
        mad.wide.u32 %to, %i, 32, %y;
        ld.global.f32 %v, [%from];
        ld.global.f32 %v, [%from];
        ld.global.f32 %v, [%from];
        st.global.f32 [%to], %v;
        ret;
        }";
    let kernel = Module::parse(text).unwrap().kernel("kernel").unwrap();
    let run = |touched| {
        let mut buffers = ["x", "y"].map(|name| Buffer::new(name, vec![0; 4096]));
        let args = [Arg::Buffer(0), Arg::Buffer(1)];
        let options = Options {
            touched,
            ..Options::default()
        };
        kernel
            .launch(ONE_WARP, &mut buffers, &args, &options)
            .unwrap()
    };
    let report = run(true);
    assert_eq!(report.total.global_load_sectors, 12);
    let bytes = |touched: &Touched| (touched.read_bytes(), touched.written_bytes());
    let all: Vec<(u64, u64)> = report.touched.iter().map(bytes).collect();
    assert_eq!(all, [(128, 0), (0, 1024)]);
    let (mut sum, y) = (report.touched[0].clone(), &report.touched[1]);
    sum.add(y);
    sum.add(y);
    assert_eq!(bytes(&sum), (128, 1024));
    assert!(run(false).touched.is_empty());
}

/// 32 threads add 0 to element 2·i of x, which reads it, and the first one adds to a word of shared memory.
#[test]
fn atomics_are_counted_apart_from_loads_and_stores() {
    let text = ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 x)
        {
        .reg .pred %first;
        .reg .u32 %i, %n;
        .reg .f32 %v;
        .reg .u64 %x, %at;
        .shared .align 4 .u32 sum;
        ld.param.u64 %x, [x];
        mov.u32 %i, %tid.x;
        mad.wide.u32 %at, %i, 8, %x;
        atom.global.add.f32 %v, [%at], 0f00000000;
        red.global.add.f32 [%at], %v;
        setp.eq.u32 %first, %i, 0;
        @%first st.shared.u32 [sum], 0;
        @%first atom.shared.add.u32 %n, [sum], 1;
        ret;
        }";
    let kernel = Module::parse(text).unwrap().kernel("kernel").unwrap();
    let mut buffers = [Buffer::new("x", vec![0; 256])];
    let args = [Arg::Buffer(0)];
    let report = kernel.launch(ONE_WARP, &mut buffers, &args, &Options::default());
    let total = report.unwrap().total;
    // Each of the two touches 256 bytes; without gaps, the 128 bytes of 32 lanes are in 4 sectors.
    let global = [
        total.global_atomic_requests,
        total.global_atomic_sectors,
        total.global_atomic_ideal,
    ];
    assert_eq!(global, [2, 16, 8]);
    assert_eq!(
        (total.global_load_requests, total.global_store_requests),
        (0, 0)
    );
    assert_eq!(total.global_sectors(), 32);
    assert_eq!(
        (total.shared_atomic_requests, total.shared_store_requests),
        (1, 1)
    );
}

/// 32 threads update words of shared memory in one bank; a word per thread is in local memory.
#[test]
fn bank_conflicts_of_atomics_and_local_memory_are_counted() {
    let text = ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel()
        {
        .reg .u32 %i, %at, %n;
        .reg .u64 %p;
        .shared .align 4 .b8 all[4096];
        .local .align 4 .b8 own[8];
        mov.u32 %i, %tid.x;
        mad.lo.u32 %at, %i, 128, all;
        st.shared.u32 [%at], %i;
        atom.shared.or.b32 %n, [%at], 0;
        st.local.u32 [own], %n;
        mov.u64 %p, own;
        cvta.local.u64 %p, %p;
        ld.u32 %n, [%p];
        ret;
        }";
    let kernel = Module::parse(text).unwrap().kernel("kernel").unwrap();
    let report = kernel.launch(ONE_WARP, &mut [], &[], &Options::default());
    let total = report.unwrap().total;
    assert_eq!(total.shared_store_wavefronts, 32);
    assert_eq!(total.shared_atomic_wavefronts, 32);
    assert_eq!((total.shared_atomic_requests, total.local_requests), (1, 2));
}
