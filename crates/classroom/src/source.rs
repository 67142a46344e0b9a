//! A source file that contains both solution and starter.
//!
//! ```text
//! // REGION: guard
//!     setp.ge.u32 %done, %i, %n;
//! //|     // Threads beyond the last element have nothing to do.
//! // END
//! ```
//!
//! The lines between `// REGION: name` and `// END` are the learner's to write. Lines that begin with `//|`
//! belong to the starter, the others to the solution. A region without `//|` starts as the solution with a
//! defect: see [`Edit`].

use data::BadInput;
use serde::Deserialize;

/// A replacement at one place of a text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The text to replace, which must occur exactly once.
    pub replace: String,
    /// The replacement.
    pub with: String,
}

impl Edit {
    /// Applies the edit to `text`, which errors call `name`.
    ///
    /// # Errors
    /// The text to replace does not occur exactly once.
    pub fn apply(&self, text: &str, name: &str) -> Result<String, BadInput> {
        match text.matches(&self.replace).count() {
            1 => Ok(text.replacen(&self.replace, &self.with, 1)),
            n => {
                let expected = format!("`{}` in the solution once", self.replace);
                Err(BadInput::new(name, expected, format!("it {n} times")))
            }
        }
    }
}

/// A difference between submission and starter outside the regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Line of the submission, from 1.
    pub line: usize,
    /// The starter's line.
    pub expected: String,
    /// The submission's.
    pub found: String,
}

/// A region as the learner has filled it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled<'a> {
    /// Name of the region.
    pub name: &'a str,
    /// Line number of its first line, from 1.
    pub line: usize,
    /// The lines.
    pub lines: Vec<&'a str>,
}

const BEGIN: &str = "// REGION:";
const STARTER: &str = "//|";
const END: &str = "// END";

/// Returns the name of the region that a line begins.
fn begins(line: &str) -> Option<&str> {
    line.trim().strip_prefix(BEGIN).map(str::trim)
}

fn ends(line: &str) -> bool {
    line.trim() == END
}

/// Returns the solution: the source without the starter's lines.
pub fn solution(source: &str) -> String {
    let lines = source
        .lines()
        .filter(|line| !line.trim_start().starts_with(STARTER));
    joined(lines)
}

/// Returns the starter; `edits` insert its defects.
///
/// # Errors
/// An edit does not apply, a region has no end, or one is equal in starter and solution.
pub fn starter(source: &str, edits: &[Edit], name: &str) -> Result<String, BadInput> {
    let mut lines: Vec<&str> = vec![];
    let mut region: Option<(Vec<&str>, Vec<&str>)> = None;
    for line in source.lines() {
        let trimmed = line.trim_start();
        match (&mut region, trimmed.strip_prefix(STARTER)) {
            (Some(_), _) if ends(line) => {
                let (solution, starter) = region.take().unwrap_or_default();
                lines.extend(if starter.is_empty() {
                    solution
                } else {
                    starter
                });
                lines.push(line);
            }
            (Some((_, starter)), Some(text)) => {
                starter.push(text.strip_prefix(' ').unwrap_or(text))
            }
            (Some((solution, _)), None) => solution.push(line),
            (None, _) => {
                lines.push(line);
                region = begins(line).map(|_| (vec![], vec![]));
            }
        }
    }
    if region.is_some() {
        return Err(BadInput::new(
            name,
            format!("`{END}` after each region"),
            "none",
        ));
    }
    let mut text = joined(lines.into_iter());
    for edit in edits {
        text = edit.apply(&text, name)?;
    }
    let found = match (regions(&text), regions(source)) {
        (_, whole) if whole.is_empty() => "none",
        (starter, whole) if starter == whole => "the solution's",
        _ => return Ok(text),
    };
    Err(BadInput::new(
        name,
        "a region that differs in the starter",
        found,
    ))
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the regions of a text in order.
pub fn regions(text: &str) -> Vec<Filled<'_>> {
    let mut found: Vec<Filled> = vec![];
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        match (inside, begins(line)) {
            (true, _) if ends(line) => inside = false,
            (true, _) => found
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|f| f.lines.push(line)),
            (false, Some(name)) => {
                inside = true;
                found.push(Filled {
                    name,
                    line: number + 1,
                    lines: vec![],
                });
            }
            (false, None) => {}
        }
    }
    found
}

