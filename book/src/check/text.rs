//! Findings in what the chapters say of the repository: commands, paths, words.

use crate::glossary::{CHAPTER, term};
use crate::place;
use crate::shell::blocks;
use anyhow::Result;
use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Commands that stand where nothing runs them: indented, or in a block that is not `sh`.
pub fn commands_outside_of_blocks(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(file)?;
        let inside: BTreeSet<usize> = blocks(file)?
            .iter()
            .flat_map(|block| block.line..=block.line + block.text.lines().count())
            .collect();
        for (i, line) in text
            .lines()
            .enumerate()
            .filter(|(i, _)| !inside.contains(i))
        {
            if line.trim_start().starts_with("cargo ") {
                let at = place::at(file, i + 1);
                found.push(format!(
                    "{at}: expected a block of `sh`, found `{}`",
                    line.trim()
                ));
            }
        }
    }
    Ok(found)
}

/// Paths of the repository, in backticks, that lead nowhere.
pub fn paths_to_nowhere(repository: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let path = Regex::new(r"`([a-z]\w*(?:/[\w.-]+)+\.(?:rs|cuh?|ptx|py|json|toml|sh|md))`")?;
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(file)?;
        for (i, line) in text.lines().enumerate() {
            let named = path
                .captures_iter(line)
                .map(|captures| captures[1].to_string());
            let made = |path: &String| {
                ["target/", "my-exercises/"]
                    .iter()
                    .any(|f| path.starts_with(f))
            };
            let missing = named.filter(|path| !made(path) && !repository.join(path).exists());
            let at = place::at(file, i + 1);
            found.extend(
                missing
                    .map(|path| format!("{at}: expected a file, found none of the name `{path}`")),
            );
        }
    }
    Ok(found)
}

/// Terms of the glossary that stand in the wrong order or that no chapter uses.
pub fn glossary(folder: &Path, chapters: &[PathBuf]) -> Result<Vec<String>> {
    let glossary = folder.join(CHAPTER);
    let Ok(text) = fs::read_to_string(&glossary) else {
        return Ok(vec![]);
    };
    let mut prose = String::new();
    for chapter in chapters.iter().filter(|chapter| **chapter != glossary) {
        prose += &fs::read_to_string(chapter)?.to_lowercase();
    }
    let terms: Vec<&str> = text.lines().filter_map(term).collect();
    let at = place::from_root(&glossary);
    let mut found = Vec::new();
    for pair in terms
        .windows(2)
        .filter(|pair| pair[0].to_lowercase() >= pair[1].to_lowercase())
    {
        found.push(format!("{at}: expected `{}` before `{}`", pair[1], pair[0]));
    }
    for term in &terms {
        // `Host and device` are two words.
        let words = term.to_lowercase();
        if words.split(" and ").any(|word| !prose.contains(word)) {
            found.push(format!(
                "{at}: expected a chapter that uses `{term}`, found none"
            ));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(chapter: &str, glossary: &str) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("a.md", chapter),
            ("glossary.md", glossary),
            ("code/lib.rs", ""),
        ];
        fs::create_dir(folder.path().join("code")).unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let chapters = ["a.md", "glossary.md"].map(|name| folder.path().join(name));
        (folder, chapters.to_vec())
    }

    #[test]
    fn commands_that_nothing_runs() {
        let text =
            "```sh\ncargo a\n```\n\n    cargo b\n\n```text\ncargo c\n```\n`cargo d` is fine\n";
        let (_folder, files) = folder(text, "");
        let found = commands_outside_of_blocks(&files).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].ends_with("a.md:5: expected a block of `sh`, found `cargo b`"),
            "{found:?}"
        );
    }

    #[test]
    fn paths_that_lead_nowhere() {
        let (folder, files) = folder(
            "`code/lib.rs`, `code/gone.rs`, `target/a.json`, `a::b`, `x/y`",
            "",
        );
        let found = paths_to_nowhere(folder.path(), &files).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`code/gone.rs`"), "{found:?}");
    }

    #[test]
    fn terms_in_order_and_in_use() {
        let terms = "# Glossary\n\n### Warp\n\n32 threads.\n\n### Lane\n\nOne.\n\n### Host and device\n\nTwo.\n";
        let (folder, files) = folder("A warp has lanes; the host has none.", terms);
        let found = glossary(folder.path(), &files).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].ends_with("expected `Lane` before `Warp`"),
            "{found:?}"
        );
        assert!(found[2].contains("`Host and device`"), "{found:?}");
    }
}
