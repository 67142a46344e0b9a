//! Looks up a counter in a table that Nsight Compute's scripts wrote, such as `kernels/counters/steps.txt`.
//!
//! The first line names the machine. The next block is the head, and each row begins with its name. A word of a row belongs to
//! the title of the head that begins in the same column.

use anyhow::{Context, Result, bail, ensure};

/// A word of a table, and the machine on which it was read.
#[derive(Debug)]
pub struct Reading {
    pub value: String,
    pub machine: String,
}

/// The word of the row `row` below the title `column`.
///
/// # Errors
/// A row or a title that is not there or that is there twice; a row without a word that begins at this place.
pub fn look_up(table: &str, row: &str, column: &str) -> Result<Reading> {
    let machine = table.lines().next().context("expected a table")?;
    let places = table.lines().skip(1).filter_map(|line| begin(line, column));
    let place = only(places.collect(), &format!("title `{column}`"))?;
    let is_row = |line: &&str| line.strip_prefix(row).is_some_and(ends);
    let rows = table.lines().skip(1).filter(is_row);
    let line = only(rows.collect(), &format!("row `{row}`"))?;
    let starts = line.chars().nth(place.saturating_sub(1)) == Some(' ');
    let word = line.chars().skip(place).take_while(|c| *c != ' ');
    let word: String = word.collect();
    ensure!(
        starts && !word.is_empty(),
        "expected a word of `{row}` below `{column}`"
    );
    Ok(Reading {
        value: word.trim_end_matches(',').into(),
        machine: machine.into(),
    })
}

/// The characters of `line` before `title`, if it has one.
fn begin(line: &str, title: &str) -> Option<usize> {
    let (before, after) = line.split_once(title)?;
    ends(after).then(|| before.chars().count())
}

/// Whether a name ends where `rest` begins.
fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// The element of a list that has exactly one.
fn only<T>(found: Vec<T>, name: &str) -> Result<T> {
    let count = found.len();
    let mut found = found.into_iter();
    match (found.next(), count) {
        (Some(one), 1) => Ok(one),
        _ => bail!("expected one {name}, found {count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
GPU, 2026-11-29

             time  warps active  a warp waits for
             µs    %, possible   memory  barrier
norm         55.4  92, 100       7.4     2.4
norm, wide   18.0  43, 50        11.5    lg_throttle 1.5, wait 0.2
";

    #[test]
    fn a_word_below_its_title() {
        for (row, column, value) in [
            ("norm", "time", "55.4"),
            ("norm", "warps active", "92"),
            ("norm, wide", "memory", "11.5"),
            ("norm, wide", "barrier", "lg_throttle"),
        ] {
            let reading = look_up(TABLE, row, column).unwrap();
            assert_eq!(reading.value, value, "{row}, {column}");
            assert_eq!(reading.machine, "GPU, 2026-11-29");
        }
    }

    #[test]
    fn a_row_and_a_title_that_are_not_there() {
        for (row, column, message) in [
            ("norm", "DRAM", "expected one title `DRAM`, found 0"),
            ("softmax", "time", "expected one row `softmax`, found 0"),
            ("nor", "time", "expected one row `nor`, found 0"),
            // The row ends before it.
            ("norm", "for", "expected a word of `norm` below `for`"),
            // It is inside of a word.
            (
                "norm, wide",
                "for",
                "expected a word of `norm, wide` below `for`",
            ),
        ] {
            let error = look_up(TABLE, row, column).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
