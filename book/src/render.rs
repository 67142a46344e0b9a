//! Building the pages, in process and as a preprocessor of the stock `mdbook`.

use crate::measure::Measure;
use anyhow::Result;
use mdbook_driver::MDBook;
use mdbook_preprocessor::Preprocessor;
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};

/// The book in `root`, with [`Measure`] run in process in place of the command in `book.toml`.
pub fn load(root: &Path) -> Result<MDBook> {
    let mut book = MDBook::load(root)?;
    book.with_preprocessor(Measure);
    Ok(book)
}

/// Builds the pages where `book.toml` says and returns that folder.
pub fn build(root: &Path) -> Result<PathBuf> {
    let book = load(root)?;
    book.build()?;
    Ok(book.build_dir_for("html"))
}

/// The same, and says so first: it takes some seconds.
pub fn build_aloud(root: &Path) -> Result<PathBuf> {
    eprintln!("building the pages …");
    build(root)
}

/// mdBook's protocol: a context and a book on stdin, the book on stdout.
pub fn preprocess() -> Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(stdin().lock())?;
    let book = Measure.run(&context, book)?;
    serde_json::to_writer(stdout().lock(), &book)?;
    Ok(())
}
