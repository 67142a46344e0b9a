//! Mutants that are no mistakes, as people have found them to be.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use simt::mutate::Mutant;

use crate::file::read;

/// Those with one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// Why nothing that a kernel promises changes.
    reason: String,
    mutants: Vec<Known>,
}

/// By what is written there, and not by line: a text that moves stays known, one that changes does not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The end of the path.
    file: String,
    entry: String,
    was: String,
    /// Empty for an instruction that is left out.
    now: String,
    /// Which it is of those in the entry that read the same, from 1 on.
    #[serde(default = "first")]
    nth: usize,
}

fn first() -> usize {
    1
}

/// The list.
#[derive(Debug, Default)]
pub struct Equivalents(Vec<Group>);

/// What of the list is about one text: by entry, line and what stands there.
#[derive(Debug, Default)]
pub struct Reasons<'a>(HashMap<(&'a str, u32, &'a str), &'a str>);

impl Equivalents {
    /// Reads the list.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = read(path)?;
        let groups = serde_json::from_str(&text);
        groups
            .map(Self)
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The reasons of a text's mutants. Each of the list that names `file` has to be one of them: the list does not
    /// outlive what it is about.
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
    /// Why a mutant is none, if it is listed.
    pub fn reason(&self, mutant: &Mutant) -> Option<&str> {
        let key = (&*mutant.entry, mutant.line, &*mutant.now);
        self.0.get(&key).copied()
    }
}
