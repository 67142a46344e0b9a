//! Roofline charts: throughput of each op at each level, below the roof that was measured in the same run.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use benches::ops::ops;
use candle_core::DType;
use charts::{Measured, MeasuredChart, Roof};
use models::trace::profile::Limits;
use results::bound::{ARITHMETIC, LIMITS, MEMORY};
use results::{OpResults, OpRow};

use crate::record::folder::{Drawing, draw};

/// Microseconds of a second.
const SECOND: f64 = 1e6;

/// The limits as rows: bytes and FLOPs of one second.
pub fn rows(limits: &Limits, dtype: DType) -> [OpRow; 2] {
    let row = |shape: &str, bytes, flops| OpRow {
        op: LIMITS.into(),
        shape: shape.into(),
        level: LIMITS.into(),
        dtype: dtype.as_str().into(),
        host_us: SECOND,
        bytes,
        flops,
        ..OpRow::default()
    };
    [
        row(MEMORY, Some(limits.bytes_per_s as u64), None),
        row(ARITHMETIC, None, Some(limits.flops_per_s as u64)),
    ]
}

/// Draws every record of `benches/results/ops` that holds limits as `charts/NAME-roofline-DTYPE`. A record
/// without limits, or without ops that do arithmetic, is skipped by name.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        let charts = charts(recorded);
        if charts.is_empty() {
            data::note(format_args!(
                "skipped: no roofline of ops/{name}.json: it has no limits, or no ops that do arithmetic"
            ));
        }
        for (dtype, chart) in charts {
            drawn.push(draw(root, name, &format!("roofline-{dtype}"), &chart)?);
        }
    }
    Ok(drawn)
}

/// One chart per dtype.
fn charts(recorded: &OpResults) -> Vec<(String, MeasuredChart)> {
    let dtypes: BTreeSet<&str> = recorded.rows.iter().map(|row| row.dtype.as_str()).collect();
    let chart = |dtype: &str| Some((dtype.to_string(), chart(recorded, dtype)?));
    dtypes.into_iter().filter_map(chart).collect()
}

fn chart(recorded: &OpResults, dtype: &str) -> Option<MeasuredChart> {
    let rows: Vec<&OpRow> = recorded
        .rows
        .iter()
        .filter(|row| row.dtype == dtype)
        .collect();
    let limit = |shape: &str| {
        rows.iter()
            .find(|row| row.op == LIMITS && row.shape == shape)
    };
    let (bandwidth, peak) = (
        limit(MEMORY)?.bytes? as f64,
        limit(ARITHMETIC)?.flops? as f64,
    );
    let needed: Vec<&OpRow> = rows
        .into_iter()
        .filter(|row| row.needs_flops.is_some() && is_shown(&row.op, &row.shape))
        .collect();
    let levels: BTreeSet<&str> = needed.iter().map(|row| row.level.as_str()).collect();
    let levels: Vec<&str> = levels.into_iter().collect();
    let name = &recorded.machine.name;
    let roof = Roof {
        name: name.clone(),
        bandwidth: bandwidth / 1e12,
        peak: peak / 1e12,
    };
    let kernels: Vec<Measured> = needed
        .chunk_by(|a, b| (&a.op, &a.shape) == (&b.op, &b.shape))
        .filter_map(|rows| kernel(rows, &levels))
        .collect();
    if kernels.is_empty() {
        return None;
    }
    let any_in_graph = needed.iter().any(|row| row.cuda_graph_us.is_some());
    let times = if any_in_graph {
        " Times: CUDA graph, else device."
    } else {
        ""
    };
    Some(MeasuredChart {
        title: format!("Roofline of ops in {dtype} on {name}"),
        note: roof.as_measured() + times,
        roof,
        kernels,
        series: (levels.iter())
            .map(|level| recorded.machine.label(level))
            .collect(),
    })
}

/// The ops that have FLOPs, each on one shape: points of more would hide each other.
fn shown() -> impl Iterator<Item = (&'static str, &'static str)> {
    ops().filter_map(|op| Some((op.name, op.in_roofline?)))
}

fn is_shown(op: &str, shape: &str) -> bool {
    shown().any(|shown| shown == (op, shape))
}

/// One op on one shape: its rates at `levels`; none of an op that computes nothing.
fn kernel(rows: &[&OpRow], levels: &[&str]) -> Option<Measured> {
    let some = |n: &u64| *n > 0;
    let bytes = rows[0].needs_bytes.filter(some)? as f64;
    let flops = rows[0].needs_flops.filter(some)? as f64;
    let rate = |level: &&str| {
        let row = rows.iter().find(|row| row.level == *level)?;
        Some(flops / row.us() / 1e6)
    };
    Some(Measured {
        name: rows[0].op.replace('_', " "),
        intensity: flops / bytes,
        rates: levels.iter().map(rate).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Machine;

    fn results() -> OpResults {
        let limits = Limits {
            bytes_per_s: 20e9,
            flops_per_s: 200e9,
        };
        let row = |level: &str, host_us: f64| OpRow {
            op: "linear".into(),
            shape: "128x512x512".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us,
            needs_bytes: Some(1_000_000),
            needs_flops: Some(50_000_000),
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default());
        results.rows.extend(rows(&limits, DType::F32));
        results
            .rows
            .extend([row("level1", 1000.), row("level5", 500.)]);
        results
    }

    #[test]
    fn a_kernel_has_a_point_a_level() {
        let charts = charts(&results());
        let [(dtype, chart)] = &charts[..] else {
            panic!("expected one chart, found {}", charts.len());
        };
        assert_eq!(dtype, "f32");
        assert_eq!(chart.series, ["level 1", "level 5 (Rust twin)"]);
        assert_eq!((chart.roof.bandwidth, chart.roof.peak), (0.02, 0.2));
        let expected = Measured {
            name: "linear".into(),
            intensity: 50.,
            rates: vec![Some(0.05), Some(0.1)],
        };
        assert_eq!(chart.kernels, [expected]);
    }

    /// An op that no GPU has timed yet has no rows at all.
    #[test]
    fn every_op_that_is_shown_is_recorded() -> Result<()> {
        let json = crate::compare::root()?.join("benches/results/ops/h200.json");
        let recorded = OpResults::load(&json)?;
        for (op, shape) in shown() {
            let mut rows = recorded.rows.iter().filter(|row| row.op == op).peekable();
            let known = rows.peek().is_none() || rows.any(|row| row.shape == shape);
            assert!(known, "{op} {shape}");
        }
        Ok(())
    }

    #[test]
    fn every_op_that_is_shown_is_timed() -> Result<()> {
        let timed = crate::ops::tests::timed()?;
        for (op, shape) in shown() {
            assert!(timed.contains(&(op.into(), shape.into())), "{op} {shape}");
        }
        Ok(())
    }

    #[test]
    fn a_record_without_limits_or_ops_has_no_roof() {
        for limits in [false, true] {
            let mut results = results();
            results.rows.retain(|row| (row.op == LIMITS) == limits);
            assert!(charts(&results).is_empty());
        }
    }
}
