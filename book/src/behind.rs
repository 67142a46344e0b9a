//! On how many shapes a library or another framework is ahead of every level, clock by clock.

use crate::format::{ratio, three_digits};
use crate::markdown;
use anyhow::{Result, ensure};
use results::{Machine, OpClock, OpResults, OpRow, is_limit};

/// The ratio of two times above which a shape counts as a loss: less is within the noise of a run.
const LOSS: f64 = 1.05;

/// All clocks, in words.
const CLOCKS: [(OpClock, &str); 3] = [
    (OpClock::Host, "host, one call at a time"),
    (OpClock::Device, "device, one call at a time"),
    (OpClock::CudaGraph, "device, in a CUDA graph"),
];

/// A Markdown table with a row per record and clock: on how many of the shapes of `op` the fastest level is slower than the
/// fastest other by more than 5%, and where it is slowest in comparison. A clock counts the shapes that both were timed
/// with. The names of the machines stand before the clocks if there are several records.
///
/// # Errors
/// When one of the records has nothing of that op that can be compared.
pub fn behind(records: &[OpResults], op: &str) -> Result<String> {
    let titles = [
        "shapes",
        "more than 5% slower",
        "worst shape",
        "level",
        "other",
        "ratio",
    ];
    let mut text = markdown::header("clock", &titles.map(String::from));
    for results in records {
        let lines = lines(results, op, records.len() > 1);
        ensure!(
            !lines.is_empty(),
            "expected recorded rows of `{op}` at a level and of a library, found none"
        );
        text += &lines;
    }
    Ok(markdown::figures(&text, &[], &[]))
}

/// The rows of one record; each begins with the name of the machine if `is_named`.
fn lines(results: &OpResults, op: &str, is_named: bool) -> String {
    let machine = &results.machine;
    let mut text = String::new();
    for (clock, name) in CLOCKS {
        let cases = results.cases().filter(|case| case[0].op == op);
        let mut pairs: Vec<Pair> = cases.filter_map(|case| Pair::of(case, clock)).collect();
        pairs.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        if let Some(worst) = pairs.first() {
            let losses = pairs.iter().filter(|pair| pair.ratio() > LOSS).count();
            let name = if is_named {
                format!("{}: {name}", machine.name)
            } else {
                name.to_string()
            };
            text += &worst.line(&name, [pairs.len(), losses], machine);
        }
    }
    text
}

/// The fastest level and the fastest other on one shape, by one clock.
struct Pair<'r> {
    own: &'r OpRow,
    other: &'r OpRow,
    clock: OpClock,
}

impl<'r> Pair<'r> {
    fn of(case: &'r [OpRow], clock: OpClock) -> Option<Self> {
        let fastest = |is: &dyn Fn(&OpRow) -> bool| {
            let timed = case.iter().filter(|row| is(row) && clock.has(row));
            timed.min_by(|a, b| clock.us(a).total_cmp(&clock.us(b)))
        };
        Some(Self {
            own: fastest(&|row| !row.is_other() && !is_limit(&row.level))?,
            other: fastest(&OpRow::is_other)?,
            clock,
        })
    }

    fn ratio(&self) -> f64 {
        self.clock.us(self.own) / self.clock.us(self.other)
    }

    fn line(&self, clock: &str, [shapes, losses]: [usize; 2], machine: &Machine) -> String {
        let time = |row: &OpRow| {
            let us = three_digits(self.clock.us(row));
            format!("{} {us} µs", machine.label(&row.level))
        };
        let cells = [
            shapes.to_string(),
            losses.to_string(),
            self.own.shape.replace('x', " × "),
            time(self.own),
            time(self.other),
            ratio(self.ratio()),
        ];
        markdown::line(clock, cells.into_iter().map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(shape: &str, level: &str, [host, device]: [f64; 2], graph: Option<f64>) -> OpRow {
        OpRow {
            op: "matmul".into(),
            shape: shape.into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: host,
            device_us: Some(device),
            cuda_graph_us: graph,
            ..OpRow::default()
        }
    }

    #[test]
    fn each_clock_counts_its_own_losses() -> Result<()> {
        let mut results = OpResults::new(Machine::default());
        results.rows = vec![
            row("1x2x3", "candle", [8., 4.], Some(2.)),
            row("1x2x3", "level5", [12., 4.1], Some(1.)),
            row("1x2x3", "pytorch", [20., 4.2], None),
            row("2x2x3", "candle", [8., 4.], None),
            row("2x2x3", "copy", [1., 1.], None),
            row("2x2x3", "level5", [8.4, 6.], None),
        ];
        let text = behind(std::slice::from_ref(&results), "matmul")?;
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("µs")).collect();
        let expected = [
            "| host, one call at a time | 2 | 1 | 1 × 2 × 3 | level 5 (Rust twin) 12.0 µs | candle 8.00 µs | 1.50× |",
            "| device, one call at a time | 2 | 1 | 2 × 2 × 3 | level 5 (Rust twin) 6.00 µs | candle 4.00 µs | 1.50× |",
            "| device, in a CUDA graph | 1 | 0 | 1 × 2 × 3 | level 5 (Rust twin) 1.00 µs | candle 2.00 µs | 0.500× |",
        ];
        assert_eq!(lines, expected);
        assert!(behind(std::slice::from_ref(&results), "linear").is_err());
        let mut other = results.clone();
        other.machine.name = "A CPU".into();
        let both = behind(&[results.clone(), other.clone()], "matmul")?;
        let first = "| A CPU: host, one call at a time | 2 | 1 | 1 × 2 × 3 |";
        assert_eq!(both.matches("µs").count(), 12, "{both}");
        assert!(both.contains(first), "{both}");
        other.rows.clear();
        assert!(behind(&[results, other], "matmul").is_err());
        Ok(())
    }
}
