//! Files of the repository, and files that programs write.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use data::BadInput;

/// Where `path`, relative to the repository, is: in the current folder or one of those around it,
/// else in the repository that this program was built in.
pub fn find(path: &str) -> Result<PathBuf, BadInput> {
    let here = std::env::current_dir().unwrap_or_default();
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    std::iter::once(Path::new("")) // so that the path stays short when it is here
        .chain(here.ancestors())
        .chain(built_in)
        .map(|folder| folder.join(path))
        .find(|path| path.exists())
        .ok_or_else(|| {
            let expected = format!("it in {} or a folder around it", here.display());
            BadInput::new(path, expected, "nothing")
        })
}

/// The folder that holds models/tiny: the repository, or a copy of what a measurement needs.
pub fn root() -> Result<PathBuf, BadInput> {
    let tiny = find("models/tiny")?;
    Ok(tiny
        .ancestors()
        .nth(2)
        .map_or_else(PathBuf::new, Path::to_path_buf))
}

/// A file that is going to be written: it appears whole or not at all.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    folder: PathBuf,
}

impl Output {
    /// Checks, before any work, that `path` can be a file in a folder that is there.
    pub fn new(path: &Path) -> Result<Self, BadInput> {
        let bad = |expected, found| Err(BadInput::new(path.display(), expected, found));
        // Of a link, the file that it names.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if path.file_name().is_none() || path.is_dir() {
            return bad("the name of a file", "a folder");
        }
        if path.exists() && !path.is_file() {
            return bad("the name of a file", "a device or a pipe");
        }
        if !folder.is_dir() {
            return bad("a file in a folder that is there", "no such folder");
        }
        Ok(Self {
            path: path.to_path_buf(),
            folder,
        })
    }

    /// Writes `bytes` beside the file and gives them its name.
    pub fn write(&self, bytes: &[u8]) -> Result<(), BadInput> {
        let write = || -> std::io::Result<()> {
            // `create_new` gives the permissions of any new file; a temporary file has fewer.
            let mut file = tempfile::Builder::new()
                .prefix(".workbook-")
                .make_in(&self.folder, |path| File::create_new(path))?;
            file.write_all(bytes)?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|e| BadInput::new(self.path.display(), "a file that can be written", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("answer");
        let output = Output::new(&path)?;
        assert!(!path.exists());
        output.write(b"old")?;
        output.write(b"new")?;
        assert_eq!(std::fs::read(&path)?, b"new");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn a_missing_folder_is_bad_input() {
        for path in ["/no/such/folder/answer", "/", "..", ""] {
            let error = Output::new(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }

    #[test]
    fn files_of_the_repository_are_found() -> anyhow::Result<()> {
        assert!(find("cli/Cargo.toml")?.is_file());
        assert!(find("no/such/file").is_err());
        Ok(())
    }
}
