//! The `{{#include path:anchor}}` and `{{fn path name}}` directives of the chapters.

use anyhow::{Context, Result};
use data::BadInput;
use regex::{Captures, Regex};
use simt::case::files_below;
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

/// The Markdown files in `folder` and its subfolders, in the order of their paths.
pub fn chapters(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = files_below(folder, &["md"]);
    files.with_context(|| format!("{}: expected a folder of chapters", folder.display()))
}

/// The text of a chapter, or of a source that it shows, which has at most 16 MiB. A pipe in its place would wait for ever.
pub fn text_of(file: &Path) -> Result<String, BadInput> {
    data::read_text_file(file, 1 << 24)
}

/// Every include of every chapter in `folder`.
pub fn includes(folder: &Path) -> Result<Vec<Include>> {
    let directive = Regex::new(
        r"\{\{\s*#(?:\w*include|playground|template)\s+([^:}\s]+)(?::([A-Za-z_][\w-]*))?(?::\d+)*[^}]*\}\}",
    )?;
    each(folder, &directive, |chapter, line, captures| Include {
        chapter: chapter.into(),
        line,
        // As mdBook does: from the folder of the chapter.
        file: chapter.with_file_name("").join(&captures[1]),
        anchor: captures.get(2).map(|anchor| anchor.as_str().to_string()),
    })
}

/// The sources below `repository` of the functions that chapters in `folder` show.
pub fn sources_of_functions(folder: &Path, repository: &Path) -> Result<Vec<PathBuf>> {
    let directive = Regex::new(r"\{\{\s*fn\s+([^}\s]+)\s+[^}\s]+\s*\}\}")?;
    each(folder, &directive, |_, _, captures| {
        repository.join(&captures[1])
    })
}

/// Calls `found` for each match in the chapters of `folder`, with the chapter, the line from 1 and the match.
pub fn each<T>(
    folder: &Path,
    directive: &Regex,
    found: impl Fn(&Path, usize, &Captures) -> T,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for chapter in chapters(folder)? {
        let text = text_of(&chapter)?;
        for (index, line) in text.lines().enumerate() {
            let captures = directive.captures_iter(line);
            all.extend(captures.map(|captures| found(&chapter, index + 1, &captures)));
        }
    }
    Ok(all)
}
