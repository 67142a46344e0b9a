//! Where a level is slower than the level below it.

use super::escape;
use super::table::{Case, cases, levels, name, number};
use results::{OpClock, OpResults, OpRow};

/// Two times that differ by less than this factor are equal.
pub const NOTABLE: f64 = 1.03;

/// A recorded run and the name of its file.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// `h200`
    pub on: &'a str,
    /// The run.
    pub results: &'a OpResults,
}

/// A level that is slower than the one below.
#[derive(Debug, Clone, PartialEq)]
pub struct Slower<'a> {
    /// The name of the record.
    pub on: &'a str,
    /// The row of the level.
    pub row: &'a OpRow,
    /// The level below.
    below: &'a str,
    /// The level's time in times of the level below.
    ratio: f64,
}

/// All levels of an op that are slower than the one below, in the order of its table.
pub fn slower<'a>(record: &Record<'a>, op: &str) -> Vec<Slower<'a>> {
    let cases = cases(record.results, op);
    cases
        .iter()
        .flat_map(|case| of_case(record.on, case))
        .collect()
}

fn of_case<'a>(on: &'a str, case: &Case<'a>) -> Vec<Slower<'a>> {
    let rows = levels(case);
    let clock = OpClock::of(rows.iter().copied());
    let mut found = vec![];
    for row in &rows {
        let below = |other: &&&OpRow| number(&other.level) < number(&row.level);
        let Some(other) = rows.iter().rfind(below) else {
            continue;
        };
        let ratio = clock.us(row) / clock.us(other);
        if ratio > NOTABLE {
            found.push(Slower {
                on,
                row,
                below: &other.level,
                ratio,
            });
        }
    }
    found
}

impl Slower<'_> {
    /// `Level 3 takes 1.4 times as long as level 2 at 1 × 512 × 512 in bf16.`
    pub fn sentence(&self) -> String {
        let OpRow {
            level,
            shape,
            dtype,
            ..
        } = self.row;
        format!(
            "{} takes {} times as long as {} at {} in {dtype}.",
            name(level).replacen('l', "L", 1),
            times_as_long(self.ratio),
            name(self.below),
            escape::shape(shape)
        )
    }
}

/// `1.04`, `2.3` or `12`
pub fn times_as_long(ratio: f64) -> String {
    match ratio {
        small if small < 1.095 => format!("{small:.2}"),
        middle if middle < 9.95 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Machine;

    #[test]
    fn a_slower_level_is_named() {
        let row = |level: &str, host_us: f64| OpRow {
            op: "linear".into(),
            shape: "1x512x512".into(),
            level: level.into(),
            dtype: "bf16".into(),
            host_us,
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default());
        results.rows = vec![
            row("level1", 5.),
            row("level2", 10.),
            row("level3", 14.),
            row("level4", 14.4),
            row("lut", 144.),
            row("pytorch", 1000.),
        ];
        let record = Record {
            on: "cpu",
            results: &results,
        };
        let found: Vec<String> = slower(&record, "linear")
            .iter()
            .map(Slower::sentence)
            .collect();
        assert_eq!(
            found,
            [
                "Level 2 takes 2.0 times as long as level 1 at 1 × 512 × 512 in bf16.",
                "Level 3 takes 1.4 times as long as level 2 at 1 × 512 × 512 in bf16.",
                "Level 4 (lut) takes 10 times as long as level 3 at 1 × 512 × 512 in bf16.",
            ]
        );
    }
}
