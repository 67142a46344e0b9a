//! `workbook bench-charts`: one chart per group of the results that `cargo bench` left in target/criterion.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use charts::{Axis, Bar, BarChart, Group};
use clap::Args;
use data::BadInput;

use results::criterion::{self, Case, Throughput};
use results::{BenchResults, Kind, Machine};

/// Draw the results of cargo bench, one chart per group
#[derive(Debug, Clone, Args)]
pub struct BenchChartsArgs {
    /// Folder of the results of cargo bench
    #[arg(long, value_name = "DIR", default_value = "target/criterion")]
    pub from: PathBuf,
    /// Folder for the charts
    #[arg(long, value_name = "DIR", default_value = "target/workbook/benches")]
    pub to: PathBuf,
}

/// Draws every group and prints the paths.
pub fn run(args: &BenchChartsArgs) -> Result<()> {
    let cases = criterion::cases(&args.from)?;
    if cases.is_empty() {
        let expected = "results of `cargo bench`";
        return Err(BadInput::new(args.from.display(), expected, "none").into());
    }
    let mut groups: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in &cases {
        groups.entry(&case.group).or_default().push(case);
    }
    let machine = machine_of(&args.from)?;
    data::writable_folder(&args.to)?;
    for (name, cases) in groups {
        for path in draw(&args.to, name, &cases, machine.as_ref())? {
            data::println!("{}", path.display());
        }
    }
    Ok(())
}

/// Returns the machine on which the results in `criterion`, the folder `target/criterion`, were measured, as
/// recorded next to it by the last run; `None` for results from elsewhere.
fn machine_of(criterion: &Path) -> Result<Option<Machine>> {
    let Some(target) = criterion.parent() else {
        return Ok(None);
    };
    let left = target.join("workbook").join(Kind::Benches.left_by_a_run());
    if left.exists() {
        Ok(Some(BenchResults::load(&left)?.machine))
    } else {
        Ok(None)
    }
}

fn draw(
    folder: &Path,
    name: &str,
    cases: &[&Case],
    machine: Option<&Machine>,
) -> Result<[PathBuf; 2]> {
    let chart = chart(name, cases, machine);
    Ok(charts::bar_chart(&folder.join(name), &chart)?)
}

/// Draws bars for each shape: bytes or operations per second if the group has one unit of work, otherwise the
/// speed-up over level 1.
fn chart(name: &str, cases: &[&Case], machine: Option<&Machine>) -> BarChart {
    let mut shapes: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        shapes.entry(&case.parameter).or_default().push(case);
    }
    let mut shapes: Vec<Vec<&Case>> = shapes.into_values().collect();
    for cases in &mut shapes {
        cases.sort_by_key(|case| order(&case.function));
    }
    shapes.sort_by(|a, b| a[0].median_ns.total_cmp(&b[0].median_ns));
    let scale = Scale::of(name, cases);
    let group = |cases: &Vec<&Case>| Group {
        name: title(&cases[0].parameter),
        bars: (cases.iter())
            .map(|case| scale.bar(case, cases[0], machine))
            .collect(),
    };
    BarChart {
        title: name.into(),
        mark: matches!(scale, Scale::Speedup).then_some(1.),
        groups: shapes.iter().map(group).collect(),
        axis: Axis::linear(scale.label()),
    }
}

/// Formats a shape for people; names of workloads stay.
fn title(parameter: &str) -> String {
    if parameter.starts_with(|c: char| c.is_ascii_digit()) {
        parameter.replace('x', " × ")
    } else {
        parameter.into()
    }
}

/// Sort key: levels by number, each in host time before device time, then everything else.
fn order(function: &str) -> (u64, &str) {
    let number = function.strip_prefix("level").map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse()
    });
    (number.and_then(Result::ok).unwrap_or(u64::MAX), function)
}

/// `level 4`, or with a known machine `level 4 (Rust twin)`; `level 4 on the device`, `level 4 in a graph`.
fn series(function: &str, machine: Option<&Machine>) -> String {
    let number = function.strip_prefix("level").map(str::parse::<u8>);
    if let (Some(Ok(_)), Some(machine)) = (number, machine) {
        return machine.label(function);
    }
    let name = function.replacen("level", "level ", 1);
    let name = match name.strip_suffix("_device") {
        Some(level) => format!("{level} on the device"),
        None => name,
    };
    match name.strip_suffix("_graph") {
        Some(level) => format!("{level} in a graph"),
        None => name,
    }
}

/// The quantity of a chart's bars.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    Bytes,
    Flops,
    Speedup,
    Time,
}

impl Scale {
    /// Groups named after a model have workloads of different kinds.
    fn of(name: &str, cases: &[&Case]) -> Self {
        let bytes = |case: &&Case| matches!(case.throughput, Throughput::Bytes(_));
        match name {
            "lm" | "vit" | "gnn" => Self::Speedup,
            "launch" => Self::Time,
            _ if cases.iter().all(bytes) => Self::Bytes,
            _ => Self::Flops,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Bytes => {
                "least traffic over time (GB/s), longer is faster; whiskers: the median, 95%"
            }
            Self::Flops => {
                "operations over time (GFLOP/s), longer is faster; whiskers: the median, 95%"
            }
            Self::Speedup => {
                "speed-up over level 1 (×), longer is faster; whiskers: the median, 95%"
            }
            Self::Time => "time (µs), shorter is faster; whiskers: the median, 95%",
        }
    }

