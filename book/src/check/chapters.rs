//! Findings in the chapters' Markdown.

use crate::includes::{chapters, functions, includes};
use crate::place;
use crate::rust::{self, Function};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Includes of a file or an anchor that is not there, or that holds nothing: mdBook would print an
/// empty block.
pub fn stale_anchors(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for include in includes(folder)? {
        let at = place::at(&include.chapter, include.line);
        let file = place::from_root(&include.file);
        let Ok(text) = fs::read_to_string(&include.file) else {
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

/// Methods of a level and public functions of its `levels/levelN/src/ops.rs` that the chapter `levelN.md` does not show.
pub fn ops_without_a_section(folder: &Path, repository: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for chapter in chapters(folder)? {
        let level = chapter.file_stem().unwrap_or_default().to_string_lossy();
        let ops = repository.join(format!("levels/{level}/src/ops.rs"));
        let Ok(text) = fs::read_to_string(&ops) else {
            continue;
        };
        let shown: BTreeSet<String> = functions(folder, repository)?
            .into_iter()
            .filter(|shown| shown.chapter == chapter && shown.file == ops)
            .map(|shown| last_name(&shown.name).to_string())
            .collect();
        let is_op = |function: &Function| match &function.owner {
            Some(owner) => owner.to_lowercase() == level && function.name != "level",
            None => function.is_public,
        };
        let ops = rust::functions(&text)?.into_iter().filter(is_op);
        let names: BTreeSet<String> = ops.map(|function| function.name).collect();
        found.extend(names.difference(&shown).map(|op| {
            format!(
                "{}: expected a section that shows `{op}`, found none",
                place::from_root(&chapter)
            )
        }));
    }
    Ok(found)
}

/// `Type::name` without its type.
fn last_name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn an_op_that_no_section_shows() {
        let repository = tempfile::tempdir().unwrap();
        let source = "impl Ops for Level1 {\n fn level() {}\n fn linear() {}\n fn norm_qkv() {}\n fn attention() {}\n}\n\
                      pub fn linear() {}\npub fn softmax() {}\nfn product() {}\n";
        let write = |path: &str, text: &str| {
            let path = repository.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("levels/level1/src/ops.rs", source);
        let chapter = "{{fn levels/level1/src/ops.rs linear}}\n{{fn levels/level1/src/ops.rs Level1::norm_qkv}}\n";
        write("chapters/level1.md", chapter);
        write(
            "chapters/other.md",
            "{{fn levels/level1/src/ops.rs softmax}}\n",
        );
        let chapters = repository.path().join("chapters");
        let found = ops_without_a_section(&chapters, repository.path()).unwrap();
        let ends = ["`attention`, found none", "`softmax`, found none"];
        assert_eq!(found.len(), ends.len(), "{found:?}");
        for (found, end) in found.iter().zip(ends) {
            assert!(found.ends_with(end), "{found}");
        }
    }
}
