//! Where a level is slower than the level before it, and why.

use std::collections::BTreeMap;

use results::{Machine, OpRow, Recorded, Results, Row};

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

/// Every such row of a record, by either clock.
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
            let machine = &results.machine;
            let slower = Slower {
                row,
                below,
                machine,
            };
            let on_device = slower.on_device().is_some_and(|ratio| ratio > SLOWER);
            if slower.ratio() > SLOWER || on_device {
                found.push(slower);
            }
        }
    }
    found
}

/// Whether a workload multiplies one row of x at a time.
fn is_one_row(workload: &str) -> bool {
    ["decode", "generate"].contains(&workload)
}

/// Microseconds that a call of cuBLASLt costs the host more than the launch of a kernel of this project: the difference of
/// the medians over the matmuls of level 5 whose host takes longer than the device. `None` without both kinds.
fn library_call_us(ops: &Recorded<OpRow>) -> Option<f64> {
    let median = |library: bool| {
        let rows = ops.rows.iter().filter(|row| {
            row.op.starts_with("linear")
                && row.level == "level5"
                && row.kernels.is_empty() == library
                && row.device_us.is_some_and(|us| row.host_us > 1.15 * us)
        });
        let mut us: Vec<f64> = rows.map(|row| row.host_us).collect();
        us.sort_by(f64::total_cmp);
        us.get(us.len() / 2).copied()
    };
    Some(median(true)? - median(false)?)
}

impl Slower<'_> {
    /// Time over that of the level below, on the host's clock.
    fn ratio(&self) -> f64 {
        self.row.median_ms / self.below.median_ms
    }

    /// The same on the device's clock, if both were measured.
    fn on_device(&self) -> Option<f64> {
        let both = self.row.device_ms.zip(self.below.device_ms);
        both.map(|(level, below)| level / below)
    }

    /// Why, if it is known. `library_call_us`: see [`library_call_us`].
    fn reason(&self, library_call_us: Option<f64>) -> Option<String> {
        let Slower { row, machine, .. } = self;
        let date = (row.origin.as_ref()).map_or(&machine.date, |origin| &origin.date);
        match (row.level, self.on_device()) {
            (2, None) => Some("Most of the time is in ops that are the same at both levels, and the rest gains nothing on a CPU.".into()),
            (level, Some(ratio)) if ratio < SLOWER => {
                let call = library_call_us.filter(|_| level == 5).map(|us| {
                    format!(" A matmul that is cuBLASLt's costs the host {us:.1} µs more than a launch, in the median of the single ops.")
                });
                Some(format!(
                    "The kernels are faster or as fast, but the host takes longer to launch them, which a CUDA graph avoids.{}",
                    call.unwrap_or_default()
                ))
            }
            (3, _) if !is_one_row(&row.workload) => Some(
                "The level before has a library's matmul. Level 3's tile has neither register tiles nor tensor cores, which are level 4's ideas.".into(),
            ),
            (3, _) if date.as_str() < LEVEL_3_HAS_A_GEMV => Some(
                "One row of x takes a whole tile. Since this record, level 3 has a kernel for one row.".into(),
            ),
            (3, Some(_)) if row.dtype == "bf16" => Some(
                "Level 3's kernel for one row reads one weight per load, in bf16 2 bytes, so that too few bytes are in flight where the weights come from memory. 16 bytes per load are level 4's idea.".into(),
            ),
            _ => None,
        }
    }

    /// `| lm readme prefill bf16 | 3 | 0.80× | 1.28× |`
    fn line(&self) -> String {
        let how = if self.row.cuda_graph { ", graph" } else { "" };
        let device = (self.on_device()).map_or("—".into(), |ratio| format!("{ratio:.2}×"));
        format!(
            "| {} | {}{how} | {:.2}× | {device} |\n",
            self.row.title(),
            self.row.level,
            self.ratio()
        )
    }
}

/// A table of these rows for each reason; empty if no level is slower. `ops` are the single ops of the same device.
pub fn table(results: &Results, ops: Option<&Recorded<OpRow>>) -> String {
    let call = ops.and_then(library_call_us);
    let mut by_reason: Vec<(String, String)> = vec![];
    for slower in slower(results) {
        let reason = slower.reason(call).unwrap_or("Not known.".into());
        match by_reason.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, lines)) => *lines += &slower.line(),
            None => by_reason.push((reason, slower.line())),
        }
    }
    if by_reason.is_empty() {
        return String::new();
    }
    let tables = by_reason.iter().map(|(reason, lines)| {
        format!("{reason}\n\n| row | level | host | device |\n|:--|:--|--:|--:|\n{lines}\n")
    });
    format!(
        "### Where a level is slower than the level before it\n\nBy more than 3%, on the host's clock or on the device's. *2.00×*: it takes twice as long.\n\n{}",
        tables.collect::<String>()
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
            row(4, "decode", 1.5, Some(1.6)),
        ]);
        let reasons: Vec<_> = slower(&results)
            .iter()
            .map(|slower| (slower.row.level, slower.reason(None)))
            .collect();
        let [(3, Some(tile)), (5, Some(host)), (3, None), (4, None)] = &reasons[..] else {
            panic!("{reasons:?}");
        };
        assert!(tile.contains("register tiles"), "{tile}");
        assert!(host.contains("CUDA graph"), "{host}");
    }

    #[test]
    fn a_call_of_the_library_is_told_from_a_launch() {
        let op = |host_us, device_us, own: bool| OpRow {
            op: "linear_residual".into(),
            level: "level5".into(),
            host_us,
            device_us: Some(device_us),
            kernels: own
                .then(|| "linear_f32_level5".into())
                .into_iter()
                .collect(),
            ..OpRow::default()
        };
        let mut ops = Recorded::new(Machine::default());
        ops.rows = vec![op(10., 5., false), op(6.5, 4., true), op(90., 89., false)];
        let us = library_call_us(&ops).expect("both kinds");
        assert!((us - 3.5).abs() < 1e-9, "{us}"); // the third waits for the device
        ops.rows.truncate(1);
        assert!(library_call_us(&ops).is_none());

        let rows = vec![
            row(4, "prefill", 1., Some(1.)),
            row(5, "prefill", 1.2, Some(0.9)),
        ];
        let reason = slower(&results(rows))[0]
            .reason(Some(3.5))
            .expect("a reason");
        assert!(reason.contains("3.5 µs"), "{reason}");
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
                assert!(slower.reason(None).is_some(), "{name}: {}", slower.line());
            }
        }
        assert!(seen > 0, "no level is slower anywhere");
    }
}
