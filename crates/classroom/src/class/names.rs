//! Guesses from file names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::exercise::{Exercise, Language, nearest};

/// Extensions of archives.
const ARCHIVES: [&str; 9] = ["zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar"];

/// The last part of a path.
pub fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Numbers the names that occur more than once: `ada.rs` next to `ada.ptx`, or two that only other bytes than UTF-8
/// tell apart.
pub fn distinct<'n>(names: impl Iterator<Item = &'n mut String>) {
    let mut taken = BTreeSet::new();
    for name in names {
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut all = std::iter::once(name.clone()).chain(numbered);
        if let Some(free) = all.find(|name| taken.insert(name.clone())) {
            *name = free;
        }
    }
}

/// The extension of a file name, in lower case.
fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// Whether a file has the extension of a submission.
fn is_source(path: &Path) -> bool {
    Language::of_extension(&extension(path)).is_some()
}

/// Whether a file is an archive.
pub fn is_archive(path: &Path) -> bool {
    ARCHIVES.contains(&&*extension(path))
}

/// Whether a file may be a submission: it has a language's extension, possibly followed by another as in
/// `41-fp8.rs.txt`, or is an archive.
pub fn looks_like_one(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default();
    is_source(path) || is_source(Path::new(stem)) || is_archive(path)
}

/// Returns the exercise whose file this may be: its name is similar, or a copy's as browsers and desktops
/// write it.
pub fn meant<'e>(exercises: &'e [Exercise], file: &Path) -> Option<&'e Exercise> {
    let stem = Path::new(file.file_stem()?);
    if is_source(stem) && !is_source(file) {
        return meant(exercises, stem);
    }
    let name = original(&stem.to_string_lossy()).to_lowercase();
    nearest(exercises, &format!("{name}.{}", extension(file)))
}

/// Removes the suffix of a copy: `tile` for `tile (2)`, `tile - Copy` and `tile - Copy (2)`.
fn original(stem: &str) -> &str {
    let numbered = stem.strip_suffix(')').and_then(|s| s.rsplit_once(" ("));
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let stem = match numbered {
        Some((stem, number)) if is_number(number) => stem,
        _ => stem,
    };
    stem.strip_suffix(" - Copy").unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::{distinct, original};

    #[test]
    fn names_become_distinct() {
        let mut names = ["ada", "ada", "ada (2)", "bob"].map(String::from);
        distinct(names.iter_mut());
        assert_eq!(names, ["ada", "ada (2)", "ada (2) (2)", "bob"]);
    }

    #[test]
    fn a_copy_has_the_name_of_its_original() {
        for name in ["tile", "tile (2)", "tile - Copy", "tile - Copy (12)"] {
            assert_eq!(original(name), "tile", "{name}");
        }
        for name in ["tile (two)", "tile2)", "Copy"] {
            assert_eq!(original(name), name);
        }
    }
}
