//! Mutants that are no mistakes, as people have found them to be.

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
    was: String,
    /// Empty for an instruction that is left out.
    now: String,
}

impl Known {
    fn is(&self, file: &str, mutant: &Mutant) -> bool {
        Path::new(file).ends_with(&self.file) && mutant.was == self.was && mutant.now == self.now
    }
}

/// The list.
#[derive(Debug, Default)]
pub struct Equivalents(Vec<Group>);

impl Equivalents {
    /// Reads the list.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = read(path)?;
        let groups = serde_json::from_str(&text);
        groups
            .map(Self)
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Each of the list that names `file` is one of its mutants: the list does not outlive what it is about.
    pub fn check<'a>(
        &self,
        file: &str,
        mutants: impl Iterator<Item = &'a Mutant> + Clone,
    ) -> Result<(), String> {
        let all = self.0.iter().flat_map(|group| &group.mutants);
        for known in all.filter(|known| Path::new(file).ends_with(&known.file)) {
            if !mutants.clone().any(|m| known.is(file, m)) {
                let Known { was, now, .. } = known;
                return Err(format!(
                    "{file}: expected the mutant that is listed as equivalent, `{was}` → `{now}`, found no such"
                ));
            }
        }
        Ok(())
    }

    /// Why a mutant is none, if it is listed.
    pub fn reason(&self, file: &str, mutant: &Mutant) -> Option<&str> {
        let has = |group: &&Group| group.mutants.iter().any(|known| known.is(file, mutant));
        self.0.iter().find(has).map(|group| group.reason.as_str())
    }
}
