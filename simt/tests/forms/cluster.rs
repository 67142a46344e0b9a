//! Clusters: special registers, addresses of other blocks, atomics there, and which launches are refused.

use simt::{Arg, Buffer, Dim, Launch, Module, Options, Report, Schedule};

use super::floor::note;

/// Words of `out` for each block.
const WORDS: usize = 32;

/// A kernel whose first parameter is `out`; `%to` is thread i's word of the block, `%r` the block's number.
fn text(directive: &str, body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 out)\n{directive}\n{{
        .reg .u32 %i, %r, %x, %y, %n<9>; .reg .u64 %out, %to, %a, %b; .reg .pred %p;
        .shared .align 8 .u32 tile[64];
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        mov.u32 %r, %ctaid.y;
        mov.u32 %x, %nctaid.x;
        mov.u32 %y, %ctaid.x;
        mad.lo.u32 %r, %r, %x, %y;
        mad.lo.u32 %x, %r, {WORDS}, %i;
        mad.wide.u32 %to, %x, 4, %out;
        {body}
        ret;\n}}"
    )
}

fn launch(
    text: &str,
    grid: [u32; 3],
    cluster: Option<[u32; 3]>,
    schedule: Schedule,
) -> simt::Result<(Vec<u32>, Report)> {
    let kernel = Module::parse(text)?.kernel("kernel")?;
    let blocks: u32 = grid.iter().product();
    let mut buffers = [Buffer::u32s("out", &vec![0; WORDS * blocks as usize])];
    let dim = Dim {
        grid,
        block: [WORDS as u32, 1, 1],
        smem: 0,
    };
    let args = [Arg::Buffer(0)];
    let launch = Launch::new(&kernel, dim, &args);
    let launch = cluster.map_or(launch, |c| launch.in_clusters(c));
    let options = Options {
        schedule,
        seed: 1,
        ..Options::default()
    };
    let report = launch.run(&mut buffers, &options)?;
    note(&report);
    Ok((buffers[0].to_u32s(), report))
}

/// The words of each block's first thread; nothing may be found.
fn firsts(text: &str, grid: [u32; 3], cluster: Option<[u32; 3]>) -> Vec<u32> {
    let schedules = [Schedule::PostDominator, Schedule::MaxPc, Schedule::Random];
    let [first, ..] = schedules.map(|schedule| {
        let (out, report) = launch(text, grid, cluster, schedule).unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        out.chunks(WORDS).map(|block| block[0]).collect::<Vec<_>>()
    });
    first
}

