//! A profile as text.

use super::{Limits, Op, Profile, Reached, Spread};
use crate::table::{Line, aligned, digits, si};

/// Titles of the columns; the names of what ran follow.
const TITLES: [&str; 9] = [
    "op", "calls", "ms", "share", "bytes", "FLOPs", "GB/s", "GFLOP/s", "of limit",
];

impl Profile {
    /// Formats one line per op, the slowest first: calls, time (`~` if it is noisy), share, minimum bytes and FLOPs, the
    /// rates they give, and the share of the device's limit. Below are the sum of the ops and the whole, on a GPU
    /// by its own clock and by the host's.
    pub fn table(&self, limits: &Limits) -> String {
        let title = Line {
            cells: TITLES.map(str::to_string).into(),
            words: vec!["by".into(), "ran".into()],
        };
        let mut ops: Vec<&Op> = self.ops.iter().collect();
        ops.sort_by(|a, b| b.ms.median.total_cmp(&a.ms.median));
        let lines = ops.into_iter().map(|op| self.line(op, limits));
        let lines: Vec<Line> = std::iter::once(title).chain(lines).collect();
        format!("{}{}", aligned(&lines), self.sum())
    }

    fn line(&self, op: &Op, limits: &Limits) -> Line {
        let text = |value: Option<f64>| value.map_or(String::new(), digits);
        let amount = |value: Option<f64>| value.map_or(String::new(), |x| si(x.round()));
        let (bytes, flops) = (op.needs.map(|n| n.bytes), op.needs.map(|n| n.flops));
        let (fraction, by) = match op.fraction(limits) {
            Some((fraction, limit)) => {
                let reached = Reached::of(fraction, limit);
                (reached.to_string(), limit.to_string())
            }
            None => (String::new(), String::new()),
        };
        let mark = if op.ms.noise().is_some() { "~" } else { "" };
        Line {
            cells: vec![
                op.name.into(),
                count(op.calls),
                format!("{mark}{:.4}", op.ms.median),
                format!("{:.1}%", 100. * self.share(op)),
                amount(bytes),
                amount(flops),
                text(op.gb_per_s()),
                text(op.gflop_per_s()),
                fraction,
            ],
            words: vec![by, op.kernels.join(" + ")],
        }
    }

    /// Explains why the sum of the ops differs from the whole.
    fn sum(&self) -> String {
        let (ops, whole) = (self.together.median, self.whole.median);
        let Some(device) = self.device else {
            let rest = match (self.noise(), whole >= ops) {
                (Some(spread), _) => format!(
                    "too noisy to compare the two\n(runs differ by {spread:.1}×: close other programs and repeat)"
                ),
                (None, true) => format!("between the ops {:.4} ms", whole - ops),
                (None, false) => format!("the recording cost {:.4} ms", ops - whole),
            };
            return format!(
                "ops together {ops:.4} ms, recorded one by one; the whole {whole:.4} ms, unrecorded: {rest}\n",
            );
        };
        let mut text = format!(
            "ops together {ops:.4} ms of the {:.4} ms that the device works on the whole; on the host {whole:.4} ms, unrecorded\n\
             an empty op takes {:.4} ms on this clock\n",
            device.whole.median, device.empty.median,
        );
        if device.late > 0 {
            text += &format!(
                "in {} of {} repetitions the device waited for the host, and its waiting is in these times\n",
                device.late, self.repeats,
            );
        }
        text
    }
}

impl Profile {
    /// Describes the spread of the repetitions if it is too large to compare recorded with unrecorded ones.
    fn noise(&self) -> Option<f64> {
        let spreads = [self.together, self.whole].map(Spread::noise);
        spreads.into_iter().flatten().reduce(f64::max)
    }
}

/// Formats calls: `6`, or `0.5` if they are divided.
fn count(calls: f64) -> String {
    match calls.fract() {
        0. => format!("{calls}"),
        _ => digits(calls),
    }
}
