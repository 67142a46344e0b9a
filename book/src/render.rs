//! Building the pages, in process and as a preprocessor of the stock `mdbook`.

use crate::includes::{Include, includes};
use crate::measure::Measure;
use crate::place::at;
use anyhow::{Context, Result};
use classroom::page::Solutions;
use data::{BadInput, Lock};
use mdbook_driver::MDBook;
use mdbook_driver::config::Config;
use mdbook_preprocessor::Preprocessor;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, stdin, stdout};
use std::path::{Path, PathBuf};

/// The book in `root`, with [`Measure`] run in process in place of the command in `book.toml`.
///
/// mdBook would wait for ever for a chapter that is a pipe, and does not name one that it cannot read.
pub fn load(root: &Path) -> Result<MDBook> {
    let settings = root.join("book.toml");
    data::is_regular(&settings)?;
    let mut config = Config::from_disk(settings)?;
    config.update_from_env()?;
    let theme = config.html_config().unwrap_or_default().theme_dir(root);
    let chapters = root.join(&config.book.src);
    for folder in [&chapters, &theme] {
        are_regular(folder)?;
    }
    let includes = includes(&chapters)?;
    for include in &includes {
        data::is_regular(&include.file)?;
    }
    is_finite(&includes)?;
    let mut book = MDBook::load_with_config(root, config)?;
    book.with_preprocessor(Measure);
    Ok(book)
}

/// Checks that `folder`, if there is one, holds files and folders only.
fn are_regular(folder: &Path) -> Result<(), BadInput> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => are_regular(&path)?,
            _ if path.is_dir() => {} // a link: mdBook does not follow it
            _ => _ = data::is_regular(&path)?,
        }
    }
    Ok(())
}

/// Checks that no chapter includes itself: mdBook would take minutes to put it into itself ten times over.
fn is_finite(includes: &[Include]) -> Result<(), BadInput> {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    let edge = |i: &Include| [whole(&i.chapter), whole(&i.file)];
    let edges: Vec<_> = includes.iter().map(edge).collect();
    for (include, [chapter, file]) in includes.iter().zip(&edges) {
        let mut reached = BTreeSet::from([file]);
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            let inside = edges.iter().filter(|[from, _]| from == file);
            next.extend(inside.map(|[_, to]| to).filter(|to| reached.insert(to)));
        }
        if reached.contains(chapter) {
            let expected = "no chapter that includes itself";
            let found = include.file.display();
            return Err(BadInput::new(
                at(&include.chapter, include.line),
                expected,
                found,
            ));
        }
    }
    Ok(())
}

/// Builds the pages where `book.toml` says and returns that folder. They are built next to it and take its place when
/// they are whole, so that the earlier pages stay until then, and after a failure.
pub fn build(root: &Path) -> Result<PathBuf> {
    build_with(root, Solutions::Shown)
}

/// The same, with or without the solutions of the exercises.
pub fn build_with(root: &Path, solutions: Solutions) -> Result<PathBuf> {
    let mut book = load(root)?;
    if solutions == Solutions::Hidden {
        book.config.set("preprocessor.measure.solutions", false)?;
    }
    let built = root.join(&book.config.build.build_dir);
    is_replaceable(&built)?;
    let parent = built.parent().unwrap_or(root);
    data::writable_folder(parent)?;
    let beside = data::partial_folder(parent)?;
    book.config.build.build_dir = beside.path().canonicalize()?.join("new");
    book.build()?;
    // Another build may put its pages in the same place.
    let _lock = Lock::of(&built)?;
    replace(&built, beside.path()).with_context(|| built.display().to_string())?;
    Ok(built)
}

/// Checks that `built` holds nothing but pages, which have these files of mdBook's. A link is replaced, not its folder.
fn is_replaceable(built: &Path) -> Result<(), BadInput> {
    let has = |name: &&str| built.join(name).is_file();
    let is_book = [".nojekyll", "404.html"].iter().all(has);
    let is_empty = fs::read_dir(built).is_ok_and(|mut entries| entries.next().is_none());
    if is_book || is_empty || built.is_symlink() || !built.exists() {
        return Ok(());
    }
    let expected = "pages that mdBook built, or nothing (`build-dir`)";
    Err(BadInput::new(built.display(), expected, "other files"))
}

/// Puts the folder `new` of `beside` in the place of `built`. A link there is replaced, and its folder stays.
fn replace(built: &Path, beside: &Path) -> io::Result<()> {
    if built.symlink_metadata().is_ok() {
        fs::rename(built, beside.join("old"))?;
    }
    fs::rename(beside.join("new"), built)
}

/// The same, and says so first: it takes some seconds.
pub fn build_aloud(root: &Path, solutions: Solutions) -> Result<PathBuf> {
    data::note("building the pages …");
    build_with(root, solutions)
}

/// mdBook's protocol: a context and a book on stdin, the book on stdout.
pub fn preprocess() -> Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(stdin().lock())?;
    let book = Measure.run(&context, book)?;
    serde_json::to_writer(stdout().lock(), &book)?;
    Ok(())
}
