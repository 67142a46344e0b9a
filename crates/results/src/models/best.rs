//! The fastest rows of one workload.

use super::{Clock, Row};
use crate::Results;

/// The rows of one workload: every level, and other frameworks.
#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    /// The rows; at least one.
    rows: &'a [Row],
}

impl Results {
    /// The workload with this title, such as `lm readme decode bf16`.
    pub fn workload(&self, title: &str) -> Option<Workload<'_>> {
        let mut all = self.workloads();
        let rows = all.find(|rows| rows[0].title() == title)?;
        Some(Workload { rows })
    }

    /// How many times as long the fastest other framework takes as the fastest row of a level, by a clock: each workload
    /// that has both, in ascending order.
    pub fn leads(&self, level: u8, clock: Clock) -> Vec<f64> {
        let lead = |rows| Workload { rows }.lead(level, clock);
        let mut leads: Vec<f64> = self.workloads().filter_map(lead).collect();
        leads.sort_by(f64::total_cmp);
        leads
    }
}

impl<'a> Workload<'a> {
    /// Returns a level's row by host time. For the highest level it is the faster of eager and CUDA graph;
    /// the other levels are shown eager.
    pub fn level(&self, level: u8) -> Option<&'a Row> {
        let highest = self.rows.iter().map(|row| row.level).max();
        let is_level = |row: &&Row| row.system.is_none() && row.level == level;
        let is_shown = |row: &&Row| !row.cuda_graph || Some(level) == highest;
        fastest(
            self.rows.iter().filter(is_level).filter(is_shown),
            Clock::Host,
        )
    }

    /// Returns the fastest row of another framework by host time.
    pub fn other(&self) -> Option<&'a Row> {
        self.fastest_other(Clock::Host)
    }

    fn fastest_other(&self, clock: Clock) -> Option<&'a Row> {
        fastest(self.rows.iter().filter(|row| row.system.is_some()), clock)
    }

    fn lead(&self, level: u8, clock: Clock) -> Option<f64> {
        let is_own = |row: &&Row| row.system.is_none() && row.level == level;
        let own = fastest(self.rows.iter().filter(is_own), clock)?;
        Some(self.fastest_other(clock)?.ms(clock)? / own.ms(clock)?)
    }
}

/// Returns the fastest of the rows that a clock has timed.
pub(super) fn fastest<'a>(rows: impl Iterator<Item = &'a Row>, clock: Clock) -> Option<&'a Row> {
    let timed = rows.filter_map(|row| Some((row, row.ms(clock)?)));
    let fastest = timed.min_by(|(_, a), (_, b)| a.total_cmp(b));
    fastest.map(|(row, _)| row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn results() -> Results {
        let row = |workload: &str, level, graph, system: &str, median_ms| Row {
            model: "lm".into(),
            preset: "readme".into(),
            workload: workload.into(),
            dtype: "bf16".into(),
            level,
            cuda_graph: graph,
            system: (!system.is_empty()).then(|| system.into()),
            median_ms,
            ..Row::default()
        };
        let mut results = Results::new(Machine::default());
        results.rows = vec![
            row("prefill", 1, false, "", 9.),
            row("decode", 1, false, "", 4.),
            row("decode", 1, true, "", 3.),
            row("decode", 5, false, "", 2.),
            row("decode", 5, true, "", 1.),
            row("decode", 0, false, "pytorch_eager", 5.),
            row("decode", 0, false, "pytorch_graph", 1.5),
        ];
        results
    }

    #[test]
    fn only_the_highest_level_is_shown_as_a_graph() {
        let mut results = results();
        let ms = |results: &Results, level| {
            let decode = results.workload("lm readme decode bf16").unwrap();
            decode.level(level).map(|row| row.median_ms)
        };
        assert_eq!(ms(&results, 1), Some(4.));
        assert_eq!(ms(&results, 3), None);
        assert_eq!(ms(&results, 5), Some(1.));
        results.rows[3].median_ms = 0.5;
        assert_eq!(ms(&results, 5), Some(0.5), "the faster of the two");
    }

    #[test]
    fn each_clock_has_its_own_fastest_rows() {
        let mut results = results();
        for (row, ms) in results.rows[3..].iter_mut().zip([0.5, 0.75, 2., 0.25]) {
            row.device_ms = Some(ms);
        }
        let decode = results.workload("lm readme decode bf16").unwrap();
        assert_eq!(decode.lead(5, Clock::Device), Some(0.5));
        assert_eq!(decode.lead(5, Clock::Host), Some(1.5));
        assert_eq!(results.leads(5, Clock::Device), [0.5]);
    }

    #[test]
    fn another_framework_is_shown_at_its_fastest() {
        let results = results();
        let decode = results.workload("lm readme decode bf16").unwrap();
        let other = decode.other().and_then(|row| row.system.as_deref());
        assert_eq!(other, Some("pytorch_graph"));
        assert_eq!(decode.lead(5, Clock::Host), Some(1.5));
        assert_eq!(decode.lead(5, Clock::Device), None);
        let prefill = results.workload("lm readme prefill bf16").unwrap();
        assert_eq!(prefill.other(), None);
        assert_eq!(prefill.lead(1, Clock::Host), None);
        assert!(results.workload("lm readme decode").is_none(), "f32");
    }
}
