//! The texts in `kernels/` of a level.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a text that is searched, and number of texts.
const LARGEST: u64 = 1 << 20;
const MOST: usize = 200;

/// Name and text of each file, by name; read once, because a child may name any number of kernels.
pub struct Kernels(Vec<(PathBuf, String)>);

impl Kernels {
    /// Reads the files in `kernels/` of a level's folder; one that cannot be read has no text.
    pub fn of(level: &Path) -> Self {
        let files = fs::read_dir(level.join("kernels"));
        let mut files: Vec<PathBuf> = files
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|file| {
                file.metadata()
                    .is_ok_and(|m| m.is_file() && m.len() <= LARGEST)
            })
            .collect();
        files.sort();
        files.truncate(MOST);
        let text = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default();
        let named = |file: PathBuf| Some((PathBuf::from(file.file_name()?), text(&file)));
        Self(files.into_iter().filter_map(named).collect())
    }

    /// A line about an entry, with the names of its parameters in CUDA C++.
    pub fn with_names(&self, what: &str, entry: &str) -> String {
        let file = self.file_of(entry);
        let is_file = |(name, _): &&(PathBuf, String)| file.ends_with(name);
        let text = self.0.iter().find(is_file).map_or("", |(_, text)| text);
        level_kit::with_names(what, entry, text)
    }

    /// The line of an entry's declaration in its file.
    pub fn line_of(&self, entry: &str) -> Option<u32> {
        let (_, text) = self.0.iter().find(|(_, text)| text.contains(entry))?;
        let names = |(_, line): &(u32, &str)| line.contains(entry);
        let declares =
            |(_, line): &(u32, &str)| line.contains("__global__") || line.contains(".entry");
        let lines = || (1..).zip(text.lines()).filter(names);
        let (line, _) = lines().find(declares).or_else(|| lines().next())?;
        Some(line)
    }

    /// The file that has an entry, or else its name.
    pub fn file_of(&self, entry: &str) -> PathBuf {
        let found = self.0.iter().find(|(_, text)| text.contains(entry));
        Path::new("kernels").join(found.map_or(Path::new(entry), |(name, _)| name))
    }
}
