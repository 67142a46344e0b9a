//! A profile as CSV, and as a chart.

use anyhow::Result;
use charts::{Axis, Bar, BarChart, Format, Group};
use levels::Name;
use models::trace::profile::{Limits, Op, Reached};
use results::runs_as_short;
use serde::Serialize;

use super::Profiled;
use crate::compare::significant;

/// The profiled subject, repeated in each row.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// `lm`, `vit` or `gnn`.
    pub model: &'a str,
    /// `tiny`, a preset, or a folder.
    pub name: &'a str,
    /// Level of optimisation.
    pub level: &'a Name,
    /// dtype of weights and activations.
    pub dtype: &'a str,
    /// Whether it ran on a GPU.
    pub on_gpu: bool,
}

impl Subject<'_> {
    /// `lm tiny, level 4 (Rust twin)`, or `lm tiny, mine` for a learner's level.
    pub fn title(&self) -> String {
        let (model, name, level) = (self.model, self.name, self.level.label());
        match runs_as_short(self.level.number().into(), self.on_gpu) {
            "" => format!("{model} {name}, {level}"),
            runs_as => format!("{model} {name}, {level} ({runs_as})"),
        }
    }
}

/// An op of a workload; rates and limits are empty if the op does not give its needs.
#[derive(Serialize)]
struct Row<'a> {
    model: &'a str,
    name: &'a str,
    level: String,
    dtype: &'a str,
    workload: &'a str,
    op: &'a str,
    kernels: String,
    calls: f64,
    ms_median: f64,
    ms_low: f64,
    ms_high: f64,
    share: f64,
    bytes: Option<f64>,
    flops: Option<f64>,
    gb_per_s: Option<f64>,
    gflop_per_s: Option<f64>,
    limit: Option<String>,
    /// Above 1 if the operands were in caches.
    fraction_of_limit: Option<f64>,
    /// Milliseconds of the whole on the host; empty if ops of it were simulated.
    whole_ms: Option<f64>,
    /// Milliseconds of the whole on the device, which is then also the clock of the op's times.
    whole_device_ms: Option<f64>,
    peak_bytes: u64,
}

/// Formats a header and one row per workload and op, in execution order.
pub fn csv(subject: Subject, all: &[Profiled], limits: &Limits) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(vec![]);
    for profiled in all {
        for op in &profiled.profile.ops {
            writer.serialize(row(subject, profiled, op, limits))?;
        }
    }
    Ok(writer.into_inner()?)
}

fn row<'a>(subject: Subject<'a>, profiled: &'a Profiled, op: &'a Op, limits: &Limits) -> Row<'a> {
    let fraction = op.fraction(limits);
    Row {
        model: subject.model,
        name: subject.name,
        level: subject.level.to_string(),
        dtype: subject.dtype,
        workload: &profiled.workload,
        op: op.name,
        kernels: op.kernels.join(" + "),
        calls: op.calls,
        ms_median: op.ms.median,
        ms_low: op.ms.low,
        ms_high: op.ms.high,
        share: profiled.profile.share(op),
        bytes: op.needs.map(|needs| needs.bytes),
        flops: op.needs.map(|needs| needs.flops),
        gb_per_s: op.gb_per_s(),
        gflop_per_s: op.gflop_per_s(),
        limit: fraction.map(|(_, limit)| limit.to_string()),
        fraction_of_limit: fraction.map(|(fraction, _)| fraction),
        whole_ms: (profiled.simulated.is_empty()).then_some(profiled.profile.whole.median),
        whole_device_ms: profiled.profile.device.map(|device| device.whole.median),
        peak_bytes: profiled.peak_bytes,
    }
}

/// Draws the time share of each op, one bar per workload, the slowest op first.
pub fn chart(title: String, all: &[Profiled], limits: &Limits, format: Format) -> Result<Vec<u8>> {
    let mut names: Vec<&str> = vec![];
    for op in all.iter().flat_map(|profiled| &profiled.profile.ops) {
        if !names.contains(&op.name) {
            names.push(op.name);
        }
    }
    let group = |name: &str| Group {
        name: name.into(),
        bars: (all.iter())
            .filter_map(|profiled| bar(profiled, name, limits))
            .collect(),
    };
    let mut groups: Vec<Group> = names.into_iter().map(group).collect();
    let longest = |group: &Group| group.bars.iter().map(|bar| bar.value).fold(0., f64::max);
    groups.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    let chart = BarChart {
        title,
        axis: Axis::linear("share of the time of all ops (%)"),
        mark: None,
        groups,
    };
    Ok(charts::bar_chart_bytes(&chart, format)?)
}

fn bar(profiled: &Profiled, name: &str, limits: &Limits) -> Option<Bar> {
    let profile = &profiled.profile;
    let op = profile.ops.iter().find(|op| op.name == name)?;
    let share = 100. * profile.share(op);
    let limit = match op.fraction(limits) {
        Some((fraction, limit)) => match Reached::of(fraction, limit) {
            Reached::Share(share) => format!(" · {:.0}% of {limit}", 100. * share),
            Reached::All => format!(" · at the limit of {limit}"),
            Reached::InCache => " · in cache".into(),
        },
        None => String::new(),
    };
    Some(Bar {
        name: profiled.workload.clone(),
        value: share,
        spread: (share, share),
        label: format!("{} ms{limit}", significant(op.ms.median)),
    })
}
