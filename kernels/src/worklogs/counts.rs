//! What the simulator counts of a step.

use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::mismatch;
use crate::launch::simulated;

/// What a step costs, per unit of work of a warp: 32 multiply-adds of a matmul, 32 elements of a softmax.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// From 1.
    pub step: usize,
    /// The step's idea.
    pub idea: String,
    /// Instructions of a warp.
    pub instructions: f64,
    /// 32-byte sectors of global memory, read or written.
    pub sectors: f64,
    /// Wavefronts of shared memory.
    pub wavefronts: f64,
    /// Wavefronts that bank conflicts add; part of `wavefronts`.
    pub conflicts: f64,
}

/// Simulates `run`, which is one launch of `entry`, and returns its cost per unit of `units`.
///
/// # Errors
/// If the launch fails, or the simulator finds a fault.
pub(super) fn count(
    (step, idea): (usize, &str),
    entry: &str,
    units: usize,
    run: impl FnOnce() -> Result<Tensor>,
) -> Result<Counts> {
    let (result, reports) = simulated(simt::Options::default(), run);
    result?;
    let [report] = &reports[..] else {
        return Err(mismatch(entry, "one launch", reports.len()));
    };
    if let Some(finding) = report.findings.first() {
        return Err(mismatch(entry, "no finding", finding));
    }
    let total = &report.total;
    let wavefronts = total.shared_load_wavefronts + total.shared_store_wavefronts;
    let ideal = total.shared_load_ideal + total.shared_store_ideal;
    let per = |n: u64| n as f64 / units as f64;
    Ok(Counts {
        step,
        idea: idea.into(),
        instructions: per(total.warps),
        sectors: per(total.global_load_sectors + total.global_store_sectors),
        wavefronts: per(wavefronts),
        conflicts: per(wavefronts - ideal),
    })
}

/// The file of a worklog's recorded counts, and how to write it again.
#[cfg(test)]
pub(super) fn recorded(worklog: &str) -> std::io::Result<Vec<Counts>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/generated/worklogs");
    let text = std::fs::read_to_string(format!("{folder}/{worklog}/counts.json"))?;
    Ok(serde_json::from_str(&text)?)
}