    fn bar(self, case: &Case, first: &Case, machine: Option<&Machine>) -> Bar {
        let amount = case.throughput.amount() as f64;
        // Per nanosecond and in units of 10⁹: bytes/ns equal GB/s.
        let value = |ns: f64| match self {
            Self::Bytes | Self::Flops => amount / ns,
            Self::Speedup => first.median_ns / ns,
            Self::Time => ns / 1e3,
        };
        let time = duration(case.median_ns);
        let number = crate::compare::significant(value(case.median_ns));
        let unit = match self {
            Self::Bytes => " GB/s",
            Self::Flops => " GFLOP/s",
            Self::Speedup => "×",
            Self::Time => "",
        };
        Bar {
            name: series(&case.function, machine),
            value: value(case.median_ns),
            spread: (value(case.high_ns), value(case.low_ns)),
            label: match self {
                Self::Time => time,
                _ => format!("{number}{unit} · {time}"),
            },
        }
    }
}

/// `12.3 µs`
fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns => (ns / 1e6, "ms"),
    };
    format!("{} {unit}", crate::compare::significant(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(group: &str, function: &str, parameter: &str, ns: f64, work: Throughput) -> Case {
        Case {
            group: group.into(),
            function: function.into(),
            parameter: parameter.into(),
            throughput: work,
            median_ns: ns,
            low_ns: 0.9 * ns,
            high_ns: 1.2 * ns,
            seconds: None,
            origin: None,
        }
    }

    #[test]
    fn small_shapes_come_first_and_the_copy_last() {
        let bytes = Throughput::Bytes;
        let cases = [
            case("rms_norm", "copy", "128x512", 100., bytes(4000)),
            case("rms_norm", "level2", "128x512", 500., bytes(4000)),
            case("rms_norm", "level1", "128x512", 1000., bytes(4000)),
            case("rms_norm", "level1", "1x512", 100., bytes(40)),
        ];
        let chart = chart("rms_norm", &cases.each_ref(), None);
        let shapes: Vec<_> = chart.groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(shapes, ["1 × 512", "128 × 512"]);
        let bars = &chart.groups[1].bars;
        let names: Vec<_> = bars.iter().map(|bar| bar.name.as_str()).collect();
        assert_eq!(names, ["level 1", "level 2", "copy"]);
        assert_eq!(bars[1].label, "8.00 GB/s · 500 ns");
        assert!(chart.axis.label.contains("GB/s"));
    }

    #[test]
    fn a_launch_has_a_time_but_no_rate() {
        let case = case("launch", "kernel", "empty", 2500., Throughput::Elements(1));
        let chart = chart("launch", &[&case], None);
        let bar = &chart.groups[0].bars[0];
        assert_eq!((bar.value, bar.label.as_str()), (2.5, "2.50 µs"));
        assert!(chart.axis.label.contains("µs"));
    }

    #[test]
    fn the_series_of_a_level_stay_together() {
        let mut names = ["copy", "level4_graph", "level10", "level4_device", "level4"];
        names.sort_by_key(|name| order(name));
        let expected = ["level4", "level4_device", "level4_graph", "level10", "copy"];
        assert_eq!(names, expected);
        let expected = ["level 4", "level 4 on the device", "level 4 in a graph"];
        assert_eq!(
            ["level4", "level4_device", "level4_graph"].map(|function| series(function, None)),
            expected
        );
    }

    #[test]
    fn the_machine_decides_what_a_level_runs_as() -> Result<()> {
        let target = tempfile::tempdir()?;
        let criterion = target.path().join("criterion");
        assert_eq!(machine_of(&criterion)?, None);
        let machine = Machine {
            device: "cpu".into(),
            name: "A CPU".into(),
            threads: 2,
            date: "2026-11-27".into(),
            ..Machine::default()
        };
        let left = target.path().join("workbook/benches.json");
        let mut run = BenchResults::new(machine);
        let elements = Throughput::Elements(1);
        run.rows
            .push(case("lm", "level4", "tiny.decode", 1e6, elements));
        crate::record::folder::save(&left, &run)?;
        let machine = machine_of(&criterion)?;
        let names = ["level4", "level4_device", "copy"].map(|f| series(f, machine.as_ref()));
        assert_eq!(
            names,
            ["level 4 (Rust twin)", "level 4 on the device", "copy"]
        );
        Ok(())
    }

    #[test]
    fn models_are_compared_with_level_1() {
        let items = Throughput::Elements;
        let cases = [
            case("lm", "level2", "tiny.decode", 1e6, items(1)),
            case("lm", "level1", "tiny.decode", 2e6, items(1)),
        ];
        let chart = chart("lm", &cases.each_ref(), None);
        let labels: Vec<_> = chart.groups[0]
            .bars
            .iter()
            .map(|b| b.label.as_str())
            .collect();
        assert_eq!(labels, ["1.00× · 2.00 ms", "2.00× · 1.00 ms"]);
        assert_eq!(chart.mark, Some(1.));
    }
}
