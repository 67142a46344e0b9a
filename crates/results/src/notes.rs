//! Notes on versions of other frameworks, and the rows they belong to.

use std::collections::BTreeSet;
use std::path::Path;

use data::BadInput;

use crate::Figures;

/// Names of other frameworks, which start their notes.
const NAMES: [&str; 2] = ["PyTorch", "PyG"];

/// Maximum number of notes and length of one.
const MAX_NOTES: usize = 1000;
const LONGEST: usize = 2000;

/// Checks notes, which are printed and become lines of a page in Markdown.
pub(crate) fn check(path: &Path, notes: &[String]) -> Result<(), BadInput> {
    let what = format!("{}: `notes`", path.display());
    if notes.len() > MAX_NOTES {
        return Err(BadInput::new(
            what,
            format!("at most {MAX_NOTES} notes"),
            notes.len(),
        ));
    }
    let is_plain = |note: &&String| {
        note.len() <= LONGEST && data::plain_line(note) == **note && !note.contains(['<', '{', '}'])
    };
    match notes.iter().find(|note| !is_plain(note)) {
        None => Ok(()),
        Some(note) => {
            let expected = format!("sentences of at most {LONGEST} bytes without markup");
            Err(BadInput::new(what, expected, data::short(note)))
        }
    }
}

/// Whether a note is about another framework's version.
pub fn is_version(note: &str) -> bool {
    NAMES.iter().any(|name| note.starts_with(name))
}

/// Adds each of `commits` to a version note, as `PyTorch 2 (commit abc)`; other notes, and those with a
/// commit, stay.
pub(crate) fn of(note: String, commits: &BTreeSet<String>) -> Vec<String> {
    let mut rests = NAMES.iter().filter_map(|name| note.strip_prefix(name));
    if !rests.any(|rest| rest.starts_with(' ')) || commit(&note).is_some() {
        return vec![note];
    }
    let with = |commit: &String| format!("{note} (commit {commit})");
    commits.iter().map(with).collect()
}

/// Returns the commit in a version note; `None` if it applies to all rows.
pub(crate) fn commit(note: &str) -> Option<&str> {
    let (_, commit) = note.strip_suffix(')')?.rsplit_once(" (commit ")?;
    Some(commit)
}

/// Whether a version note is about any of `rows`: with a commit about rows of that commit, without one about
/// rows that have no commit of their own.
pub fn is_about<R: Figures>(note: &str, notes: &[String], rows: &[&R]) -> bool {
    rows.iter().any(|row| {
        let origin = row.origin().map(|origin| origin.commit.as_str());
        let has_own = |origin| notes.iter().any(|note| commit(note) == Some(origin));
        match commit(note) {
            Some(commit) => origin == Some(commit),
            None => !origin.is_some_and(has_own),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpRow, Origin};

    #[test]
    fn a_version_is_shown_with_its_rows() {
        let row = |commit: Option<&str>| OpRow {
            origin: commit.map(|commit| Origin {
                commit: commit.into(),
                date: "2026-01-02".into(),
            }),
            ..OpRow::default()
        };
        let (new, old, older) = (row(None), row(Some("abc")), row(Some("012")));
        let notes = ["PyTorch 2 (commit abc)", "PyTorch 3"].map(String::from);
        let shown = |rows: &[&OpRow]| {
            let about = |note: &&String| is_about(note, &notes, rows);
            notes.iter().filter(about).count()
        };
        assert!(is_about(&notes[0], &notes, &[&old]) && is_about(&notes[1], &notes, &[&new]));
        assert_eq!(
            [shown(&[&old]), shown(&[&new]), shown(&[&old, &new])],
            [1, 1, 2]
        );
        assert!(is_about(&notes[1], &notes, &[&older]), "it has no other");
        let of_def = |note: &str| of(note.into(), &BTreeSet::from(["def".into()]));
        assert_eq!(of_def(&notes[0]), [notes[0].clone()]);
        assert_eq!(of_def("PyTorch's decode waits"), ["PyTorch's decode waits"]);
    }
}
