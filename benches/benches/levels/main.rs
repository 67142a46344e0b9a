//! Every op and every model at every level, side by side.
//!
//! `cargo bench -p benches` runs all of it; `cargo bench -p benches -- linear/level2` what has that
//! in its name. Names are `op/level/shape` and `model/level/workload`; on a GPU `level4` is the host's time, `level4_device` the
//! device's own and `level4_graph` that of a call inside a CUDA graph. `workbook bench-charts` draws
//! what the last run left in `target/criterion`.

mod harness;
mod models;
mod rates;

use harness::Harness;

fn main() -> std::process::ExitCode {
    cli::run(|| {
        let mut harness = Harness::new()?;
        benches::ops::limits(&mut harness)?;
        benches::ops::all(&mut harness)?;
        benches::ops::small(&mut harness)?;
        models::all(&mut harness)?;
        harness.finish()
    })
}
