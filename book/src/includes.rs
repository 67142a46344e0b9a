//! The `{{#include path:anchor}}` directives of the chapters.

use anyhow::{Context, Result};
use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// One `{{#include …}}` in a chapter.
#[derive(Debug, Clone)]
pub struct Include {
    /// The chapter's file.
    pub chapter: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// The included file.
    pub file: PathBuf,
    /// The anchor's name, if the directive has one.
    pub anchor: Option<String>,
}

/// The Markdown files directly in `folder`, in the order of their names.
pub fn chapters(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("{}: expected a folder of chapters", folder.display()))?;
    let mut files = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "md"));
    files.sort();
    Ok(files)
}

/// Every include of every chapter in `folder`.
pub fn includes(folder: &Path) -> Result<Vec<Include>> {
    let directive = Regex::new(r"\{\{#\w*include\s+([^:}\s]+)(?::([\w-]+))?\s*\}\}")?;
    let mut found = Vec::new();
    for chapter in chapters(folder)? {
        let text = fs::read_to_string(&chapter)?;
        for (index, line) in text.lines().enumerate() {
            found.extend(directive.captures_iter(line).map(|captures| Include {
                chapter: chapter.clone(),
                line: index + 1,
                file: folder.join(&captures[1]),
                anchor: captures.get(2).map(|anchor| anchor.as_str().to_string()),
            }));
        }
    }
    Ok(found)
}
