//! Tables for a terminal.

use super::closing::noisy;
use super::measure::Measured;
use super::significant;
use models::trace::profile::NOISY;
use results::{Row, runs_as_short};

/// A column: its title, and the cell of a row; [`NONE`] if the device has no such figure.
type Column = (&'static str, fn(&Row) -> String);

/// An empty cell. A column of only these is omitted.
const NONE: &str = "–";

/// Legend of the columns. The second line depends on the device.
pub fn legend(samples: u32, on_gpu: bool) -> String {
    let device = if on_gpu {
        "device ms: time on the GPU alone. launches: kernels started on the GPU."
    } else {
        "Rust twin: Rust code in place of the GPU kernel. A CPU runs no PTX or CUDA."
    };
    format!(
        "Each row is one pass: the median of up to {samples} runs. speed-up: over level 1.\n\
         {device}\n\
         tensors: created in one pass, with views. memory: peak of a run; it includes\n\
         the KV cache and leaves out the weights.\n\
         max diff: largest difference from level 1, relative to the largest logit.\n\
         ~: a noisy time; the slow runs took more than {NOISY}× as long as the fast runs."
    )
}

/// Formats the rows of one model below its inputs.
pub fn model(measured: &Measured, on_gpu: bool) -> String {
    let rows = &measured.rows;
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mut text = format!("{} {}, {}\n", first.model, first.preset, first.dtype);
    for input in &measured.inputs {
        text += &format!("{input}\n");
    }
    text += &aligned(&lines(rows, on_gpu));
    for line in &measured.left_out {
        text += &format!("  not compared: {line}\n");
    }
    text
}

fn columns(on_gpu: bool) -> [Column; 9] {
    let runs_as: fn(&Row) -> String = if on_gpu {
        |row| runs_as(row, true)
    } else {
        |row| runs_as(row, false)
    };
    [
        ("level", |row| {
            row.variant().replace("level ", "").replace("in a ", "")
        }),
        ("runs as", runs_as),
        ("ms", |row| {
            let mark = if noisy(row).is_some() { "~" } else { "" };
            format!("{mark}{}", significant(row.median_ms))
        }),
        ("device ms", |row| {
            row.device_ms.map_or(NONE.into(), significant)
        }),
        ("speed-up", |row| format!("{:.2}×", row.speedup)),
        ("tensors", |row| row.tensors.to_string()),
        ("launches", |row| {
            row.launches.map_or(NONE.into(), |n| n.to_string())
        }),
        ("memory", |row| bytes(row.peak_bytes)),
        ("max diff", |row| difference(row.max_difference)),
    ]
}

/// Formats the kind of a level's code: `PTX`, or `your own` for a learner's level.
fn runs_as(row: &Row, on_gpu: bool) -> String {
    match row.system {
        Some(_) => "your own".into(),
        None => runs_as_short(row.level.into(), on_gpu).into(),
    }
}

/// Formats the titles and one line per row: the workload in its first line, and the columns with figures.
fn lines(rows: &[Row], on_gpu: bool) -> Vec<Vec<String>> {
    let mut columns = columns(on_gpu).to_vec();
    columns.retain(|(_, cell)| rows.iter().any(|row| cell(row) != NONE));
    let titles = columns.iter().map(|(title, _)| title.to_string());
    let mut lines = vec![std::iter::once(String::new()).chain(titles).collect()];
    let mut workload = "";
    for row in rows {
        let name = if row.workload == workload {
            String::new()
        } else {
            row.workload.clone()
        };
        workload = &row.workload;
        let cells = columns.iter().map(|(_, cell)| cell(row));
        lines.push(std::iter::once(name).chain(cells).collect());
    }
    lines
}

/// Aligns names and kinds of code to the left, and numbers to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let length = |text: &String| text.chars().count();
    let width = |column: usize| lines.iter().map(|line| length(&line[column])).max();
    let widths: Vec<usize> = (0..columns).map(|i| width(i).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (i, (cell, width)) in line.iter().zip(&widths).enumerate() {
            row += &match lines[0][i].as_str() {
                "" | "level" | "runs as" => format!("  {cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

/// `1.5 MiB`, and without a fraction from 100 MiB on.
pub fn bytes(bytes: u64) -> String {
    let mib = bytes as f64 / 1024. / 1024.;
    match mib {
        100_f64.. => format!("{mib:.0} MiB"),
        1_f64.. => format!("{mib:.1} MiB"),
        _ => format!("{:.1} KiB", bytes as f64 / 1024.),
    }
}

/// `1e-7`, and 0 for equal bits.
fn difference(difference: f64) -> String {
    match difference {
        0. => "0".into(),
        other => format!("{other:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::drawn::tests::example;

    fn measured(rows: Vec<Row>) -> Measured {
        Measured {
            rows,
            inputs: vec!["decode: a token".into()],
            left_out: vec![],
        }
    }

    /// A CPU has no device clock and no launches, so those columns are omitted.
    #[test]
    fn a_table_of_a_cpu_says_rust_twin() {
        let expected = "\
lm tiny, f32
decode: a token
          level  runs as       ms  speed-up  tensors   memory  max diff
  decode  1      candle      1.23     1.00×      321  1.5 MiB         0
          3      Rust twin  0.980     1.26×      150  1.5 MiB    1.2e-7
";
        let mut rows = example().rows;
        rows[1].level = 3;
        let without_mine = Measured {
            left_out: vec!["mine: wrong in linear".into()],
            ..measured(rows.clone())
        };
        assert_eq!(model(&measured(rows), false), expected);
        let with_line = format!("{expected}  not compared: mine: wrong in linear\n");
        assert_eq!(model(&without_mine, false), with_line);
        assert_eq!(model(&measured(vec![]), false), "");
    }

    #[test]
    fn a_table_of_a_gpu_has_its_clock_and_its_launches() {
        let expected = "\
lm tiny, f32
decode: a token
          level    runs as     ms  device ms  speed-up  tensors  launches   memory  max diff
  decode  1        candle    1.23          –     1.00×      321         –  1.5 MiB         0
          5 graph  tuned    0.980      0.500     1.26×      150        70  1.5 MiB    1.2e-7
";
        let mut rows = example().rows;
        rows[1] = Row {
            level: 5,
            cuda_graph: true,
            device_ms: Some(0.5),
            launches: Some(70),
            ..rows[1].clone()
        };
        assert_eq!(model(&measured(rows), true), expected);
    }

    /// 80 columns on a CPU, 120 on a GPU, with the longest cells.
    #[test]
    fn tables_fit_a_terminal() {
        let long = |level, graph, on_gpu: bool| Row {
            workload: "graphs128".into(),
            level,
            cuda_graph: graph,
            median_ms: 12_345.6,
            device_ms: on_gpu.then_some(12_345.6),
            launches: on_gpu.then_some(99_999),
            speedup: 1234.56,
            tensors: 99_999,
            peak_bytes: 1 << 30,
            max_difference: 1.2e-7,
            ..example().rows[0].clone()
        };
        for (on_gpu, columns) in [(false, 80), (true, 120)] {
            let rows = (1..=5).map(|level| long(level, on_gpu, on_gpu)).collect();
            let text = model(&measured(rows), on_gpu) + &legend(100_000, on_gpu);
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{line}");
            }
        }
    }

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!(bytes(512), "0.5 KiB");
        assert_eq!(bytes(1 << 20), "1.0 MiB");
        assert_eq!(bytes(1 << 30), "1024 MiB");
    }
}
