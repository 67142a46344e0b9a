//! Excerpts of kernels, which chapters include, or compare in a `{{diff}}`, by line numbers. `book/excerpts.json` keeps the
//! first and the last line of each, so that a line added above an excerpt is a finding.
//! `CANDLEPOWER_UPDATE=1 cargo run -p book -- test` writes the file again.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

use crate::includes::{each, text_of};
use crate::place;

/// First and last line of each excerpt, by `FILE:FIRST:LAST`.
type Excerpts = BTreeMap<String, [String; 2]>;

/// Excerpts that are not what they were, and those that `file` does not know; `folder` has the chapters.
pub fn moved(folder: &Path, repository: &Path, file: &Path) -> Result<Vec<String>> {
    let (now, places) = excerpts(folder, repository)?;
    if std::env::var_os("CANDLEPOWER_UPDATE").is_some() {
        data::write_atomically(file, serde_json::to_string_pretty(&now)? + "\n")?;
    }
    let text = text_of(file).with_context(|| file.display().to_string())?;
    let kept: Excerpts = serde_json::from_str(&text).context("book/excerpts.json")?;
    let mut found = vec![];
    for (excerpt, lines) in &now {
        let at = &places[excerpt];
        match kept.get(excerpt) {
            Some(kept) if kept == lines => {}
            Some([first, _]) => found.push(format!(
                "{at}: {excerpt}: expected to begin with `{}` and to end as before; if the lines moved, move the numbers",
                first.trim()
            )),
            None => found.push(format!("{at}: {excerpt}: expected in book/excerpts.json, found none")),
        }
    }
    Ok(found)
}

/// The excerpts of all chapters, and where the chapter includes each.
fn excerpts(folder: &Path, repository: &Path) -> Result<(Excerpts, BTreeMap<String, String>)> {
    let directive = Regex::new(r"\{\{(?:#include|diff) ([^}]*)\}\}")?;
    let lines = Regex::new(r"(?:\.\./)*([^:\s]+):(\d+):(\d+)")?;
    let found = each(folder, &directive, |chapter, line, captures| {
        let all = lines.captures_iter(&captures[1]);
        let all = all.map(|captures| [1, 2, 3].map(|i| captures[i].to_string()));
        (place::at(chapter, line), all.collect::<Vec<_>>())
    })?;
    let found = found
        .iter()
        .flat_map(|(at, all)| all.iter().map(move |part| (at.clone(), part)));
    let (mut all, mut places) = (Excerpts::new(), BTreeMap::new());
    for (place, [file, first, last]) in found {
        let source = text_of(&repository.join(file)).with_context(|| file.clone())?;
        let line = |n: &str| {
            let index = n.parse::<usize>().unwrap_or(0).saturating_sub(1);
            source.lines().nth(index).unwrap_or_default().to_string()
        };
        let excerpt = format!("{file}:{first}:{last}");
        all.insert(excerpt.clone(), [line(first), line(last)]);
        places.insert(excerpt, place);
    }
    Ok((all, places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_line_above_moves_an_excerpt() {
        let folder = tempfile::tempdir().unwrap();
        let [chapters, repository] = ["chapters", "repository"].map(|name| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        });
        fs::write(chapters.join("a.md"), "x\n{{#include ../../k.cu:2:3}}\n").unwrap();
        fs::write(repository.join("k.cu"), "one\ntwo\nthree\n").unwrap();
        let file = folder.path().join("excerpts.json");
        fs::write(&file, r#"{"k.cu:2:3": ["two", "three"]}"#).unwrap();
        assert!(moved(&chapters, &repository, &file).unwrap().is_empty());
        fs::write(repository.join("k.cu"), "zero\none\ntwo\nthree\n").unwrap();
        let found = moved(&chapters, &repository, &file).unwrap();
        assert!(
            found[0].contains("a.md:2: k.cu:2:3: expected to begin with `two`"),
            "{found:?}"
        );
        fs::write(chapters.join("a.md"), "{{diff k.cu:2:3 k.cu:3:4}}\n").unwrap();
        let found = moved(&chapters, &repository, &file).unwrap();
        let [first, second] = &found[..] else {
            panic!("expected two findings, found {found:?}");
        };
        assert!(first.contains("k.cu:2:3: expected to begin with `two`"));
        assert!(second.ends_with("k.cu:3:4: expected in book/excerpts.json, found none"));
        fs::write(chapters.join("a.md"), "{{#include ../../k.cu:2:3}}\n").unwrap();
        fs::write(&file, "{}").unwrap();
        let found = moved(&chapters, &repository, &file).unwrap();
        assert!(
            found[0].ends_with("expected in book/excerpts.json, found none"),
            "{found:?}"
        );
    }
}
