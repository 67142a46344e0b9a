//! The charts of a report, as SVG for the page itself.

use anyhow::Result;
use charts::{
    Axis, Bar, BarPanels, Group, Intensity, Measured, MeasuredChart, Roof, RooflineChart,
};
use cli::h200;
use results::{Clock, Row};

use super::Report;
use crate::compare::significant;

/// The speed of whole models: a panel per workload, a bar per level.
pub fn speed(report: &Report) -> Result<String> {
    let results = &report.whole.results;
    let bar = |row: &Row| Bar {
        name: row.variant(),
        value: row.speedup,
        spread: (row.speedup, row.speedup),
        label: format!("{:.2}× ({} ms)", row.speedup, significant(row.median_ms)),
    };
    let panel = |rows: &[Row]| Group {
        name: rows[0].title(),
        bars: (rows.iter().filter(|row| results.is_shown(row, Clock::Host)))
            .map(bar)
            .collect(),
    };
    let chart = BarPanels {
        title: format!("Speed of {} and the levels", report.level),
        axis: Axis::linear("median time of level 1 / median time of the level"),
        panels: results.workloads().map(panel).collect(),
    };
    Ok(charts::svg_text(&chart)?)
}

/// The methods that were replaced below this machine's roof; `None` if none of them computes and was timed.
pub fn roofline(report: &Report) -> Result<Option<String>> {
    let roof = Roof {
        name: report.machine.name.clone(),
        bandwidth: report.whole.bytes_per_s / 1e12,
        peak: report.whole.flops_per_s / 1e12,
    };
    let mut kernels = vec![];
    for method in report.replaced().filter(|method| method.flops > 0) {
        let Some(times) = &method.times else { continue };
        let rate = |ms: f64| method.flops as f64 / ms / 1e9;
        let levels = times.levels.values().map(|ms| Some(rate(*ms)));
        kernels.push(Measured {
            name: method.name.replace('_', " "),
            intensity: method.flops as f64 / method.bytes as f64,
            rates: levels.chain([times.own_ms.map(rate)]).collect(),
        });
    }
    if kernels.is_empty() {
        return Ok(None);
    }
    let numbers = report.methods.iter().find_map(|m| m.times.as_ref());
    let numbers = numbers.into_iter().flat_map(|times| times.levels.keys());
    let series = numbers.map(|number| format!("level {number}"));
    let chart = MeasuredChart {
        title: format!("Roofline of {} on {}", report.level, roof.name),
        note: roof.as_measured(),
        roof,
        series: series.chain([report.level.clone()]).collect(),
        kernels,
    };
    Ok(Some(charts::svg_text(&chart)?))
}

/// Kernels of the level below a GPU's roof, at the intensity that the simulator counted; `None` without kernels.
pub fn simulated(report: &Report) -> Result<Option<String>> {
    let intensity = |method: &super::Method| {
        let counts = method.counts.filter(|counts| counts.launches > 0)?;
        let value = counts.flops as f64 / counts.bytes as f64;
        let name = method.name.clone();
        (counts.flops > 0 && counts.bytes > 0).then_some(Intensity { name, value })
    };
    let kernels: Vec<Intensity> = report.replaced().filter_map(intensity).collect();
    if kernels.is_empty() {
        return Ok(None);
    }
    let roof = h200();
    let chart = RooflineChart {
        title: format!(
            "Your kernels below the roof of {}: {} TB/s, {} TFLOP/s",
            roof.name, roof.bandwidth, roof.peak
        ),
        roof,
        kernels,
        note: "No time was measured: a dot marks the maximum at the FLOPs per byte that the simulator counted.".into(),
    };
    Ok(Some(charts::svg_text(&chart)?))
}