/// Returns the first region without an end: its line, and what was found instead of `// END`.
pub fn unended(text: &str) -> Option<(usize, String)> {
    let mut begun: Option<usize> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (begun, begins(line)) {
            (Some(begin), Some(_)) => {
                return Some((begin, format!("`{}` in line {number}", line.trim())));
            }
            (None, Some(_)) => begun = Some(number),
            _ if ends(line) => begun = None,
            _ => {}
        }
    }
    begun.map(|begin| (begin, "the end of the file".into()))
}

/// Checks that a submission equals its starter outside the regions, except for the amount of white space.
///
/// # Errors
/// The first line that differs.
pub fn compare(submission: &str, starter: &str) -> Result<(), Changed> {
    let mut expected = outside(starter).into_iter();
    let mut last = 0;
    for (line, found) in outside(submission) {
        last = line;
        match expected.next() {
            Some((_, text)) if text.split_whitespace().eq(found.split_whitespace()) => {}
            Some((_, text)) => return Err(changed(line, text, found)),
            None if found.trim().is_empty() => {}
            None => return Err(changed(line, "the end of the file", found)),
        }
    }
    match expected.find(|(_, text)| !text.trim().is_empty()) {
        None => Ok(()),
        Some((_, text)) => Err(changed(last + 1, text, "the end of the file")),
    }
}

fn changed(line: usize, expected: &str, found: &str) -> Changed {
    Changed {
        line,
        expected: expected.trim().to_owned(),
        found: found.trim().to_owned(),
    }
}

/// Lines outside the regions with their numbers, including the markers.
pub(crate) fn outside(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut lines = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        inside &= !ends(line);
        if !inside {
            lines.push((number, line));
            inside = begins(line).is_some();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "a\n// REGION: one\nright\n  //| todo\n// END\nb\n";

    #[test]
    fn a_source_contains_solution_and_starter() {
        assert_eq!(solution(SOURCE), "a\n// REGION: one\nright\n// END\nb\n");
        let starter = starter(SOURCE, &[], "x").unwrap();
        assert_eq!(starter, "a\n// REGION: one\ntodo\n// END\nb\n");
    }

    #[test]
    fn an_edit_inserts_a_defect() {
        let source = "// REGION: one\nx > n\n// END\n";
        let edit = |replace: &str| Edit {
            replace: replace.into(),
            with: "<".into(),
        };
        assert!(
            starter(source, &[edit(">")], "x")
                .unwrap()
                .contains("x < n")
        );
        for edits in [vec![edit("=")], vec![edit("E")], vec![]] {
            let error = starter(source, &edits, "x").unwrap_err().to_string();
            assert!(error.starts_with("x: expected "), "{error}");
        }
        assert!(starter("// REGION: a\nb\n", &[], "x").is_err());
    }

    #[test]
    fn a_region_needs_an_end() {
        assert_eq!(unended(SOURCE), None);
        let last = SOURCE.replace("// END\n", "");
        assert_eq!(unended(&last), Some((2, "the end of the file".into())));
        let first = format!("{last}{SOURCE}");
        assert_eq!(
            unended(&first),
            Some((2, "`// REGION: one` in line 7".into()))
        );
    }

    #[test]
    fn only_regions_may_differ() {
        let starter = starter(SOURCE, &[], "x").unwrap();
        let filled = "a  \r\n// REGION: one\nmy\nown\n// END\nb\n\n";
        assert_eq!(compare(filled, &starter), Ok(()));
        let of_one = Filled {
            name: "one",
            line: 3,
            lines: vec!["my", "own"],
        };
        assert_eq!(regions(filled), [of_one]);
        for (text, line) in [
            ("A\n// REGION: one\n// END\nb\n", 1),
            ("a\n// REGION: one\n// END\nb\nc\n", 5),
            ("a\n// REGION: one\n// END\n", 4),
            ("a\n// REGION: one\nb\n", 3),
            ("", 1),
        ] {
            assert_eq!(compare(text, &starter).unwrap_err().line, line, "{text:?}");
        }
    }
}
