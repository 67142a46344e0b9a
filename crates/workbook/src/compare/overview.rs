//! The chart at the top of the README: one workload at every level and in PyTorch, on a GPU and on a CPU.

use charts::{Axis, Bar, BarPanels, Group};
use results::{HIGHEST, Results, Row, runs_as};

use super::significant;
use crate::record::folder::Named;

/// The workload: decoding one token of a language model.
pub const DECODE: &str = "lm readme decode";
/// Name of the GPU's record in the README.
pub const GPU: &str = "h200";
pub const CPU: &str = "cpu";

/// Returns the record of this name.
pub fn record<'a>(records: &'a Named<Row>, name: &str) -> Option<&'a Results> {
    let (_, found) = records.iter().find(|(other, _)| other == name)?;
    Some(found)
}

/// Whether the record is of a GPU.
pub fn on_gpu(results: &Results) -> bool {
    results.machine.device == "cuda"
}

/// Formats the device: `NVIDIA H200`, or `AMD EPYC, 2 threads`.
pub fn device(results: &Results) -> String {
    let machine = &results.machine;
    if on_gpu(results) {
        machine.name.clone()
    } else {
        format!("{}, {} threads", machine.name, machine.threads)
    }
}

/// Draws one panel per device that has [`DECODE`], on one scale.
pub fn chart(records: &Named<Row>) -> BarPanels {
    let names = [GPU, CPU].into_iter();
    BarPanels {
        title: "Time to generate one token, language model in f32".into(),
        axis: Axis::linear("milliseconds, shorter is faster; ×: speed-up over level 1"),
        panels: names
            .filter_map(|name| panel(record(records, name)?))
            .collect(),
    }
}

fn panel(results: &Results) -> Option<Group> {
    let decode = results.workload(DECODE)?;
    let on_gpu = on_gpu(results);
    let levels = (1..=HIGHEST).filter_map(|level| decode.level(level));
    let rows = levels.chain(decode.other());
    let kind = if on_gpu { "GPU" } else { "CPU" };
    Some(Group {
        name: format!("{kind}: {}", device(results)),
        bars: rows.map(|row| bar(row, on_gpu)).collect(),
    })
}

fn bar(row: &Row, on_gpu: bool) -> Bar {
    Bar {
        name: name(row, on_gpu),
        value: row.median_ms,
        spread: (row.median_ms, row.median_ms),
        label: label(row),
    }
}

/// `level 3, PTX`, `level 3, Rust twin`, `PyTorch compile`.
fn name(row: &Row, on_gpu: bool) -> String {
    if row.system.is_some() {
        return row.family();
    }
    let what = runs_as(row.level.into(), on_gpu);
    let (short, _) = what.split_once(':').unwrap_or((what, ""));
    let graph = if row.cuda_graph { ", CUDA graph" } else { "" };
    format!("level {}, {short}{graph}", row.level)
}

/// `2.89 ms`, and from level 2 on `0.803 ms · 3.6×`.
fn label(row: &Row) -> String {
    let ms = significant(row.median_ms);
    match row.level {
        1 => format!("{ms} ms"),
        _ => format!("{ms} ms · {:.1}×", row.speedup),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::compare::drawn::tests::example;

    /// [`DECODE`] on a GPU and a CPU: two levels, level 5 on the GPU also as a graph, and PyTorch.
    pub fn records() -> Named<Row> {
        let mut cpu = example();
        for row in &mut cpu.rows {
            row.preset = "readme".into();
        }
        cpu.rows[1].level = 5;
        let mut other = Row {
            level: 0,
            system: Some("pytorch_compile_reduce_overhead".into()),
            median_ms: 1.1,
            speedup: 1.118,
            ..cpu.rows[0].clone()
        };
        let mut gpu = cpu.clone();
        cpu.rows.push(other.clone());
        gpu.machine.device = "cuda".into();
        gpu.machine.name = "A GPU".into();
        let graph = Row {
            cuda_graph: true,
            median_ms: 0.1,
            speedup: 12.3,
            ..gpu.rows[1].clone()
        };
        other.median_ms = 0.2;
        gpu.rows.extend([graph, other]);
        vec![(CPU.into(), cpu), (GPU.into(), gpu)]
    }

    #[test]
    fn a_cpu_is_labelled_as_what_it_runs() {
        let chart = chart(&records());
        let names = |panel: &Group| -> Vec<String> {
            panel.bars.iter().map(|bar| bar.name.clone()).collect()
        };
        let [gpu, cpu] = &chart.panels[..] else {
            panic!("expected two panels, found {}", chart.panels.len());
        };
        assert_eq!(
            [&*gpu.name, &cpu.name],
            ["GPU: A GPU", "CPU: A CPU, 2 threads"]
        );
        let expected = [
            "level 1, candle",
            "level 5, tuned, CUDA graph",
            "PyTorch compile",
        ];
        assert_eq!(names(gpu), expected);
        let expected = ["level 1, candle", "level 5, Rust twin", "PyTorch compile"];
        assert_eq!(names(cpu), expected);
        assert_eq!(gpu.bars[0].label, "1.23 ms");
        assert_eq!(gpu.bars[1].label, "0.100 ms · 12.3×");
    }

    #[test]
    fn a_device_without_a_record_has_no_panel() {
        let mut records = records();
        records.remove(0);
        assert_eq!(chart(&records).panels.len(), 1);
        records[0].1.rows.clear();
        assert!(chart(&records).panels.is_empty());
    }
}
