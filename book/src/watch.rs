//! Watches the sources of the pages for changes.
//!
//! Times of modification are polled: that also works on network drives and under WSL, where
//! notifications of the file system do not arrive, and it costs some hundred calls of `stat` a round.

use crate::exercises;
use crate::includes::{includes, sources_of_functions};
use crate::measure::{repository, sources};
use crate::reference;
use anyhow::Result;
use mdbook_driver::MDBook;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The pages' source files with their times of modification; compare two to see a change.
pub type Snapshot = Vec<(PathBuf, Option<SystemTime>)>;

/// The state of the chapters, the theme, `book.toml`, `reference.toml`, the kernels, the included sources and the results.
pub fn snapshot(book: &MDBook) -> Result<Snapshot> {
    let [results, target] = sources(&book.root, &book.config)?;
    let mut files = vec![book.root.join("book.toml")];
    let exercises = exercises::folder(&book.root, &book.config)?;
    // Not what `cargo bench` writes, hundreds of folders: the next build reads it.
    let own = target.join("workbook");
    files.push(reference::remarks_file(&book.root));
    let kernels = repository(&book.root, &book.config)?.join(reference::KERNELS);
    let folders = [book.source_dir(), book.theme_dir(), results, own, kernels];
    for folder in folders.into_iter().chain(exercises) {
        list(&folder, &mut files);
    }
    let chapters = book.source_dir();
    let included = includes(&chapters)?.into_iter().map(|include| include.file);
    files.extend(included);
    let repository = repository(&book.root, &book.config)?;
    files.extend(sources_of_functions(&chapters, &repository)?);
    files.sort();
    files.dedup();
    Ok(files
        .into_iter()
        .map(|file| (modified(&file), file))
        .map(|(t, f)| (f, t))
        .collect())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, files)
        } else {
            files.push(path)
        }
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|data| data.modified()).ok()
}
