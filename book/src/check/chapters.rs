//! Findings in the chapters' Markdown.

use crate::includes::{includes, text_of};
use crate::place;
use anyhow::Result;
use std::path::Path;

/// Includes of a file or an anchor that is not there, or that holds nothing: mdBook would print an
/// empty block.
pub fn stale_anchors(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for include in includes(folder)? {
        let at = place::at(&include.chapter, include.line);
        let file = place::from_root(&include.file);
        let Ok(text) = text_of(&include.file) else {
            found.push(format!("{at}: expected the file {file}, found none"));
            continue;
        };
        if let Some(anchor) = include
            .anchor
            .filter(|a| anchored(&text, a).trim().is_empty())
        {
            found.push(format!(
                "{at}: expected the anchor `{anchor}` in {file}, found none"
            ));
        }
    }
    Ok(found)
}

/// The lines between `ANCHOR: name` and `ANCHOR_END: name`.
fn anchored(text: &str, name: &str) -> String {
    let marks = |line: &&str, mark: &str| line.trim_end().ends_with(&format!("{mark}: {name}"));
    text.lines()
        .skip_while(|line| !marks(line, "ANCHOR"))
        .skip(1)
        .take_while(|line| !marks(line, "ANCHOR_END"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(chapter: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), chapter).unwrap();
        let source = "// ANCHOR: good\nfn f() {}\n// ANCHOR_END: good\n// ANCHOR: goods\n";
        fs::write(folder.path().join("code.rs"), source).unwrap();
        folder
    }

    #[test]
    fn anchors_that_are_not_there() {
        let folder = folder(
            "{{#include code.rs:good}}\n{{#include code.rs:goods}}\n{{#include none.rs:good}}\n",
        );
        let found = stale_anchors(folder.path()).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("a.md:2: expected the anchor `goods`"),
            "{found:?}"
        );
        assert!(found[1].contains("a.md:3: expected the file"), "{found:?}");
    }
}
