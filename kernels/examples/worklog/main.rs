//! Counts what each step of a worklog costs, in the simulator:
//!
//! ```text
//! cargo run --release -p kernels --example worklog -- matmul
//! ```

use std::process::ExitCode;

use candle_core::{DType, Device, Tensor};
use kernels::launch::simulated;
use kernels::worklogs::matmul::STEPS;
use simt::{Options, Report};

/// M, N and K: whole tiles of each step.
const SIZE: usize = 128;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args != ["matmul"] {
        eprintln!("error: arguments: expected `matmul`, found {args:?}");
        return ExitCode::from(2);
    }
    match table() {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// A row for each step.
fn table() -> anyhow::Result<String> {
    let operand = || Tensor::rand(-1f32, 1., (SIZE, SIZE), &Device::Cpu)?.to_dtype(DType::F32);
    let (a, b) = (operand()?, operand()?);
    let mut text = format!(
        "C = A·B in f32, simulated at M = N = K = {SIZE}. For 32 multiply-adds: instructions of a warp, 32-byte sectors\n\
         of global memory, and wavefronts of shared memory, of which bank conflicts cause those in parentheses.\n\n\
         step  idea                           instructions  sectors  wavefronts\n"
    );
    for step in &STEPS {
        let (c, reports) = simulated(Options::default(), || step.matmul(&a, &b));
        c?;
        let [report] = &reports[..] else {
            anyhow::bail!("step {}: expected one launch", step.number);
        };
        if let Some(finding) = report.findings.first() {
            anyhow::bail!("step {}: {finding}", step.number);
        }
        text += &row(step.number, step.idea, report);
    }
    Ok(text)
}

fn row(number: usize, idea: &str, report: &Report) -> String {
    let total = &report.total;
    let per = |n: u64| n as f64 / (SIZE * SIZE * SIZE / 32) as f64;
    let sectors = total.global_load_sectors + total.global_store_sectors;
    let wavefronts = total.shared_load_wavefronts + total.shared_store_wavefronts;
    let conflicts = wavefronts - total.shared_load_ideal - total.shared_store_ideal;
    format!(
        "{number:>4}  {idea:<29}  {:>12.2}  {:>7.2}  {:>10.2} ({:.2})\n",
        per(total.warps),
        per(sectors),
        per(wavefronts),
        per(conflicts),
    )
}
