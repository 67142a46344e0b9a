//! Where a level is slower than the one below it, and why.

use std::collections::BTreeMap;

use results::{Machine, Results, Row};

/// A level is slower if it takes longer than the level below by this factor.
const SLOWER: f64 = 1.03;

/// The day of level 3's kernel for one row of x. Rows of decode that are older ran its tile.
const LEVEL_3_HAS_A_GEMV: &str = "2026-11-27";

/// A level that is slower than the one below it, on the same workload and both in a CUDA graph or both not.
pub struct Slower<'a> {
    /// The slower level.
    pub row: &'a Row,
    below: &'a Row,
    machine: &'a Machine,
}

/// Every such row of a record.
pub fn slower(results: &Results) -> Vec<Slower<'_>> {
    let mut found = vec![];
    for rows in results.workloads() {
        let own = rows.iter().filter(|row| row.system.is_none());
        let of: BTreeMap<(u8, bool), &Row> =
            own.map(|row| ((row.level, row.cuda_graph), row)).collect();
        for (&(level, graph), &row) in &of {
            let Some(&below) = of.get(&(level - 1, graph)) else {
                continue;
            };
            if row.median_ms > SLOWER * below.median_ms {
                let machine = &results.machine;
                found.push(Slower {
                    row,
                    below,
                    machine,
                });
            }
        }
    }
    found
}

impl Slower<'_> {
    /// Time over that of the level below, on the host's clock.
    fn ratio(&self) -> f64 {
        self.row.median_ms / self.below.median_ms
    }

    /// Why, if it is known.
    pub fn reason(&self) -> Option<String> {
        let Slower {
            row,
            below,
            machine,
        } = self;
        let date = (row.origin.as_ref()).map_or(&machine.date, |origin| &origin.date);
        let on_device = row.device_ms.zip(below.device_ms).map(|(a, b)| a / b);
        match (row.level, on_device) {
            (2, None) => Some("Most of the time is in ops that are the same at both levels, and the rest gains nothing on a CPU.".into()),
            (_, Some(ratio)) if ratio < SLOWER => Some(format!(
                "The kernels take {ratio:.2}× the time. The host takes longer to launch them, which a CUDA graph avoids."
            )),
            (3, _) if row.workload != "decode" => Some(
                "Level 2's matmul is a library's. Level 3's tile has neither register tiles nor tensor cores, which are level 4's ideas.".into(),
            ),
            (3, _) if date.as_str() < LEVEL_3_HAS_A_GEMV => Some(
                "One row of x takes a whole tile. Since this record, level 3 has a kernel for one row.".into(),
            ),
            _ => None,
        }
    }

    fn line(&self) -> String {
        let how = if self.row.cuda_graph { ", graph" } else { "" };
        let reason = self.reason().unwrap_or("Not known.".into());
        format!(
            "| {} | {}{how} | {:.2}× | {reason} |\n",
            self.row.title(),
            self.row.level,
            self.ratio()
        )
    }
}

/// A table of these rows; empty if no level is slower.
pub fn table(results: &Results) -> String {
    let lines: String = slower(results).iter().map(Slower::line).collect();
    if lines.is_empty() {
        return lines;
    }
    format!(
        "### Where a level is slower than the one below\n\nBy more than 3% on the host's clock.\n\n\
         | row | level | time | reason |\n|:--|:--|--:|:--|\n{lines}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(level: u8, workload: &str, ms: f64, device: Option<f64>) -> Row {
        Row {
            model: "lm".into(),
            preset: "readme".into(),
            workload: workload.into(),
            level,
            dtype: "f32".into(),
            median_ms: ms,
            device_ms: device,
            ..Row::default()
        }
    }

    fn results(rows: Vec<Row>) -> Results {
        let machine = Machine {
            date: "2026-12-01".into(),
            ..Machine::default()
        };
        let mut results = Results::new(machine);
        results.rows = rows;
        results
    }

    #[test]
    fn each_has_its_reason_or_none() {
        let results = results(vec![
            row(2, "prefill", 1., Some(1.)),
            row(3, "prefill", 1.5, Some(1.5)),
            row(4, "prefill", 1.02, Some(1.)),
            row(5, "prefill", 1.2, Some(0.9)),
            row(2, "decode", 1., Some(1.)),
            row(3, "decode", 1.5, Some(1.5)),
        ]);
        let reasons: Vec<_> = slower(&results)
            .iter()
            .map(|slower| (slower.row.level, slower.reason()))
            .collect();
        let [(3, Some(tile)), (5, Some(host)), (3, None)] = &reasons[..] else {
            panic!("{reasons:?}");
        };
        assert!(tile.contains("register tiles"), "{tile}");
        assert!(host.contains("0.90×"), "{host}");
    }

    /// Every recorded row that goes down has a reason in the page.
    #[test]
    fn no_recorded_row_goes_down_unexplained() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results");
        let mut seen = 0;
        for name in ["cpu", "h100", "h200"] {
            let text = std::fs::read_to_string(format!("{folder}/{name}.json")).expect("a record");
            let results: Results = serde_json::from_str(&text).expect("rows");
            for slower in slower(&results) {
                seen += 1;
                assert!(slower.reason().is_some(), "{name}: {}", slower.line());
            }
        }
        assert!(seen > 0, "no level is slower anywhere");
    }
}
