//! Files of the repository, and output files.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use data::BadInput;

use crate::own;

/// Finds `path`, relative to the repository: in the current folder or one of its parents, otherwise in the
/// repository that this program was built in.
pub fn find(path: &str) -> Result<PathBuf, BadInput> {
    let here = std::env::current_dir();
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    std::iter::once(Path::new("")) // keeps the path short if it is in the current folder
        .chain(here.iter().flat_map(|here| here.ancestors()))
        .chain(built_in)
        .map(|folder| folder.join(path))
        .find(|path| path.exists())
        .ok_or_else(|| {
            let removed = PathBuf::from("the current folder, which was removed,");
            let here = here.unwrap_or(removed);
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
    /// Checks before any work that `path` can be written as a file in an existing folder, and that it is no file that a
    /// person wrote: a source, or one of an exercise, of a learner or of a level. Devices and pipes, such as `/dev/stdout`,
    /// are allowed.
    pub fn new(path: &Path) -> Result<Self, BadInput> {
        let bad = |expected, found| Err(BadInput::new(path.display(), expected, found));
        let output = Self {
            path: path.to_path_buf(),
        };
        let there = path.metadata();
        if !output.is_file() {
            // A closed one, such as `/dev/fd/9`.
            return there
                .map(|_| output)
                .map_err(|e| BadInput::unwritable(path, &e));
        }
        // `a/` is the name of a folder, there or not.
        let is_folder = path.as_os_str() != path.components().as_path().as_os_str();
        if path.file_name().is_none() || is_folder || there.as_ref().is_ok_and(Metadata::is_dir) {
            return bad("the name of a file", "a folder");
        }
        if let Some(found) = of_a_person(path) {
            return bad("another file than the inputs and a person's work", found);
        }
        // A link's file is replaced in its own folder.
        let named = path.canonicalize();
        let parent = named.as_deref().unwrap_or(path).parent();
        let folder = parent.filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return bad("a file in an existing folder", "no such folder");
        }
        data::writable_folder(folder)?;
        match there {
            // Such as a name that is too long.
            Err(e) if e.kind() != ErrorKind::NotFound && !path.is_symlink() => {
                Err(BadInput::unwritable(path, &e))
            }
            _ => Ok(output),
        }
    }

    /// Checks that no two of `outputs` are one file, because only the last would stay, and that none is one of `inputs`,
    /// which it would replace. Devices and pipes may be.
    pub fn distinct<'o>(
        outputs: impl IntoIterator<Item = &'o Self>,
        inputs: &[&Path],
    ) -> Result<(), BadInput> {
        let inputs: Vec<PathBuf> = inputs.iter().map(|input| target(input)).collect();
        let mut seen = HashSet::new();
        for output in outputs.into_iter().filter(|output| output.is_file()) {
            let bad = |expected, found| BadInput::new(output.path.display(), expected, found);
            let target = target(&output.path);
            if inputs.contains(&target) {
                return Err(bad("another file than the inputs", "one of them"));
            }
            if !seen.insert(target) {
                let expected = "a file of its own for each output";
                return Err(bad(expected, "the same twice"));
            }
        }
        Ok(())
    }

    /// Whether this is, or will be, a file rather than a device, a pipe or what a process has open.
    pub fn is_file(&self) -> bool {
        !data::is_stream(&self.path)
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

/// Extensions of files that no program here writes as an output: sources and settings, and what is handed in.
const WRITTEN: [&str; 11] = [
    "rs", "ptx", "cu", "cuh", "toml", "lock", "md", "zip", "tar", "gz", "7z",
];

/// The kind of a file that no output may replace, because it holds a person's work.
fn of_a_person(path: &Path) -> Option<&'static str> {
    let target = target(path);
    let (folder, name) = (target.parent()?, target.file_name()?.to_string_lossy());
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    let is_level = || {
        ["src/ops.rs", "src/lib.rs"]
            .iter()
            .any(|file| folder.join(file).is_file())
    };
    // Even where it is not there yet: it would be read as one.
    if is(&data::PROGRESS)
        || [own::PROGRESS, own::HINTS, own::MEASURED].iter().any(is) && is_level()
    {
        return Some("a learner's progress");
    }
    let extension = target.extension().unwrap_or_default();
    let mut around = target.ancestors().skip(1).take(2);
    match () {
        () if !target.is_file() => None,
        () if WRITTEN
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known)) =>
        {
            Some("a text, or an archive")
        }
        () if around.any(|folder| folder.join("exercise.toml").is_file()) => {
            Some("a file of an exercise")
        }
        () => None,
    }
}

