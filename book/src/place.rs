//! How a place in a file is named: by its path from the repository's root, with `/` on every system, and the line.

use crate::includes::text_of;
use crate::root;
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf, absolute};

/// The path from the repository's root; the whole path of what is not in it.
pub fn from_root(file: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in absolute(file).unwrap_or_else(|_| file.into()).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    let inside = root()
        .parent()
        .and_then(|repository| plain.strip_prefix(repository).ok());
    match inside {
        Some(path) => path.display().to_string().replace(MAIN_SEPARATOR, "/"),
        None => plain.display().to_string(),
    }
}

/// `file:line`, lines from 1.
pub fn at(file: &Path, line: usize) -> String {
    format!("{}:{line}", from_root(file))
}

/// `file:line` of the first occurrence of `text`, or the file alone where it is not in it.
pub fn of(file: &Path, text: &str) -> String {
    let content = text_of(file).unwrap_or_default();
    match content.find(text) {
        Some(start) => at(file, content[..start].matches('\n').count() + 1),
        None => from_root(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_at_the_root() {
        let file = root().join("chapters/../../levels/none.rs");
        assert_eq!(at(&file, 3), "levels/none.rs:3");
        #[cfg(unix)]
        assert_eq!(from_root(Path::new("/elsewhere/../a.md")), "/a.md");
        let manifest = root().join("Cargo.toml");
        assert_eq!(of(&manifest, "name = \"book\""), "book/Cargo.toml:2");
        assert_eq!(of(&manifest, "nothing like it"), "book/Cargo.toml");
    }
}