#[test]
fn special_registers() {
    // Blocks of a 4×2 grid in clusters of 2×2, in the order of their numbers.
    let read = |register: &str| {
        let body = format!("mov.u32 %x, {register}; st.global.u32 [%to], %x;");
        firsts(&text("", &body), [4, 2, 1], Some([2, 2, 1]))
    };
    assert_eq!(read("%clusterid.x"), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(read("%clusterid.y"), [0; 8]);
    assert_eq!(read("%nclusterid.x"), [2; 8]);
    assert_eq!(read("%nclusterid.y"), [1; 8]);
    assert_eq!(read("%cluster_ctaid.x"), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(read("%cluster_ctaid.y"), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(read("%cluster_nctaid.y"), [2; 8]);
    assert_eq!(read("%cluster_ctarank"), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(read("%cluster_nctarank"), [4; 8]);
}

#[test]
fn whether_clusters_are_explicit() {
    let body = "mov.pred %p, %is_explicit_cluster; selp.u32 %x, 1, 2, %p; st.global.u32 [%to], %x;";
    assert_eq!(firsts(&text("", body), [2, 1, 1], None), [2, 2]);
    assert_eq!(firsts(&text("", body), [2, 1, 1], Some([1, 1, 1])), [1, 1]);
    let required = text(".reqnctapercluster 2\n.explicitcluster", body);
    assert_eq!(firsts(&required, [2, 1, 1], None), [1, 1]);
}

const SYNC: &str = "barrier.cluster.arrive; barrier.cluster.wait;";

/// Each block's rank is read by the block after it, by each way to write the address.
#[test]
fn addresses_of_other_blocks() {
    let next = "mov.u32 %n0, %cluster_ctarank; mov.u32 %n1, %cluster_nctarank; st.shared.u32 [tile+4], %n0;
        add.u32 %n2, %n0, 1; rem.u32 %n2, %n2, %n1;";
    for read in [
        "mov.u32 %n3, tile; mapa.shared::cluster.u32 %n3, %n3, %n2; ld.shared::cluster.u32 %x, [%n3+4];",
        "mapa.shared::cluster.u32 %n3, tile, %n2; ld.relaxed.cluster.shared::cluster.u32 %x, [%n3+4];",
        "mov.u64 %a, tile; mapa.shared::cluster.u64 %a, %a, %n2; ld.shared::cluster.u32 %x, [%a+4];",
        "mov.u64 %a, tile; cvta.shared.u64 %a, %a; mapa.u64 %a, %a, %n2; ld.u32 %x, [%a+4];",
        "mov.u64 %a, tile; cvta.shared.u64 %a, %a; mapa.u64 %a, %a, %n2; cvta.to.shared.u64 %a, %a;
         ld.shared::cluster.u32 %x, [%a+4];",
        "mapa.shared::cluster.u32 %n3, tile, %n2; getctarank.shared::cluster.u32 %x, %n3;",
        "mov.u64 %a, tile; cvta.shared.u64 %a, %a; mapa.u64 %a, %a, %n2; getctarank.u64 %x, %a;",
    ] {
        let body = format!("{next} {SYNC} {read} {SYNC} st.global.u32 [%to], %x;");
        let found = firsts(&text("", &body), [8, 1, 1], Some([4, 1, 1]));
        assert_eq!(found, [1, 2, 3, 0, 1, 2, 3, 0], "{read}");
    }
}

/// A block's own memory is a part of the cluster's.
#[test]
fn own_memory_as_memory_of_the_cluster() {
    for read in [
        "ld.shared::cluster.u32 %x, [tile];",
        "mov.u32 %n0, %cluster_ctarank; mapa.shared::cluster.u32 %n3, tile, %n0; ld.shared.u32 %x, [%n3];",
        "mov.u64 %a, tile; cvta.shared::cluster.u64 %a, %a; ld.u32 %x, [%a];",
        "mov.u64 %a, tile; cvta.shared.u64 %a, %a; isspacep.shared::cta %p, %a; selp.u32 %x, %r, 9, %p;",
        "mov.u64 %a, tile; cvta.shared.u64 %a, %a; mov.u32 %n0, %cluster_ctarank; xor.b32 %n0, %n0, 1;
         mapa.u64 %a, %a, %n0; isspacep.shared::cta %p, %a; selp.u32 %x, 9, %r, %p;",
        "mov.u64 %a, tile; cvta.shared.u64 %a, %a; mov.u32 %n0, %cluster_ctarank; xor.b32 %n0, %n0, 1;
         mapa.u64 %a, %a, %n0; isspacep.shared::cluster %p, %a; selp.u32 %x, %r, 9, %p;",
    ] {
        let body = format!("st.shared.u32 [tile], %r; bar.sync 0; {read} st.global.u32 [%to], %x;");
        let found = firsts(&text("", &body), [4, 1, 1], Some([2, 1, 1]));
        assert_eq!(found, [0, 1, 2, 3], "{read}");
    }
}

/// All threads of a cluster count in the block of rank 0.
#[test]
fn atomics_in_another_block() {
    for update in [
        "red.shared::cluster.add.u32 [%n3], 1;",
        "atom.shared::cluster.add.u32 %y, [%n3], 1;",
        "atom.relaxed.cluster.shared::cluster.inc.u32 %y, [%n3], 0xffffffff;",
        "cvt.u64.u32 %a, %n3; cvta.shared::cluster.u64 %a, %a; atom.add.u32 %y, [%a], 1;",
    ] {
        let body = format!(
            "setp.eq.u32 %p, %i, 0; mov.u32 %x, 0; @%p st.shared.u32 [tile], %x; {SYNC}
            mapa.shared::cluster.u32 %n3, tile, 0; {update} {SYNC} ld.shared.u32 %x, [tile]; st.global.u32 [%to], %x;"
        );
        let found = firsts(&text("", &body), [6, 1, 1], Some([3, 1, 1]));
        assert_eq!(found, [96, 0, 0, 96, 0, 0], "{update}");
    }
}

/// Between arrival and wait a thread does something else; threads that return are not waited for.
#[test]
fn arrivals_apart_from_waits() {
    let body =
        "setp.lt.u32 %p, %i, 7; @%p st.shared.u32 [tile], 5; @%p ret; st.shared.u32 [tile+4], %r;
        barrier.cluster.arrive.release; add.u32 %y, %r, 1; barrier.cluster.wait.acquire;
        st.global.u32 [%to], %y;";
    let (out, report) = launch(
        &text("", body),
        [2, 1, 1],
        Some([2, 1, 1]),
        Schedule::default(),
    )
    .unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!((out[6], out[7], out[WORDS + 31]), (0, 1, 2));
}

#[test]
fn launches_that_no_gpu_takes() {
    let said = |directive: &str, grid: u32, cluster: Option<u32>| {
        let cluster = cluster.map(|n| [n, 1, 1]);
        let ran = launch(
            &text(directive, ""),
            [grid, 1, 1],
            cluster,
            Schedule::default(),
        );
        ran.unwrap_err().to_string()
    };
    assert_eq!(
        said(".reqnctapercluster 4", 6, None),
        "kernel: grid: expected a multiple of a cluster's 4 × 1 × 1 blocks, found 6 × 1 × 1 blocks"
    );
    assert_eq!(
        said(".reqnctapercluster 4", 8, Some(2)),
        "kernel: cluster: expected 4 × 1 × 1 blocks, found 2 × 1 × 1 blocks"
    );
    assert_eq!(
        said(".explicitcluster", 8, None),
        "kernel: cluster: expected a size, because the kernel has .explicitcluster, found none"
    );
    assert_eq!(
        said(".maxclusterrank 4", 8, Some(8)),
        "kernel: cluster: expected 1 to 4 blocks, found 8 × 1 × 1 blocks"
    );
    assert_eq!(
        said("", 32, Some(32)),
        "kernel: cluster: expected 1 to 16 blocks, found 32 × 1 × 1 blocks"
    );
}

/// Each thread stores its number in the next block, where all wait for the bytes.
#[test]
fn stores_that_complete_on_a_barrier() {
    for (store, bytes) in [
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%n4], %x, [%n5]",
            128,
        ),
        (
            "@%p st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%n4], {%x, %y, %x, %x}, [%n5]",
            16,
        ),
        (
            "@%p st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%n4], {%a, %b}, [%n5]",
            16,
        ),
    ] {
        let body = format!(
            ".shared .align 8 .b64 full; .reg .pred %first, %done;
            setp.eq.u32 %first, %i, 0; setp.eq.u32 %p, %i, 4;
            @%first mbarrier.init.shared::cta.b64 [full], 1;
            @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {bytes};
            @%first fence.mbarrier_init.release.cluster;
            {SYNC}
            mov.u32 %n0, %cluster_ctarank; xor.b32 %n0, %n0, 1;
            mov.u32 %n3, tile; mad.lo.u32 %n3, %i, 4, %n3;
            mapa.shared::cluster.u32 %n4, %n3, %n0; mapa.shared::cluster.u32 %n5, full, %n0;
            mad.lo.u32 %x, %r, 100, %i; mov.u32 %y, 7;
            mov.b64 %a, {{%x, %y}}; mov.b64 %b, {{%x, %x}};
            {store};
            wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [full], 0;
            @!%done bra wait;
            setp.lt.u32 %p, %i, 5; @%p ret;
            setp.gt.u32 %p, %i, 7; @%p ret;
            ld.shared.u32 %x, [%n3]; st.global.u32 [%to], %x;"
        );
        let text = text("", &body);
        let (out, report) = launch(&text, [2, 1, 1], Some([2, 1, 1]), Schedule::Random).unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        let expected = if bytes == 128 {
            [105, 106, 107]
        } else {
            [7, 104, 104]
        };
        assert_eq!(out[5..8], expected, "{store}");
        let early = text.replace("@!%done bra wait;", "");
        let (_, report) = launch(&early, [2, 1, 1], Some([2, 1, 1]), Schedule::Random).unwrap();
        assert!(!report.is_clean(), "without the wait");
    }
}