/// The file that `path` leads to, which need not exist, without links and `..`.
fn target(path: &Path) -> PathBuf {
    data::end_of_links(path).unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_outputs_are_two_files() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let output = |name: &str| Output::new(&folder.path().join(name));
        let [a, b, again] = [output("a")?, output("b")?, output("./a")?];
        assert_eq!(Output::distinct([&a, &b], &[]), Ok(()));
        let all = || Output::distinct([&a, &b, &again], &[]);
        let twice = || all().unwrap_err().to_string();
        let line = "/./a: expected a file of its own for each output, found the same twice";
        assert!(twice().ends_with(line), "{}", twice());
        a.write(b"now it exists")?;
        assert!(twice().ends_with(line), "{}", twice());
        if cfg!(unix) {
            let null = Output::new(Path::new("/dev/null"))?;
            assert_eq!(Output::distinct([&null, &null], &[null.path()]), Ok(()));
        }
        Ok(())
    }

    #[test]
    fn an_output_is_no_input() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let [path, again] = ["in.npy", "./in.npy"].map(|name| folder.path().join(name));
        std::fs::write(&path, "an input")?;
        let output = Output::new(&again)?;
        let error = Output::distinct([&output], &[&path]).unwrap_err();
        let line = "expected another file than the inputs, found one of them";
        assert!(error.to_string().ends_with(line), "{error}");
        Ok(())
    }

    #[test]
    fn a_persons_work_is_no_output() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        for folder in ["level/src", "07-guard", "class"] {
            std::fs::create_dir_all(path(folder))?;
        }
        let found = |name: &str| match Output::new(&path(name)) {
            Ok(_) => String::new(),
            Err(bad) => bad.found,
        };
        for name in [
            "level/src/ops.rs",
            "07-guard/exercise.toml",
            "class/ada.PTX",
            "07-guard/wrong.txt",
            "a.json",
        ] {
            std::fs::write(path(name), "")?;
        }
        for name in [
            "level/src/ops.rs",
            "07-guard/exercise.toml",
            "class/ada.PTX",
            "07-guard/../class/ada.PTX",
        ] {
            assert_eq!(found(name), "a text, or an archive", "{name}");
        }
        for name in [
            "class/.candlepower.json",
            "level/progress.json",
            "level/Hints.json",
            "level/measured.json",
        ] {
            assert_eq!(found(name), "a learner's progress", "{name}");
        }
        assert_eq!(found("07-guard/wrong.txt"), "a file of an exercise");
        for name in [
            "a.json",
            "progress.json",
            "level/report.html",
            "new.md",
            "07-guard/new.json",
        ] {
            assert_eq!(found(name), "", "{name}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("class/ada.PTX"), path("link.json"))?;
            assert_eq!(found("link.json"), "a text, or an archive");
        }
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_missing_file_is_that_file() -> anyhow::Result<()> {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        symlink("second", path("first"))?;
        symlink("a", path("second"))?;
        symlink("endless", path("endless"))?;
        let outputs = [Output::new(&path("a"))?, Output::new(&path("first"))?];
        Output::distinct(&outputs, &[]).unwrap_err();
        target(&path("endless"));
        Ok(())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_no_file_can_have_is_bad_input() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "a/",
            "a/.",
            &"x".repeat(256),
            "/proc/a",
            "/proc/self/fd/98765",
        ] {
            Output::new(&folder.path().join(name)).unwrap_err();
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_missing_folder_is_bad_input() {
        for path in ["/no/such/folder/answer", "/", "..", ""] {
            let error = Output::new(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }

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
