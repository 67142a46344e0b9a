//! Every op and every model at every level, side by side.
//!
//! `cargo bench -p benches` runs all of it; `cargo bench -p benches -- linear/level2` what has that
//! in its name. Names are `op/level/shape` and `model/level/workload`. `workbook bench-charts` draws
//! what the last run left in `target/criterion`.

mod harness;
mod models;

use harness::Harness;

fn main() -> std::process::ExitCode {
    cli::run(|| {
        let mut harness = Harness::new()?;
        benches::ops::all(&mut harness)?;
        benches::ops::small(&mut harness)?;
        models::all(&mut harness)?;
        harness.finish();
        Ok(())
    })
}
