//! Mutants that people have found to be equivalent to the original.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use simt::mutate::Mutant;

use crate::file::read;

/// Equivalent mutants with a common reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// Why no guaranteed result changes.
    reason: String,
    mutants: Vec<Known>,
}

/// A mutant, identified by its text and not by its line, so that it stays known when lines move.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// End of the file's path.
    file: String,
    entry: String,
    was: String,
    /// The replacement; empty for a deleted instruction.
    now: String,
    /// Its index, from 1, among mutants of the entry with the same text.
    #[serde(default = "first")]
    nth: usize,
}

fn first() -> usize {
    1
}

/// All equivalent mutants.
#[derive(Debug, Default)]
pub struct Equivalents(Vec<Group>);

/// Reasons for the mutants of one text, by entry, line and replacement.
#[derive(Debug, Default)]
pub struct Reasons<'a>(HashMap<(&'a str, u32, &'a str), &'a str>);

impl Equivalents {
    /// Reads the JSON list.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = read(path)?;
        let groups = serde_json::from_str(&text);
        groups
            .map(Self)
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Returns the reasons for the mutants of `file`. It is an error if the list names a mutant of this file
    /// that does not exist.
    pub fn of<'a>(&'a self, file: &str, all: &[&'a Mutant]) -> Result<Reasons<'a>, String> {
        let mut reasons = HashMap::new();
        for group in &self.0 {
            let here = |known: &&Known| Path::new(file).ends_with(&known.file);
            for known in group.mutants.iter().filter(here) {
                let same = |m: &&&'a Mutant| {
                    m.entry == known.entry && m.was == known.was && m.now == known.now
                };
                let Some(mutant) = all.iter().filter(same).nth(known.nth.wrapping_sub(1)) else {
                    let Known {
                        entry, was, now, ..
                    } = known;
                    return Err(format!(
                        "{file}: expected the mutant that is listed as equivalent, `{was}` → `{now}` of {entry}, found no such"
                    ));
                };
                let key = (&*mutant.entry, mutant.line, &*mutant.now);
                reasons.insert(key, &*group.reason);
            }
        }
        Ok(Reasons(reasons))
    }
}

impl Reasons<'_> {
    /// Returns why a mutant is equivalent, if it is listed.
    pub fn reason(&self, mutant: &Mutant) -> Option<&str> {
        let key = (&*mutant.entry, mutant.line, &*mutant.now);
        self.0.get(&key).copied()
    }
}
