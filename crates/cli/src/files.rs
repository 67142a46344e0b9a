//! Files of the repository, and output files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use data::BadInput;

/// Finds `path`, relative to the repository: in the current folder or one of its parents, otherwise in the
/// repository that this program was built in.
pub fn find(path: &str) -> Result<PathBuf, BadInput> {
    let here = std::env::current_dir().unwrap_or_default();
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    std::iter::once(Path::new("")) // keeps the path short if it is in the current folder
        .chain(here.ancestors())
        .chain(built_in)
        .map(|folder| folder.join(path))
        .find(|path| path.exists())
        .ok_or_else(|| {
            let expected = format!("it in {} or one of its parent folders", here.display());
            BadInput::new(path, expected, "nothing")
        })
}

/// Returns the folder with models/tiny: the repository, or a copy of the files that a measurement needs.
pub fn root() -> Result<PathBuf, BadInput> {
    let tiny = find("models/tiny")?;
    Ok(tiny
        .ancestors()
        .nth(2)
        .map_or_else(PathBuf::new, Path::to_path_buf))
}

/// An output file, which is written atomically.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
}

impl Output {
    /// Checks before any work that `path` can be written as a file in an existing folder. Devices and pipes, such as
    /// `/dev/stdout`, are allowed.
    pub fn new(path: &Path) -> Result<Self, BadInput> {
        let bad = |expected, found| Err(BadInput::new(path.display(), expected, found));
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if path.file_name().is_none() || path.is_dir() {
            return bad("the name of a file", "a folder");
        }
        if !folder.is_dir() {
            return bad("a file in an existing folder", "no such folder");
        }
        if path.is_file() || !path.exists() {
            data::writable_folder(folder)?;
        }
        Ok(Self {
            path: path.to_path_buf(),
        })
    }

    /// Checks that no two of `outputs` are one file, of which only the last would stay. Devices and pipes may be.
    pub fn distinct<'o>(outputs: impl IntoIterator<Item = &'o Self>) -> Result<(), BadInput> {
        let mut seen = HashSet::new();
        let is_file = |output: &&Self| output.path.is_file() || !output.path.exists();
        for Self { path } in outputs.into_iter().filter(is_file) {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new(".")).canonicalize();
            let name = path.file_name().unwrap_or_default();
            let whole = folder.map_or_else(|_| path.clone(), |folder| folder.join(name));
            if !seen.insert(path.canonicalize().unwrap_or(whole)) {
                let expected = "a file of its own for each output";
                return Err(BadInput::new(path.display(), expected, "the same twice"));
            }
        }
        Ok(())
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file: see [`data::write_atomically`].
    pub fn write(&self, bytes: &[u8]) -> Result<(), BadInput> {
        data::save_as(&self.path, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_atomically() -> anyhow::Result<()> {
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
    fn two_outputs_are_two_files() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let output = |name: &str| Output::new(&folder.path().join(name));
        let [a, b, again] = [output("a")?, output("b")?, output("./a")?];
        assert_eq!(Output::distinct([&a, &b]), Ok(()));
        let twice = || Output::distinct([&a, &b, &again]).unwrap_err().to_string();
        let line = "/./a: expected a file of its own for each output, found the same twice";
        assert!(twice().ends_with(line), "{}", twice());
        a.write(b"now it exists")?;
        assert!(twice().ends_with(line), "{}", twice());
        if cfg!(unix) {
            let null = Output::new(Path::new("/dev/null"))?;
            assert_eq!(Output::distinct([&null, &null]), Ok(()));
        }
        Ok(())
    }

    #[test]
    fn a_missing_folder_is_bad_input() {
        for path in ["/no/such/folder/answer", "/", "..", ""] {
            let error = Output::new(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_cannot_be_written_to_is_found_before_any_work() {
        let error = Output::new(Path::new("/proc/answer"))
            .unwrap_err()
            .to_string();
        let expected = "/proc: expected a folder that can be written to, found ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to() -> anyhow::Result<()> {
        let path = Path::new("/dev/null");
        Output::new(path)?.write(b"gone")?;
        assert!(!path.is_file());
        Ok(())
    }

    #[test]
    fn files_of_the_repository_are_found() -> anyhow::Result<()> {
        assert!(find("crates/cli/Cargo.toml")?.is_file());
        assert!(find("no/such/file").is_err());
        Ok(())
    }
}
