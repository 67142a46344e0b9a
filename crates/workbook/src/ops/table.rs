//! Times of ops for a terminal: a block per op, a line per shape, a column per level.

use candle_core::Device;
use models::trace::table::{Line, aligned};
use results::{OpClock, OpResults, OpRow, is_limit, level_number, runs_as_short, spoken};

use crate::compare::significant;

/// Explains the columns.
pub fn legend(device: &Device) -> &'static str {
    if device.is_cpu() {
        "Microseconds of one call, median. In parentheses: speed-up over level 2.\n\
             Rust twin: Rust code in place of the GPU kernel. A CPU runs neither PTX nor CUDA."
    } else {
        "Microseconds of one call on the device, median, without the host's part: inside a CUDA graph, or\n\
             launched one by one (*). In parentheses: speed-up over level 2. An op that waits for the device is\n\
             measured on the host's clock. All clocks are in the JSON."
    }
}

/// All rows, an op after the other.
pub fn all(rows: &[OpRow], on_gpu: bool) -> String {
    rows.chunk_by(|a, b| (&a.op, &a.dtype) == (&b.op, &b.dtype))
        .map(|rows| block(rows, on_gpu))
        .collect()
}

/// A line a shape, below the levels and what they run as.
fn block(rows: &[OpRow], on_gpu: bool) -> String {
    let mut levels: Vec<&str> = vec![];
    for row in rows {
        if !levels.contains(&row.level.as_str()) {
            levels.push(&row.level);
        }
    }
    let line = |name: String, cells: Vec<String>| Line::of([vec![name], cells].concat());
    let of_levels =
        |text: &dyn Fn(&str) -> String| levels.iter().map(|level| text(level)).collect();
    let title = format!("{}, {}", rows[0].op, rows[0].dtype);
    let runs_as =
        |level: &str| runs_as_short(level_number(level).unwrap_or(0).into(), on_gpu).to_string();
    let mut lines = vec![
        line(title, of_levels(&spoken)),
        line(String::new(), of_levels(&runs_as)),
    ];
    for cases in rows.chunk_by(|a, b| a.shape == b.shape) {
        let name = format!("  {}", cases[0].shape);
        lines.push(line(name, of_levels(&|level| cell(cases, level))));
    }
    format!("\n{}", aligned(&lines))
}

/// `12.3 (1.50×)`, or `12.3* (1.50×)` of what was not in a graph as the others.
fn cell(cases: &[OpRow], level: &str) -> String {
    let find = |level: &str| cases.iter().find(|row| row.level == level);
    let (Some(row), base) = (find(level), find("level2")) else {
        return "–".into();
    };
    let clock = OpClock::of(cases);
    let us = clock.us(row);
    let mark = if clock.has(row) { "" } else { "*" };
    let time = significant(us);
    match base.filter(|_| level != "level2" && !is_limit(level)) {
        Some(base) => format!("{time}{mark} ({:.2}×)", clock.us(base) / us),
        None => format!("{time}{mark}"),
    }
}

/// The cases where something else is more than `factor` times as fast as every level, one line per case.
pub fn losses(results: &OpResults, factor: f64) -> String {
    let ratio = |(own, other): &(&OpRow, &OpRow)| {
        let (own, other) = own.beside(other);
        own / other
    };
    let mut behind = results.behind();
    behind.retain(|pair| ratio(pair) > factor);
    behind.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let cases = results
        .cases()
        .filter(|case| case.iter().any(OpRow::is_other));
    let than = match factor {
        1. => String::new(),
        factor => format!(" by more than {:.0}%", 100. * (factor - 1.)),
    };
    let mut text = format!(
        "\nslower than the others{than} in {} of {} cases\n",
        behind.len(),
        cases.count()
    );
    for (own, other) in &behind {
        let (own_us, other_us) = own.beside(other);
        text += &format!(
            "  {:44} {} {own_us:.2} µs, {} {other_us:.2} µs ({:.2}×)\n",
            format!("{} {} {}", own.op, own.shape, own.dtype),
            results.machine.label(&own.level),
            spoken(&other.level),
            own_us / other_us,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_shape_and_a_column_a_level() {
        let row = |level: &str, us| OpRow {
            op: "linear".into(),
            shape: "1x2x3".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: us,
            ..OpRow::default()
        };
        let rows = [
            row("level1", 8.),
            row("level2", 4.),
            row("level3", 12_345.6),
            row("copy", 0.5),
        ];
        let expected = "
linear, f32       level 1        level 2        level 3   copy
                   candle  candle, fused      Rust twin
  1x2x3      8.00 (0.50×)           4.00  12346 (0.00×)  0.500
";
        assert_eq!(all(&rows, false), expected);
        assert!(all(&rows, true).contains("PTX"));
    }

    /// The longest title and shape, and times of milliseconds.
    #[test]
    fn five_levels_fit_a_terminal() {
        let row = |n: u8| OpRow {
            op: "causal_attention_prefill".into(),
            shape: "128x8x8x64".into(),
            level: format!("level{n}"),
            dtype: "bf16".into(),
            host_us: 99_999.,
            ..OpRow::default()
        };
        let rows: Vec<OpRow> = (1..=5).map(row).collect();
        for line in all(&rows, false).lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }

    #[test]
    fn losses_stand_below_each_other_the_worst_first() {
        let row = |shape: &str, level: &str, us| OpRow {
            op: "linear".into(),
            shape: shape.into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: us,
            ..OpRow::default()
        };
        let mut results = OpResults::new(results::Machine::default());
        for (shape, level5, pytorch) in [("1x1", 1.02, 1.), ("2x2", 3., 2.), ("3x3", 1., 2.)] {
            let of = [("level5", level5), ("pytorch", pytorch)];
            results
                .rows
                .extend(of.map(|(level, us)| row(shape, level, us)));
        }
        let text = losses(&results, 1.);
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = "slower than the others in 2 of 3 cases linear 2x2 f32 level 5 (Rust twin) 3.00 µs, PyTorch 2.00 µs \
                        (1.50×) linear 1x1 f32 level 5 (Rust twin) 1.02 µs, PyTorch 1.00 µs (1.02×)";
        assert_eq!(words.join(" "), expected);
        let more = losses(&results, 1.05);
        assert!(
            more.starts_with("\nslower than the others by more than 5% in 1 of 3 cases\n"),
            "{more}"
        );
    }
}
