//! What is in a folder that was handed in. Links are told apart, and not followed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::names::name_of;

/// What is in a folder, but for hidden things, in the order of the names.
#[derive(Debug, Default)]
pub struct Entries {
    pub folders: Vec<PathBuf>,
    pub files: Vec<PathBuf>,
    pub links: Vec<PathBuf>,
}

impl Entries {
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

    /// What is in a folder; one that cannot be read is noted.
    pub fn noted(folder: &Path, unread: &mut Vec<(PathBuf, String)>) -> Self {
        Self::of(folder).unwrap_or_else(|error| {
            unread.push((folder.into(), format!("it cannot be read: {error}")));
            Self::default()
        })
    }
}

/// The files in a folder and in those below it, down to `deepest`.
pub fn files_below(folder: &Path, deepest: usize) -> Vec<PathBuf> {
    let Entries { folders, files, .. } = Entries::of(folder).unwrap_or_default();
    let is_deeper = |_: &&PathBuf| deepest > 1;
    let deeper = folders.iter().filter(is_deeper);
    let below = deeper.flat_map(|folder| files_below(folder, deepest - 1));
    files.into_iter().chain(below).collect()
}
