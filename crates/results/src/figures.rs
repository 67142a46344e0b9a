//! Validity of recorded rows, so that charts and tables can show them.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;

use data::{BadInput, short};

use crate::machine::{DATE, TEXT, is_date, is_plain};
use crate::{Kind, Origin};

/// The number of the highest level.
pub const HIGHEST: u8 = 5;

/// Valid times, in milliseconds or microseconds. Ratios of two of them are finite.
const TIMES: RangeInclusive<f64> = 1e-9..=1e12;
/// Maximum length of a name, which becomes part of file names.
const LONGEST: usize = 60;

/// A row of recorded figures.
pub trait Figures {
    /// Default kind of files with such rows.
    const KIND: Kind;

    /// The row's key.
    fn address(&self) -> String;

    /// The rows that are measured and replaced together: `lm readme f32`.
    fn part(&self) -> String;

    /// The row's subject within its part: an op's shape, or a workload. A run that replaces a part must cover
    /// all its subjects.
    fn subject(&self) -> String;

    /// The commit of the measurement, if it differs from the file's.
    fn origin(&self) -> Option<&Origin>;

    /// See [`origin`](Self::origin).
    fn origin_mut(&mut self) -> &mut Option<Origin>;

    /// Checks every field.
    ///
    /// # Errors
    /// The first invalid field.
    fn check(&self) -> Result<(), Wrong>;
}

/// Names the rows that were measured at other commits than their file's, one sentence per commit:
/// `Measured at commit abc, 2026-11-21: lm smollm-135m f32, vit b16 f32`.
pub fn earlier<'a, R: Figures + 'a>(rows: impl IntoIterator<Item = &'a R>) -> Vec<String> {
    let mut found: Vec<(&Origin, Vec<String>)> = vec![];
    for row in rows {
        let Some(origin) = row.origin() else { continue };
        let part = row.part();
        match found.iter_mut().find(|(other, _)| *other == origin) {
            Some((_, parts)) if parts.contains(&part) => (),
            Some((_, parts)) => parts.push(part),
            None => found.push((origin, vec![part])),
        }
    }
    let sentence = |(Origin { commit, date }, parts): (&Origin, Vec<String>)| {
        format!("Measured at commit {commit}, {date}: {}", parts.join(", "))
    };
    found.into_iter().map(sentence).collect()
}

/// An invalid field.
#[derive(Debug, PartialEq)]
pub struct Wrong {
    field: &'static str,
    expected: String,
    found: String,
}

impl Wrong {
    fn new(field: &'static str, expected: impl Display, found: impl Display) -> Self {
        Self {
            field,
            expected: expected.to_string(),
            found: short(found),
        }
    }
}

/// Checks all rows of a file.
pub(crate) fn check<R: Figures>(path: &Path, rows: &[R]) -> Result<(), BadInput> {
    let mut seen = HashMap::new();
    for (i, row) in rows.iter().enumerate() {
        let address = row.address();
        if let Some(first) = seen.insert(address.clone(), i + 1) {
            let what = format!("{}: row {}, {}", path.display(), i + 1, short(address));
            return Err(BadInput::new(
                what,
                "each row once",
                format!("it in row {first}, too"),
            ));
        }
        let measured = row.origin().map_or(Ok(()), origin);
        measured.and_then(|()| row.check()).map_err(|wrong| {
            let (file, number) = (path.display(), i + 1);
            let what = format!(
                "{file}: row {number}, {}: `{}`",
                short(row.address()),
                wrong.field
            );
            BadInput::new(what, wrong.expected, wrong.found)
        })?;
    }
    Ok(())
}

