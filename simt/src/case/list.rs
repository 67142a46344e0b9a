//! Lists of numbers: `0,3,5`, or `100*0,4` with a repeat count.

use super::element::Element;

/// Maximum length of a list.
const MOST: usize = 1 << 20;
/// Equal numbers in a row from which on a repeat count is written.
const MANY: usize = 3;

/// Parses a list into bits; `None` if a number is not of this type or there are too many.
pub fn parse(element: Element, text: &str) -> Option<Vec<u64>> {
    let mut all = vec![];
    for part in text.split(',') {
        let (count, number) = part.split_once('*').unwrap_or(("1", part));
        let count: usize = count.parse().ok().filter(|n| *n <= MOST - all.len())?;
        all.resize(all.len() + count, element.parse(number)?);
    }
    Some(all)
}

/// Formats a list as `parse` reads it.
pub fn text(element: Element, values: &[u64]) -> String {
    let run = |run: &[u64]| {
        let number = element.text(run[0]);
        match run.len() {
            n if n >= MANY => format!("{n}*{number}"),
            n => vec![number; n].join(","),
        }
    };
    let runs: Vec<String> = values.chunk_by(|a, b| a == b).map(run).collect();
    runs.join(",")
}
