//! Numbers one after the other: `0,3,5`, or `100*0,4` where many are equal.

use super::element::Element;

/// Numbers of a list at most.
const MOST: usize = 1 << 20;
/// Equal numbers beside each other from which on they are counted.
const MANY: usize = 3;

/// Their bits; `None` if one is no number of this type, or they are too many.
pub fn parse(element: Element, text: &str) -> Option<Vec<u64>> {
    let mut all = vec![];
    for part in text.split(',') {
        let (count, number) = part.split_once('*').unwrap_or(("1", part));
        let count: usize = count.parse().ok().filter(|n| *n <= MOST - all.len())?;
        all.resize(all.len() + count, element.parse(number)?);
    }
    Some(all)
}

/// As `parse` reads it.
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
