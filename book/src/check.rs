//! `book test`: what a build lets pass and a reader stumbles over. One line a finding.

mod browser;
mod chapters;
mod excerpts;
mod figures;
mod languages;
mod length;
mod pages;
mod stock;
mod tables;
mod text;

pub use chapters::stale_anchors;

use crate::library::Library;
use crate::reference::{self, Reference};
use crate::skip::skip;
use crate::{exercises, measure, out, render, shell};
use anyhow::Result;
use classroom::page::Solutions;
use std::path::Path;
use std::process::ExitCode;

/// Builds the book in `root` and prints every finding; exit code 1 if there is one.
pub fn test(root: &Path) -> Result<ExitCode> {
    let built = render::build_aloud(root, Solutions::Shown)?;
    data::note("checking chapters and pages …");
    let mut found = findings(root, &built)?;
    found.extend(stock::findings(root, &built)?);
    match browser::chromium() {
        Some(chromium) => {
            data::note("opening the pages in Chromium …");
            found.extend(browser::findings(&chromium, &built)?);
        }
        None => skip(
            "network requests of the book's pages, and tables and figures wider than a page",
            "no Chromium on the PATH",
        ),
    }
    found.iter().for_each(out::say);
    out::say(format_args!("{} findings", found.len()));
    Ok(if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Findings in the chapters of `root` and in the pages built from them.
pub fn findings(root: &Path, built: &Path) -> Result<Vec<String>> {
    let book = render::load(root)?;
    let chapters = book.source_dir();
    let mut found = chapters::stale_anchors(&chapters)?;
    found.extend(figures::typed_figures(&chapters)?);
    for exercise in exercises::of(root, &book.config)? {
        found.extend(figures::typed_figures(&exercise.folder)?);
    }
    let repository = measure::repository(root, &book.config)?;
    found.extend(excerpts::moved(
        &chapters,
        &repository,
        &root.join("excerpts.json"),
    )?);
    let [results, target] = measure::sources(root, &book.config)?;
    let reference = Reference::open(root, &chapters, &repository)?;
    let mut library = Library::open(&results, &target)?;
    found.extend(reference::findings(root, &reference, &mut library)?);
    let texts = shell::files(root, &book)?;
    found.extend(length::findings(&chapters, built)?);
    found.extend(tables::findings(built)?);
    found.extend(languages::findings(built)?);
    found.extend(text::commands_outside_of_blocks(&texts)?);
    found.extend(text::paths_to_nowhere(&root.join(".."), &texts)?);
    found.extend(text::glossary(&chapters, &texts)?);
    found.extend(pages::dead_links(built)?);
    found.extend(pages::loads_from_the_network(built)?);
    Ok(found)
}
