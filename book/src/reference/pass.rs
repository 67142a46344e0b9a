//! The times of a pass of level 5: a whole model with it and without it, as `workbook ablation` recorded them.

use super::remarks::Remarks;
use super::slower::{NOTABLE, times_as_long};
use super::table::time;
use crate::chart::figure;
use crate::format::ratio;
use crate::library::Library;
use crate::markdown;
use crate::ops::ONE_BY_ONE;
use crate::table::machine;
use anyhow::{Context, Result};
use charts::{Axis, Bar, BarPanels, Group};
use results::{Clock, Machine, Results, Row, earlier};

/// The clocks, in the order of the table, and their names.
const CLOCKS: [(Clock, &str); 2] = [(Clock::Device, "device"), (Clock::Host, "host")];

/// The times of models with a pass and without it, on each machine where it ran; nothing for another op.
pub fn times(pass: &str, library: &mut Library, remarks: &Remarks) -> Result<String> {
    let mut text = String::new();
    for on in library.ablations.names()? {
        let ablation = library.ablations.on(&on)?.recorded;
        let workloads = workloads(ablation, library.models.recorded(&on)?, pass)?;
        if workloads.is_empty() {
            continue;
        }
        let is_folded = !text.is_empty();
        text += &head(&ablation.machine);
        let about = remarks.about(pass);
        text.extend(about.map(|about| format!("{about}\n\n")));
        let shown = format!("{}\n{}\n", chart(&workloads)?, table(&workloads));
        text += &if is_folded {
            let name = &ablation.machine.name;
            markdown::folded(&format!("Chart and table: {pass} on {name}"), &shown)
        } else {
            shown
        };
        text += &slower(&workloads);
    }
    Ok(text)
}

/// The heading of a machine, and how to read a pass's chart and table.
fn head(on: &Machine) -> String {
    format!(
        "## {}\n\nNo run times the pass alone. These are median times in µs of a forward pass of the whole model, in a CUDA \
         graph: at level 4, and at level 5 without the pass and with it; the fastest is bold. `workbook ablation` timed both \
         variants of level 5 in turns. *Ratio* is the time without the pass divided by the time with it. A workload has a \
         row if the pass runs in it; a record shows this by the last bits of the logits, which change without the pass.\n\n<p>{}.</p>\n\n",
        on.name,
        machine(on)
    )
}

/// A workload that runs the pass.
struct Workload<'r> {
    /// Level 5.
    with: &'r Row,
    /// Level 5 without the pass.
    without: &'r Row,
    /// Level 4, with the commit of its measurement where it is another than the ablation's.
    level4: Option<Row>,
}

/// The workloads of an ablation that run a pass, f32 before bf16: those whose logits change without it. Level 4 is from the
/// record of whole models on the same machine with the same versions.
fn workloads<'r>(
    ablation: &'r Results,
    models: Option<&Results>,
    pass: &str,
) -> Result<Vec<Workload<'r>>> {
    let models = models.filter(|models| models.machine.is_like(&ablation.machine));
    let system = format!("without_{pass}");
    let is_without = |row: &&Row| row.system.as_deref() == Some(&system);
    let runs = |row: &&Row| row.max_difference > 0.;
    let mut found = vec![];
    for without in ablation.rows.iter().filter(is_without).filter(runs) {
        let title = without.title();
        let is_whole = |row: &&Row| row.system.is_none() && row.title() == title;
        let with = ablation.rows.iter().find(is_whole);
        found.push(Workload {
            with: with.with_context(|| format!("expected level 5 on {title}, found none"))?,
            without,
            level4: models.and_then(|models| level4(models, ablation, &title)),
        });
    }
    found.sort_by_key(|workload| workload.with.dtype != "f32");
    Ok(found)
}

/// Level 4 on a workload, in a CUDA graph where it was recorded in one.
fn level4(models: &Results, ablation: &Results, title: &str) -> Option<Row> {
    let is_level4 = |row: &&Row| row.level == 4 && row.title() == title;
    let rows = models.rows.iter().filter(is_level4);
    let row = rows.max_by_key(|row| row.cuda_graph)?;
    let origin = models.machine.origin_of(row);
    Some(Row {
        origin: (origin != ablation.machine.origin()).then_some(origin),
        ..row.clone()
    })
}

