//! The simulator's counts for a step.

use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::mismatch;
use crate::launch::simulated;

/// The cost of a step per unit of work of a warp: 32 multiply-adds of a matmul or of attention, 32 elements of a softmax.
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
    /// Wavefronts that bank conflicts add, over all instructions; part of `wavefronts`.
    pub conflicts: f64,
}

/// Simulates the launches of `run`, and returns their cost per unit of `units`.
///
/// # Errors
/// If the launch fails, or the simulator finds a fault.
pub(super) fn count(
    (step, idea): (usize, &str),
    name: &str,
    units: usize,
    run: impl FnOnce() -> Result<Tensor>,
) -> Result<Counts> {
    let (result, reports) = simulated(simt::Options::default(), run);
    result?;
    if let Some(finding) = reports.iter().find_map(|report| report.findings.first()) {
        return Err(mismatch(name, "no finding", finding));
    }
    let per = |count: fn(&simt::Counts) -> u64| {
        let total: u64 = reports.iter().map(|report| count(&report.total)).sum();
        total as f64 / units as f64
    };
    // One word for many lanes needs fewer wavefronts than their bytes, so conflicts are counted by instruction.
    let added = |n: &simt::Counts| {
        let loads = n.shared_load_wavefronts.saturating_sub(n.shared_load_ideal);
        loads
            + n.shared_store_wavefronts
                .saturating_sub(n.shared_store_ideal)
    };
    let lines = reports.iter().flat_map(|report| &report.lines);
    let conflicts: u64 = lines.map(|line| added(&line.counts)).sum();
    Ok(Counts {
        step,
        idea: idea.into(),
        instructions: per(|n| n.warps),
        sectors: per(|n| n.global_load_sectors + n.global_store_sectors),
        wavefronts: per(|n| n.shared_load_wavefronts + n.shared_store_wavefronts),
        conflicts: conflicts as f64 / units as f64,
    })
}

/// Checks that the recorded counts of a worklog are those of its steps.
#[cfg(test)]
pub(super) fn check_recorded(
    worklog: &str,
    steps: impl Iterator<Item = Result<Counts>>,
) -> Result<()> {
    let folder = crate::testing::kernels_folder().join("generated/worklogs");
    let text = std::fs::read_to_string(folder.join(worklog).join("counts.json"))?;
    let recorded: Vec<Counts> = serde_json::from_str(&text).map_err(candle_core::Error::wrap)?;
    assert_eq!(
        recorded,
        steps.collect::<Result<Vec<_>>>()?,
        "`cargo run --release -p kernels --example worklog -- {worklog} --write` writes them"
    );
    Ok(())
}
