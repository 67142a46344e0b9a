//! Files that nothing may change while a submission runs.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use data::BadInput;

/// Files, and hashes of their contents.
pub struct Unchanged(Vec<(PathBuf, u64)>);

impl Unchanged {
    /// Reads the files. Without a sandbox a submission could write them.
    pub fn of<const N: usize>(files: [&PathBuf; N]) -> Result<Self, BadInput> {
        let hashed = files.into_iter().map(|file| {
            let hash = hash(file).map_err(|e| BadInput::unreadable(file, &e))?;
            Ok((file.clone(), hash))
        });
        hashed.collect::<Result<_, _>>().map(Self)
    }

    /// The first file that is another one now.
    pub fn changed(&self) -> Option<&Path> {
        let is_other = |(file, before): &&(PathBuf, u64)| hash(file).ok() != Some(*before);
        self.0.iter().find(is_other).map(|(file, _)| file.as_path())
    }
}

fn hash(file: &Path) -> std::io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(file)?);
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_or_goes_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let begin = || {
            fs::write(&a, "one").unwrap();
            fs::write(&b, "two").unwrap();
            Unchanged::of([&a, &b]).unwrap()
        };
        assert_eq!(begin().changed(), None);
        let before = begin();
        fs::write(&b, "three").unwrap();
        assert_eq!(before.changed(), Some(b.as_path()));
        let before = begin();
        fs::remove_file(&a).unwrap();
        assert_eq!(before.changed(), Some(a.as_path()));
        assert!(Unchanged::of([&a]).is_err());
    }
}