impl Workload<'_> {
    /// `readme decode, bf16`
    fn name(&self) -> String {
        let row = self.with;
        format!("{} {}, {}", row.preset, row.workload, row.dtype)
    }

    /// How many times as long the model takes without the pass.
    fn ratio(&self, clock: Clock) -> Option<f64> {
        Some(self.without.ms(clock)? / self.with.ms(clock)?)
    }

    /// A line of the table.
    fn line(&self, clock: Clock) -> String {
        let rows = [self.level4.as_ref(), Some(self.without), Some(self.with)];
        let us = |row: &Row| Some(row.ms(clock)? * 1e3);
        let times = rows.iter().flatten().filter_map(|row| us(row));
        let fastest = times.fold(f64::INFINITY, f64::min);
        let cell = |row: Option<&Row>| {
            let row = row?;
            let is_alone = row.level == 4 && !row.cuda_graph;
            Some(time(us(row)?, fastest, is_alone))
        };
        let cells = rows.into_iter().map(cell);
        markdown::line(&self.name(), cells.chain([self.ratio(clock).map(ratio)]))
    }

    /// Where the model is slower with the pass.
    fn slower(&self, clock: Clock, clock_name: &str) -> Vec<String> {
        let others = [
            ("level 5 without the pass", Some(self.without)),
            ("level 4", self.level4.as_ref()),
        ];
        let sentence = |(name, other): (&str, Option<&Row>)| {
            let ratio = self.with.ms(clock)? / other?.ms(clock)?;
            let of = self.name();
            (ratio > NOTABLE).then(|| {
                format!(
                    "Level 5 with the pass takes {} times as long as {name} on the {clock_name}'s clock: {of}.",
                    times_as_long(ratio)
                )
            })
        };
        others.into_iter().filter_map(sentence).collect()
    }
}

/// A row per workload and clock.
fn table(workloads: &[Workload]) -> String {
    let titles = ["level 4", "without the pass", "with the pass", "ratio"].map(String::from);
    let mut text = markdown::header("µs", &titles);
    for (clock, name) in CLOCKS {
        let empty = titles.iter().map(|_| Some(String::new()));
        text += &markdown::line(&format!("**{name}**"), empty);
        for workload in workloads {
            text += &workload.line(clock);
        }
    }
    let notes = notes(workloads);
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    markdown::figures(&text, &notes, &[])
}

/// How level 4 was timed, and the commits of rows that were measured at others than the record's.
fn notes(workloads: &[Workload]) -> Vec<String> {
    let level4 = || workloads.iter().filter_map(|of| of.level4.as_ref());
    let mut notes = vec![];
    if level4().any(|row| !row.cuda_graph) {
        notes.push(ONE_BY_ONE.to_string());
    }
    notes.extend(earlier(
        workloads.iter().flat_map(|of| [of.with, of.without]),
    ));
    let at = |sentence: String| sentence.replacen("Measured", "Level 4 was measured", 1);
    notes.extend(earlier(level4()).into_iter().map(at));
    notes
}

/// A panel per workload and a bar per clock.
fn chart(workloads: &[Workload]) -> Result<String> {
    let title = "Level 5 without the pass";
    let chart = BarPanels {
        title: title.into(),
        axis: Axis::linear("time without the pass / time with the pass"),
        panels: workloads.iter().map(panel).collect(),
    };
    Ok(figure("chart", title, &charts::svg_text(&chart)?))
}

fn panel(workload: &Workload) -> Group {
    let bar = |(clock, name): (Clock, &str)| {
        let value = workload.ratio(clock)?;
        Some(Bar {
            name: name.into(),
            value,
            spread: (value, value),
            label: ratio(value),
        })
    };
    Group {
        name: workload.name(),
        bars: CLOCKS.into_iter().filter_map(bar).collect(),
    }
}

/// A list of the workloads that are slower with the pass; nothing where none is.
fn slower(workloads: &[Workload]) -> String {
    let of = |workload: &Workload| CLOCKS.map(|(clock, name)| workload.slower(clock, name));
    let sentences = workloads.iter().flat_map(of).flatten();
    let items: String = sentences
        .map(|sentence| format!("- {sentence}\n"))
        .collect();
    if items.is_empty() {
        return items;
    }
    format!("Slower with the pass:\n\n{items}\n")
}
