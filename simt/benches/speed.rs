//! Speed of the machine in lane-instructions per second, for two matmuls with all checks on.
//!
//!     RAYON_NUM_THREADS=1 cargo bench -p simt
//!
//! A lane-instruction is an instruction executed by one active thread: `total.threads` of the report. The
//! measured time includes buffers and report.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use simt::{Arg, Buffer, Dim, Kernel, Module, Options, Report};

/// Compiled from `sgemm.cu` in this folder.
const PTX: &str = include_str!("sgemm.ptx");

struct Case {
    entry: &'static str,
    n: u32,
    /// Rows and columns of a block's tile.
    tile: u32,
    block: [u32; 3],
}

const NAIVE: Case = Case {
    entry: "naive",
    n: 0,
    tile: 16,
    block: [16, 16, 1],
};
const TILED: Case = Case {
    entry: "tiled",
    n: 0,
    tile: 64,
    block: [256, 1, 1],
};
const CASES: [Case; 4] = [
    Case { n: 64, ..NAIVE },
    Case { n: 128, ..NAIVE },
    Case { n: 64, ..TILED },
    Case { n: 256, ..TILED },
];

impl Case {
    fn kernel(&self) -> Kernel {
        Module::parse(PTX).unwrap().kernel(self.entry).unwrap()
    }

    /// C = A·B of small integers, whose sums are exact.
    fn run(&self, kernel: &Kernel) -> (Buffer, Report) {
        let n = self.n as usize;
        let matrix = |m: usize| -> Vec<f32> { (0..n * n).map(|i| (i % m) as f32).collect() };
        let mut buffers = [
            Buffer::uninitialised("c", 4 * n * n),
            Buffer::f32s("a", &matrix(7)),
            Buffer::f32s("b", &matrix(5)),
        ];
        let args = [
            Arg::Buffer(0),
            Arg::Buffer(1),
            Arg::Buffer(2),
            Arg::U32(self.n),
        ];
        let dim = Dim {
            grid: [self.n / self.tile, self.n / self.tile, 1],
            block: self.block,
            smem: 0,
        };
        let report = kernel.launch(dim, &mut buffers, &args, &Options::default());
        let [c, ..] = buffers;
        (c, report.unwrap())
    }

    /// Checks that there are no findings and that C is correct.
    fn check(&self, (c, report): (Buffer, Report)) -> u64 {
        assert!(report.is_clean(), "{}: {:?}", self.entry, report.findings);
        let n = self.n as usize;
        let element = |row: usize, column: usize| -> f32 {
            (0..n)
                .map(|k| ((row * n + k) % 7 * ((k * n + column) % 5)) as f32)
                .sum()
        };
        for (i, &c) in c.to_f32s().iter().enumerate() {
            assert_eq!(c, element(i / n, i % n), "{} {i}", self.entry);
        }
        report.total.threads
    }
}

fn speed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sgemm");
    for case in &CASES {
        let kernel = case.kernel();
        let lane_instructions = case.check(case.run(&kernel));
        group.throughput(Throughput::Elements(lane_instructions));
        let id = BenchmarkId::new(case.entry, case.n);
        group.bench_function(id, |b| b.iter(|| case.run(&kernel)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(3));
    targets = speed
}
criterion_main!(benches);
