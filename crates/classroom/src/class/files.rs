//! Contents of a folder that was handed in. Links are recognised and not followed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::NotGraded;
use super::names::name_of;

/// The visible contents of a folder, sorted by name.
#[derive(Debug, Default)]
pub struct Entries {
    /// Folders.
    pub folders: Vec<PathBuf>,
    /// Files, and what is neither a folder nor a link.
    pub files: Vec<PathBuf>,
    /// Symbolic links.
    pub links: Vec<PathBuf>,
}

impl Entries {
    /// Reads a folder.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let list = match () {
                () if name_of(&entry.path()).starts_with('.') => continue,
                () if kind.is_symlink() => &mut found.links,
                () if kind.is_dir() => &mut found.folders,
                () => &mut found.files,
            };
            list.push(entry.path());
        }
        for list in [&mut found.folders, &mut found.files, &mut found.links] {
            list.sort();
        }
        Ok(found)
    }

    /// Reads a folder; an unreadable one is recorded in `unread`.
    pub fn noted(folder: &Path, unread: &mut Vec<(PathBuf, String)>) -> Self {
        Self::of(folder).unwrap_or_else(|error| {
            unread.push((folder.into(), format!("it cannot be read: {error}")));
            Self::default()
        })
    }
}

/// Maximum number of a folder's files that are named when they are not graded.
const LISTED: usize = 20;

/// The first of `all`, the files of a folder that are not graded, as `note` describes them; the last entry counts the rest.
pub fn listed<F>(
    folder: &Path,
    mut all: impl Iterator<Item = F>,
    note: impl Fn(F) -> NotGraded,
) -> Vec<NotGraded> {
    let mut listed: Vec<NotGraded> = all.by_ref().take(LISTED).map(note).collect();
    match all.count() {
        0 => {}
        more => listed.push(NotGraded::new(folder, format!("{more} more files"))),
    }
    listed
}

/// Lists the files of a folder and its subfolders, down to depth `deepest`.
pub fn files_below(folder: &Path, deepest: usize) -> Vec<PathBuf> {
    let Entries { folders, files, .. } = Entries::of(folder).unwrap_or_default();
    let is_deeper = |_: &&PathBuf| deepest > 1;
    let deeper = folders.iter().filter(is_deeper);
    let below = deeper.flat_map(|folder| files_below(folder, deepest - 1));
    files.into_iter().chain(below).collect()
}
