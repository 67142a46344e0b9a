//! `book test`: what a build lets pass and a reader stumbles over. One line a finding.

mod chapters;
mod pages;

use crate::{exercises, render};
use anyhow::Result;
use std::path::Path;
use std::process::ExitCode;

/// Builds the book in `root` and prints every finding; exit code 1 if there is one.
pub fn test(root: &Path) -> Result<ExitCode> {
    let found = findings(root, &render::build(root)?)?;
    for finding in &found {
        println!("{finding}");
    }
    println!("{} findings", found.len());
    Ok(if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Findings in the chapters of `root` and in the pages built from them.
pub fn findings(root: &Path, built: &Path) -> Result<Vec<String>> {
    let chapters = render::load(root)?.source_dir();
    let mut found = chapters::stale_anchors(&chapters)?;
    found.extend(chapters::typed_figures(&chapters)?);
    for exercise in exercises::of(root, &render::load(root)?.config)? {
        found.extend(chapters::typed_figures(&exercise.folder)?);
    }
    found.extend(chapters::ops_without_a_section(&chapters)?);
    found.extend(pages::dead_links(built)?);
    found.extend(pages::loads_from_the_network(built)?);
    Ok(found)
}
