//! Runs the calls of all ops (`kernels/src/OP/calls.rs`), and prints what was launched, one JSON object per launch:
//!
//! ```text
//! cargo run --release -p kernels --example counters -- sim             simulated, with what was counted
//! cargo run --release -p kernels --example counters -- sim softmax     the cases with `softmax` in their names
//! counters cuda                                                        on a GPU; a build with the feature `cuda`
//! ```
//!
//! `scripts/ncu.py` runs it on a GPU under Nsight Compute and writes next to each launch what was read there.

use std::process::ExitCode;

use candle_core::{Device, Result};
use kernels::calls::Case;
use kernels::cuda_graph;
use kernels::launch::{noted, simulated};
use serde_json::{Value, json};
use simt::Options;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (device, filter) = match &args[..] {
        [device] => (device.as_str(), ""),
        [device, filter] => (device.as_str(), filter.as_str()),
        _ => return complain(2, "arguments: expected sim or cuda, and a filter or none"),
    };
    let gpu = match device {
        "sim" => None,
        "cuda" => match cuda_graph::open(0) {
            Ok(gpu) => Some(gpu),
            Err(e) => return complain(1, &format!("cuda: {e}")),
        },
        other => return complain(2, &format!("device: expected sim or cuda, found {other:?}")),
    };
    let mut lines = vec![];
    for case in kernels::calls().cases {
        if !case.name.contains(filter) {
            continue;
        }
        let launches = match &gpu {
            Some(gpu) => on_gpu(&case, gpu),
            None => in_simulator(&case),
        };
        match launches {
            Ok(launches) => lines.extend(launches.iter().map(Value::to_string)),
            Err(e) => return complain(1, &format!("{}: {e}", case.name)),
        }
    }
    println!("[\n{}\n]", lines.join(",\n"));
    ExitCode::SUCCESS
}

fn complain(code: u8, line: &str) -> ExitCode {
    eprintln!("error: {}", line.lines().next().unwrap_or_default());
    ExitCode::from(code)
}

/// Runs the case in the simulator and returns its launches with their counts.
fn in_simulator(case: &Case) -> Result<Vec<Value>> {
    let ((ran, reports), launches) =
        noted(|| simulated(Options::default(), || case.run(&Device::Cpu)));
    ran?;
    let findings = reports.iter().flat_map(|r| &r.findings);
    findings.for_each(|finding| eprintln!("{}: {finding}", case.name));
    let line = |(l, r): (&trace::Launched, &simt::Report)| {
        let mut line = described(case, l);
        line["counted"] = json!(r.total);
        line
    };
    Ok(launches.iter().zip(&reports).map(line).collect())
}

/// Runs the case on the GPU and returns its launches. The profiler counts them.
fn on_gpu(case: &Case, gpu: &Device) -> Result<Vec<Value>> {
    let (ran, launches) = noted(|| case.run(gpu));
    ran?;
    gpu.synchronize()?;
    Ok(launches.iter().map(|l| described(case, l)).collect())
}

/// Describes a launch, with the shared memory of a block in bytes.
fn described(case: &Case, l: &trace::Launched) -> Value {
    json!({"case": case.name, "entry": l.kernel, "grid": l.grid, "block": l.block, "smem": l.smem})
}
