//! What a file seems to be, by its name.

use std::path::Path;

use crate::exercise::{Exercise, Language, nearest};

/// Endings of files that hold others.
const ARCHIVES: [&str; 9] = ["zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar"];

/// The last part of a path.
pub fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// What a file's name ends in, in small letters.
fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// Whether a name ends as those of submissions do.
fn is_source(path: &Path) -> bool {
    Language::of_extension(&extension(path)).is_some()
}

/// A file that holds others.
pub fn is_archive(path: &Path) -> bool {
    ARCHIVES.contains(&&*extension(path))
}

/// A file of one of the languages, also with another ending behind its own, as `22-fp8.rs.txt`; or one that holds files.
pub fn looks_like_one(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default();
    is_source(path) || is_source(Path::new(stem)) || is_archive(path)
}

/// The exercise whose file this seems to be: of nearly that name, or a copy as browsers and desktops name them.
pub fn meant<'e>(exercises: &'e [Exercise], file: &Path) -> Option<&'e Exercise> {
    let stem = Path::new(file.file_stem()?);
    if is_source(stem) && !is_source(file) {
        return meant(exercises, stem);
    }
    let name = original(&stem.to_string_lossy()).to_lowercase();
    nearest(exercises, &format!("{name}.{}", extension(file)))
}

/// `tile` of `tile (2)`, `tile - Copy` and `tile - Copy (2)`.
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
    use super::original;

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
