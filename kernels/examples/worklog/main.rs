//! Counts what each step of a worklog costs, in the simulator, and times it on a GPU:
//!
//! ```text
//! cargo run --release -p kernels --example worklog -- matmul
//! cargo run --release -p kernels --example worklog -- matmul --write    also records the counts
//! ```
//!
//! With the feature `cuda` it times the steps on the first GPU, next to the recorded times. `workbook worklog` times
//! them with more care, in turns with cuBLAS, and records them.

mod recorded;
#[cfg(feature = "cuda")]
mod times;

use std::process::ExitCode;

use kernels::worklogs::matmul::{COUNTED, Counts, STEPS, Step};
use recorded::Recorded;

/// File of the recorded counts.
const COUNTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/generated/worklogs/matmul/counts.json"
);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let write = match args[..] {
        ["matmul"] => false,
        ["matmul", "--write"] => true,
        _ => {
            eprintln!("error: arguments: expected `matmul`, and `--write` or nothing, found {args:?}");
            return ExitCode::from(2);
        }
    };
    match print(write) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn print(write: bool) -> anyhow::Result<()> {
    println!(
        "C = A·B in f32, simulated at M = N = K = {COUNTED}. For 32 multiply-adds: instructions of a warp, 32-byte\n\
         sectors of global memory, and wavefronts of shared memory; bank conflicts cause those in parentheses.\n\n\
         step  idea                           instructions  sectors  wavefronts"
    );
    let mut all = vec![];
    for step in &STEPS {
        let counts = step.counts()?;
        println!("{}", row(step, &counts));
        all.push(counts);
    }
    if write {
        std::fs::write(COUNTS, serde_json::to_string_pretty(&all)? + "\n")?;
        println!("\nwritten  {COUNTS}");
    }
    let mut columns = recorded::all()?;
    columns.extend(here()?);
    if !columns.is_empty() {
        println!("\n{}", throughputs(&columns));
    }
    Ok(())
}

fn row(step: &Step, counts: &Counts) -> String {
    format!(
        "{:>4}  {:<29}  {:>12.2}  {:>7.2}  {:>10.2} ({:.2})",
        step.number,
        step.idea,
        counts.instructions,
        counts.sectors,
        counts.wavefronts,
        counts.conflicts,
    )
}

/// What a GPU of this machine takes.
#[cfg(feature = "cuda")]
fn here() -> anyhow::Result<Option<Recorded>> {
    times::here().map(Some)
}

#[cfg(not(feature = "cuda"))]
fn here() -> anyhow::Result<Option<Recorded>> {
    Ok(None)
}

/// TFLOP/s of each step and each GPU, and percent of cuBLAS.
fn throughputs(columns: &[Recorded]) -> String {
    let mut text = "TFLOP/s, and percent of cuBLAS in the same arithmetic:\n\nstep".to_string();
    for column in columns {
        text += &format!("  {:>26}", column.name);
    }
    for step in &STEPS {
        text += &format!("\n{:>4}", step.number);
        for column in columns {
            let cell = column.cell(step.number).unwrap_or_else(|| "–".into());
            text += &format!("  {cell:>26}");
        }
    }
    text
}
