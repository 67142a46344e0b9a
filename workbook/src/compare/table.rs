//! Figures for a terminal.

use super::measure::Measured;
use results::Row;

const COLUMNS: usize = 9;
/// Titles of the columns.
const TITLES: [&str; COLUMNS] = [
    "",
    "level",
    "median ms",
    "device ms",
    "speed-up",
    "tensors",
    "launches",
    "peak memory",
    "largest difference",
];

/// What the columns say.
pub fn legend(samples: u32) -> String {
    format!(
        "One forward pass: median of {samples} runs, on a GPU also without the host's part, tensors made (views \
         included), kernels launched on a GPU,\nmemory beyond the weights, largest difference from level 1 as a share of the largest logit."
    )
}

/// The rows of one model, below what it is given.
pub fn model(measured: &Measured) -> String {
    let rows = &measured.rows;
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mut lines: Vec<[String; COLUMNS]> = vec![TITLES.map(str::to_string)];
    let mut workload = "";
    for row in rows {
        lines.push(cells(row, row.workload != workload));
        workload = &row.workload;
    }
    let mut text = format!("{} {}, {}", first.model, first.preset, first.dtype);
    text += &format!("; {}\n", measured.inputs.join("; "));
    text += &aligned(&lines);
    text
}

fn cells(row: &Row, first: bool) -> [String; COLUMNS] {
    [
        if first {
            row.workload.clone()
        } else {
            String::new()
        },
        row.variant().replace("level ", "").replace("in a ", ""),
        format!("{:.3}", row.median_ms),
        row.device_ms.map_or("–".into(), |ms| format!("{ms:.3}")),
        format!("{:.2}×", row.speedup),
        row.tensors.to_string(),
        row.launches.map_or("–".into(), |n| n.to_string()),
        bytes(row.peak_bytes),
        difference(row.max_difference),
    ]
}

/// The first column to the left, the others to the right.
fn aligned(lines: &[[String; COLUMNS]]) -> String {
    let length = |text: &String| text.chars().count();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| length(&line[column]))
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let line = |cells: &[String; COLUMNS]| {
        let mut text = format!("  {:1$}", cells[0], widths[0]);
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text + "\n"
    };
    lines.iter().map(line).collect()
}

/// `1.5 MiB`
pub fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1024. * 1024. => format!("{:.1} MiB", b / 1024. / 1024.),
        b => format!("{:.1} KiB", b / 1024.),
    }
}

/// `1e-7`, and 0 for the same bits.
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

    #[test]
    fn columns_are_aligned() {
        let expected = "\
lm tiny, f32; decode: a token
          level  median ms  device ms  speed-up  tensors  launches  peak memory  largest difference
  decode      1      1.230          –     1.00×      321         –      1.5 MiB                   0
              2      0.980          –     1.26×      150         –      1.5 MiB              1.2e-7
";
        let measured = |rows| Measured {
            rows,
            inputs: vec!["decode: a token".into()],
        };
        assert_eq!(model(&measured(example().rows)), expected);
        assert_eq!(model(&measured(vec![])), "");
    }

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!(bytes(512), "0.5 KiB");
        assert_eq!(bytes(1 << 20), "1.0 MiB");
    }
}
