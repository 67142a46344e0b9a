//! candle's RMSNorm and softmax next to ours, counted in the simulator: `counters/candle_reduce.txt`, which the book shows.
//!
//! `CANDLEPOWER_UPDATE=1 cargo test -p kernels --test candle_reduce --features cuda` writes it again. candle's PTX comes
//! from the build of the crate `candle-kernels`, so without the feature, or without nvcc, only our rows are checked.

#[path = "../../tests/src/skip.rs"]
mod skip;

use std::path::Path;
use std::{env, fs};

use candle_core::{Device, Result, Tensor};
use kernels::functions::Functions;
use kernels::launch::simulated;
use simt::{Options, Report};
use skip::skip;

const ROWS: usize = 4;
const COLUMNS: [usize; 3] = [512, 1000, 2048];
const OPS: [&str; 2] = ["rms_norm", "softmax"];

#[test]
fn the_book_shows_what_is_counted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("counters/candle_reduce.txt");
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let table = table(&recorded);
    if env::var_os("CANDLEPOWER_UPDATE").is_some() {
        fs::write(&path, table).unwrap();
    } else {
        assert_eq!(table, recorded, "CANDLEPOWER_UPDATE=1 writes it again");
    }
}

/// The table. Rows of candle that cannot be counted here are those of `recorded`.
fn table(recorded: &str) -> String {
    let ptx = candle_ptx();
    if ptx.is_none() {
        skip(
            "candle's reduce kernels in the simulator",
            "it needs --features cuda and nvcc",
        );
    }
    let mut text = format!(
        "{:<30}{:>6}{:>13}{:>12}{:>11}{:>13}{:>9}\n",
        "4 rows, f32", "warps", "loads", "load", "store", "wavefronts", "barriers"
    );
    text += &format!(
        "{:<30}{:>6}{:>13}{:>12}{:>11}{:>13}{:>9}\n",
        "", "a row", "(requests)", "sectors", "sectors", "(shared)", "a warp"
    );
    for op in OPS {
        for columns in COLUMNS {
            let name = format!("{op} {columns}, candle 0.11.1");
            let report = ptx.as_ref().map(|ptx| of_candle(ptx, op, columns));
            match report {
                Some(report) => text += &row(&name, &report),
                None => text += &kept(recorded, &name),
            }
            for functions in &kernels::functions::functions()[..2] {
                let name = format!("{op} {columns}, level {}", functions.level);
                text += &row(&name, &ours(functions, op, columns).unwrap());
            }
        }
    }
    text
}

/// The row that is recorded under this name.
fn kept(recorded: &str, name: &str) -> String {
    let row = recorded.lines().find(|line| line.starts_with(name));
    format!("{}\n", row.unwrap_or(name))
}

fn row(name: &str, report: &Report) -> String {
    assert!(report.findings.is_empty(), "{name}: {}", report.findings[0]);
    let barriers = report.lines.iter().filter(|l| l.form.starts_with("bar"));
    let barriers: u64 = barriers.map(|line| line.counts.warps).sum();
    let blocks: u32 = report.grid.iter().product();
    let warps = report.block.iter().product::<u32>().div_ceil(32) * blocks;
    let c = &report.total;
    format!(
        "{name:<30}{:>6}{:>13}{:>12}{:>11}{:>13}{:>9}\n",
        warps / ROWS as u32,
        c.global_load_requests,
        c.global_load_sectors,
        c.global_store_sectors,
        c.shared_load_wavefronts + c.shared_store_wavefronts,
        barriers / u64::from(warps),
    )
}

/// The launch of a level.
fn ours(functions: &Functions, op: &str, columns: usize) -> Result<Report> {
    let x = Tensor::randn(0f32, 1., (ROWS, columns), &Device::Cpu)?;
    let w = Tensor::randn(0f32, 1., columns, &Device::Cpu)?;
    let (y, mut reports) = simulated(Options::default(), || match op {
        "rms_norm" => (functions.rms_norm)(&x, &w, 1e-5),
        _ => (functions.softmax)(&x, 1.),
    });
    y?;
    assert_eq!(reports.len(), 1);
    Ok(reports.remove(0))
}

/// candle's launch, with the grid and the block of `candle_nn::ops`.
fn of_candle(ptx: &simt::Module, op: &str, columns: usize) -> Report {
    let array = |length, contents| format!("--arg f32:{length}:{contents}");
    let [x, y] = ["random", "poison"].map(|contents| array(ROWS * columns, contents));
    let flags = match op {
        "rms_norm" => {
            let block = if columns < 1024 { 32 } else { 1024 };
            let w = array(columns, "random");
            let sizes = format!("--arg i32:{columns} --arg i32:{block} --arg f32:1e-5");
            format!("--entry rmsnorm_f32 --block {block} {x} {y} {w} {sizes}")
        }
        _ => format!("--entry softmax_f32 --block 1,32 {x} {y} --arg i32:{columns}"),
    };
    let case = simt::Case::parse(&format!("{flags} --grid {ROWS}")).unwrap();
    let mut operands = case.operands(0, Path::new(".")).unwrap();
    let kernel = case.kernel(ptx).unwrap();
    let (dim, buffers) = (operands.dim, &mut operands.buffers);
    let report = kernel.launch(dim, buffers, &operands.args, &Options::default());
    report.unwrap()
}

/// The PTX that nvcc made of candle's `reduce.cu`.
#[cfg(feature = "cuda")]
fn candle_ptx() -> Option<simt::Module> {
    let text = candle_kernels::REDUCE.ptx();
    // A stub of nvcc, which is enough for clippy, writes none.
    text.contains(".entry")
        .then(|| simt::Module::parse(text).unwrap())
}

#[cfg(not(feature = "cuda"))]
fn candle_ptx() -> Option<simt::Module> {
    None
}