/// Checks names, which must be valid in file names.
pub(crate) fn names<const N: usize>(names: [(&'static str, &str); N]) -> Result<(), Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_+".contains(c);
    let is_name = |name: &str| (1..=LONGEST).contains(&name.len()) && name.chars().all(plain);
    match names.into_iter().find(|(_, name)| !is_name(name)) {
        None => Ok(()),
        Some((field, name)) => {
            let expected = format!("a name of 1 to {LONGEST} letters, digits, '-', '_' and '+'");
            Err(Wrong::new(field, expected, format!("{name:?}")))
        }
    }
}

/// Checks a row's commit and date.
fn origin(Origin { commit, date }: &Origin) -> Result<(), Wrong> {
    text("origin.commit", commit)?;
    if is_date(date) {
        Ok(())
    } else {
        Err(Wrong::new("origin.date", DATE, date))
    }
}

/// Checks text for people.
pub(crate) fn text(field: &'static str, found: &str) -> Result<(), Wrong> {
    if found.trim().is_empty() {
        Err(Wrong::new(field, "words", format!("{found:?}")))
    } else if is_plain(found) {
        Ok(())
    } else {
        Err(Wrong::new(field, TEXT, found))
    }
}

/// Checks times and ratios of times.
pub(crate) fn times<const N: usize>(times: [(&'static str, Option<f64>); N]) -> Result<(), Wrong> {
    for (field, time) in times {
        if let Some(time) = time.filter(|time| !TIMES.contains(time)) {
            let expected = format!("a number from {:e} to {:e}", TIMES.start(), TIMES.end());
            return Err(Wrong::new(field, expected, time));
        }
    }
    Ok(())
}

/// Checks that a median lies between its quantiles, and each of them above the one before.
pub(crate) fn ordered<const N: usize>(times: [(&'static str, f64); N]) -> Result<(), Wrong> {
    let wrong = times.windows(2).find(|pair| pair[0].1 > pair[1].1);
    wrong.map_or(Ok(()), |pair| {
        let expected = format!("at most `{}`, which is {}", pair[1].0, pair[1].1);
        Err(Wrong::new(pair[0].0, expected, pair[0].1))
    })
}

/// Checks the difference of two answers.
pub(crate) fn difference(field: &'static str, found: f64) -> Result<(), Wrong> {
    if found.is_finite() && found >= 0. {
        Ok(())
    } else {
        Err(Wrong::new(field, "a number from 0", found))
    }
}

/// Checks counts, which must be positive.
pub(crate) fn counts<const N: usize>(
    counts: [(&'static str, Option<u64>); N],
) -> Result<(), Wrong> {
    match counts.into_iter().find(|(_, count)| *count == Some(0)) {
        None => Ok(()),
        Some((field, _)) => Err(Wrong::new(field, "a number above 0", 0)),
    }
}

/// Checks the number of a level.
pub(crate) fn level(found: u8) -> Result<(), Wrong> {
    if (1..=HIGHEST).contains(&found) {
        Ok(())
    } else {
        Err(Wrong::new("level", format!("1 to {HIGHEST}"), found))
    }
}

/// Checks a name such as `level4`, or another system's name.
pub(crate) fn level_name(found: &str) -> Result<(), Wrong> {
    names([("level", found)])?;
    let Some(number) = found.strip_prefix("level") else {
        return Ok(());
    };
    if (1..=HIGHEST).any(|level| level.to_string() == number) {
        Ok(())
    } else {
        let expected = format!("level1 to level{HIGHEST}, or another's name");
        Err(Wrong::new("level", expected, format!("{found:?}")))
    }
}

/// Checks that another framework has level 0.
pub(crate) fn no_level(found: u8) -> Result<(), Wrong> {
    match found {
        0 => Ok(()),
        found => Err(Wrong::new("level", "0, of another framework", found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpRow, Row, SweepRow};

    fn row() -> Row {
        Row {
            model: "lm".into(),
            preset: "tiny".into(),
            workload: "decode".into(),
            level: 4,
            dtype: "f32".into(),
            median_ms: 1.,
            low_ms: 0.9,
            high_ms: 1.1,
            speedup: 2.,
            samples: 5,
            ..Row::default()
        }
    }

    fn op() -> OpRow {
        OpRow {
            op: "linear".into(),
            shape: "255+1x512x512".into(),
            level: "level4".into(),
            dtype: "f32".into(),
            host_us: 12.5,
            flops: Some(524_288),
            ..OpRow::default()
        }
    }

    fn sweep() -> SweepRow {
        SweepRow {
            model: "lm".into(),
            preset: "tiny".into(),
            axis: "tokens".into(),
            what: "tokens of a prompt".into(),
            size: 128,
            samples: 5,
            level: 4,
            dtype: "f32".into(),
            median_ms: 1.,
            low_ms: 0.9,
            high_ms: 1.1,
            ..SweepRow::default()
        }
    }

    /// Returns the invalid field after a change.
    fn wrong<R: Figures>(mut row: R, change: impl FnOnce(&mut R)) -> &'static str {
        assert_eq!(row.check(), Ok(()));
        change(&mut row);
        row.check().map_or_else(|wrong| wrong.field, |()| "nothing")
    }

    #[test]
    fn invalid_times_are_found() {
        for odd in [0., -1., f64::NAN, f64::INFINITY, 1e-12, 1e13] {
            assert_eq!(wrong(row(), |row| row.median_ms = odd), "median_ms");
            assert_eq!(wrong(row(), |row| row.low_ms = odd), "low_ms");
            assert_eq!(wrong(row(), |row| row.high_ms = odd), "high_ms");
            assert_eq!(wrong(row(), |row| row.device_ms = Some(odd)), "device_ms");
            assert_eq!(wrong(row(), |row| row.speedup = odd), "speedup");
            assert_eq!(wrong(op(), |row| row.host_us = odd), "host_us");
            assert_eq!(wrong(op(), |row| row.device_us = Some(odd)), "device_us");
            assert_eq!(wrong(op(), |row| row.cuda_graph_us = Some(odd)), "graph_us");
            assert_eq!(wrong(op(), |row| row.cold_us = Some(odd)), "cold_us");
            assert_eq!(wrong(op(), |row| row.low_us = Some(odd)), "low_us");
            assert_eq!(wrong(op(), |row| row.high_us = Some(odd)), "high_us");
            assert_eq!(wrong(sweep(), |row| row.median_ms = odd), "median_ms");
            assert_eq!(wrong(sweep(), |row| row.low_ms = odd), "low_ms");
            assert_eq!(wrong(sweep(), |row| row.high_ms = odd), "high_ms");
        }
    }

    #[test]
    fn quantiles_are_in_order() {
        assert_eq!(wrong(row(), |row| row.low_ms = 1.05), "low_ms");
        assert_eq!(wrong(row(), |row| row.median_ms = 1.2), "median_ms");
        assert_eq!(wrong(sweep(), |row| row.high_ms = 0.95), "median_ms");
        let swapped = |row: &mut OpRow| (row.low_us, row.high_us) = (Some(2.), Some(1.));
        assert_eq!(wrong(op(), swapped), "low_us");
        for odd in [-1., f64::INFINITY, f64::NAN] {
            assert_eq!(
                wrong(row(), |row| row.max_difference = odd),
                "max_difference"
            );
        }
    }

    #[test]
    fn names_must_be_valid_in_file_names() {
        for odd in ["", "a b", "../lm", "lm\n", "é", &"x".repeat(61)] {
            assert_eq!(wrong(row(), |row| row.model = odd.into()), "model");
            assert_eq!(wrong(row(), |row| row.preset = odd.into()), "preset");
            assert_eq!(wrong(row(), |row| row.workload = odd.into()), "workload");
            assert_eq!(wrong(row(), |row| row.dtype = odd.into()), "dtype");
            assert_eq!(wrong(row(), |row| row.system = Some(odd.into())), "system");
            assert_eq!(wrong(op(), |row| row.op = odd.into()), "op");
            assert_eq!(wrong(op(), |row| row.shape = odd.into()), "shape");
            assert_eq!(wrong(op(), |row| row.level = odd.into()), "level");
            assert_eq!(wrong(op(), |row| row.dtype = odd.into()), "dtype");
            assert_eq!(wrong(sweep(), |row| row.axis = odd.into()), "axis");
        }
        for odd in [" ", "<script>", "a\nb", "\u{1b}[2J", &"x".repeat(201)] {
            assert_eq!(wrong(sweep(), |row| row.what = odd.into()), "what");
            let kernels = |row: &mut OpRow| row.kernels.push(odd.into());
            assert_eq!(wrong(op(), kernels), "kernels");
        }
    }

    #[test]
    fn invalid_levels_are_found() {
        for odd in [0, HIGHEST + 1, 255] {
            assert_eq!(wrong(row(), |row| row.level = odd), "level");
            assert_eq!(wrong(sweep(), |row| row.level = odd), "level");
            assert_eq!(
                wrong(op(), |row| row.level = format!("level{odd}")),
                "level"
            );
        }
        assert_eq!(wrong(op(), |row| row.level = "level04".into()), "level");
        assert_eq!(wrong(op(), |row| row.level = "copy".into()), "nothing");
        let other = |row: &mut Row| row.system = Some("pytorch_eager".into());
        assert_eq!(wrong(row(), other), "level");
        let without = |row: &mut Row| {
            other(row);
            row.level = 0;
        };
        assert_eq!(wrong(row(), without), "nothing");
    }

    #[test]
    fn sizes_on_an_axis_must_be_positive() {
        assert_eq!(wrong(op(), |row| row.flops = Some(0)), "flops");
        assert_eq!(wrong(op(), |row| row.bytes = Some(0)), "bytes");
        assert_eq!(wrong(op(), |row| row.needs_flops = Some(0)), "nothing");
        assert_eq!(wrong(sweep(), |row| row.size = 0), "size");
    }

    #[test]
    fn a_commit_names_each_of_its_parts_once() {
        let row = |preset: &str, commit: Option<&str>| Row {
            model: "lm".into(),
            preset: preset.into(),
            dtype: "f32".into(),
            origin: commit.map(|commit| Origin {
                commit: commit.into(),
                date: "2026-11-21".into(),
            }),
            ..Row::default()
        };
        let rows = [
            row("tiny", None),
            row("readme", Some("abc")),
            row("readme", Some("abc")),
            row("b", Some("def")),
            row("a", Some("abc")),
        ];
        let expected = [
            "Measured at commit abc, 2026-11-21: lm readme f32, lm a f32",
            "Measured at commit def, 2026-11-21: lm b f32",
        ];
        assert_eq!(earlier(&rows), expected);
    }

    #[test]
    fn a_row_is_there_once() {
        let other = Row { level: 5, ..row() };
        let path = Path::new("a.json");
        check(path, &[row(), other.clone()]).unwrap();
        let error = check(path, &[row(), other, row()]).unwrap_err().to_string();
        assert!(error.starts_with("a.json: row 3, "), "{error}");
        assert!(
            error.ends_with("expected each row once, found it in row 1, too"),
            "{error}"
        );
    }

    #[test]
    fn nothing_was_measured_without_a_sample() {
        let none = Row {
            samples: 0,
            ..row()
        };
        let error = none.check().unwrap_err();
        assert_eq!((error.field, &*error.found), ("samples", "0"));
        let none = OpRow {
            samples: Some(0),
            ..op()
        };
        assert_eq!(none.check().unwrap_err().field, "samples");
    }
}
