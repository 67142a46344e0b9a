//! Writing files: a file appears whole, or stays as it was.

mod stream;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::BadInput;
use crate::bad_input::why;
pub use stream::{end_of_links, is_stream};

/// Writes `bytes` to `path` such that a reader sees the old file or the new one, and never a part of either.
///
/// The bytes go to a temporary file in the same folder, which is then renamed to `path`. The temporary file's name is
/// unique, so that programs that write to the same path at the same time cannot mix their contents: the last one to
/// finish wins. The temporary file is removed after an error. Only a killed process leaves one, named
/// `.candlepower-partial-` and six letters or digits, and a write to the same folder a day later removes it.
///
/// - **Durability.** The file is synced before the rename. Without that, some file systems may show an empty file under
///   the new name after a power failure. The folder is not synced, so after a power failure the old file may be back.
/// - **Permissions.** A new file gets the usual permissions, `0666` less the umask. A file that is replaced keeps its
///   permission bits, but not its owner.
/// - **Symbolic links.** A link stays, and the file that it names is replaced. A link that names nothing is itself
///   replaced by the file.
/// - **Devices, pipes and what a process has open,** such as `/dev/full` or `/dev/stdout`, are opened and written to.
///   Renaming a file to them would delete them.
///
/// # Errors
/// The error names `path` and has the [kind](io::Error::kind) that the system reported.
pub fn write_atomically(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref();
    write(path, |file| file.write_all(bytes.as_ref()))
        .map_err(|e| io::Error::new(e.kind(), BadInput::unwritable(path, &e).to_string()))
}

/// Does the same as [`write_atomically`] for a path that a person chose: a failure is their [`BadInput`].
///
/// # Errors
/// The file cannot be written.
pub fn save_as(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<(), BadInput> {
    let path = path.as_ref();
    write(path, |file| file.write_all(bytes.as_ref())).map_err(|e| BadInput::unwritable(path, &e))
}

/// Makes `folder` if there is none, and checks before a long run that a file can be written there.
///
/// # Errors
/// [`BadInput`] with the system's reason.
pub fn writable_folder(folder: &Path) -> Result<(), BadInput> {
    let bad = |e| {
        let expected = "a folder that can be written to";
        BadInput::new(folder.display(), expected, why(&e, "folder"))
    };
    std::fs::create_dir_all(folder).map_err(bad)?;
    tempfile::tempfile_in(folder).map(drop).map_err(bad)
}

/// Does the same as [`write_atomically`] for the bytes that `contents` writes, such as a download.
///
/// # Errors
/// The system's, without a path.
pub fn write_with(
    path: &Path,
    contents: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    write(path, contents)
}

/// Start of the name of a file or folder that takes its place when it is whole. No person gives a file such a name.
const PARTIAL: &str = ".candlepower-partial-";
/// File in each temporary folder. No folder without it is removed.
const MARKER: &str = ".candlepower-partial";

/// Makes a temporary folder in `parent`, for a folder that is renamed when it is whole. Dropping it removes it. What killed
/// processes left in `parent` is removed as by [`write_atomically`].
///
/// # Errors
/// The system's.
pub fn partial_folder(parent: &Path) -> io::Result<TempDir> {
    remove_old_partials(parent);
    let made = tempfile::Builder::new()
        .prefix(PARTIAL)
        .tempdir_in(parent)?;
    File::create_new(made.path().join(MARKER))?;
    Ok(made)
}

/// Removes from `folder` the temporary files and folders that killed processes left there: those named [`PARTIAL`] and
/// six letters or digits that have not changed for a day, and of the folders those with a [`MARKER`]. What cannot be
/// removed stays.
fn remove_old_partials(folder: &Path) {
    const OLD: Duration = Duration::from_secs(86_400);
    let folder = if folder == Path::new("") {
        Path::new(".")
    } else {
        folder
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PARTIAL));
        let is_partial =
            |name: &str| name.len() == 6 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !random.is_some_and(is_partial) {
            continue;
        }
        // Metadata of the entry itself; links are not followed.
        let Ok(kind) = entry.metadata() else { continue };
        let age = kind.modified().ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            let path = entry.path();
            let _ = if !kind.is_dir() {
                std::fs::remove_file(path)
            } else if path.join(MARKER).is_file() {
                std::fs::remove_dir_all(path)
            } else {
                Ok(())
            };
        }
    }
}

/// Errors are the system's, without a path.
fn write(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    if is_stream(path) {
        return contents(&mut stream::open(path)?);
    }
    let old = path.metadata().ok();
    // Windows may rename a file to an empty folder.
    if old.as_ref().is_some_and(|old| old.is_dir()) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let named = path
        .is_symlink()
        .then(|| path.canonicalize().ok())
        .flatten();
    let target = named.as_deref().unwrap_or(path);
    let (Some(folder), Some(_)) = (target.parent(), target.file_name()) else {
        let error = "expected the name of a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    };
    remove_old_partials(folder);
    // `create_new` gives the usual permissions. tempfile's own files are readable by their owner only.
    let mut file = tempfile::Builder::new()
        .prefix(PARTIAL)
        .make_in(folder, |path| File::create_new(path))?;
    // The `File` itself, because the errors of tempfile's `Write` name the temporary file.
    let opened = file.as_file_mut();
    if let Some(old) = old.filter(|old| old.is_file()) {
        // Before the contents, which may be private. Only where they differ, because some file systems allow no change.
        if old.permissions() != opened.metadata()?.permissions() {
            opened.set_permissions(old.permissions())?;
        }
    }
    contents(opened)?;
    opened.sync_all()?;
    // Closed, and renamed by std, which on Windows also replaces a file that somebody else has open for reading.
    let closed = file.into_temp_path();
    std::fs::rename(&closed, target)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    pub fn names(folder: &TempDir) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_created_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for text in ["old, and longer", "new"] {
            write_atomically(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(&folder), ["a.json"]);
    }

    #[test]
    fn concurrent_writers_leave_one_whole_file() {
        const LENGTH: usize = 1 << 18;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, vec![0; LENGTH]).unwrap();
        let check = || {
            let read = fs::read(&path).unwrap();
            assert_eq!(read.len(), LENGTH);
            assert!(read.iter().all(|byte| *byte == read[0]), "a mixture");
        };
        std::thread::scope(|scope| {
            for writer in 1..=4 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..8 {
                        write_atomically(path, vec![writer; LENGTH]).unwrap();
                    }
                });
            }
            (0..100).for_each(|_| check());
        });
        check();
        assert_ne!(fs::read(&path).unwrap()[0], 0);
        assert_eq!(names(&folder), ["a"]);
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, "old").unwrap();
        let error = write(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(&folder), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn files_of_a_killed_process_are_removed_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let [killed, new, mine, thesis] =
            ["aaaaaa", "bbbbbb", "mine", "thesis"].map(|name| format!("{PARTIAL}{name}"));
        for name in [&killed, &new, &mine, "old"] {
            fs::write(at(name), "").unwrap();
        }
        let left = partial_folder(folder.path()).unwrap().keep();
        fs::create_dir(at(&thesis)).unwrap();
        let two_days_ago = std::time::SystemTime::now() - Duration::from_secs(2 * 86_400);
        for path in [at(&killed), left, at(&mine), at(&thesis), at("old")] {
            let opened = File::open(path).unwrap();
            opened.set_modified(two_days_ago).unwrap();
        }
        write_atomically(at("a"), "a").unwrap();
        assert_eq!(names(&folder), [&new, &mine, &thesis, "a", "old"]);
    }

    #[test]
    fn a_file_in_place_of_a_folder_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = writable_folder(file.path()).unwrap_err().to_string();
        let expected = "expected a folder that can be written to, found ";
        assert!(error.contains(expected), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("a/b");
        writable_folder(&new).unwrap();
        assert_eq!(fs::read_dir(new).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();
        write_atomically(&path, "a").unwrap_err();
        assert!(path.is_dir());
        assert_eq!(names(&folder), ["a"]);
    }

    #[test]
    fn errors_name_the_file_and_not_the_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a");
        let error = write_atomically(&path, "a").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let text = error.to_string();
        let begin = format!("cannot write `{}`: ", path.display());
        assert!(
            text.starts_with(&begin) && !text.contains(PARTIAL),
            "{text}"
        );

        let text = save_as(&path, "a").unwrap_err().to_string();
        assert!(
            text.starts_with(&begin) && !text.contains(PARTIAL),
            "{text}"
        );
        for none in ["", "/", ".."] {
            write_atomically(none, "a").unwrap_err();
        }
    }

    #[cfg(unix)]
    mod unix {
        use std::os::unix::fs::{PermissionsExt, symlink};

        use super::*;

        fn mode(path: &Path) -> u32 {
            path.metadata().unwrap().permissions().mode() & 0o7777
        }

        #[test]
        fn a_new_file_has_the_permissions_of_any_other() {
            let folder = tempfile::tempdir().unwrap();
            let [plain, path] = ["plain", "a"].map(|name| folder.path().join(name));
            fs::write(&plain, "").unwrap();
            write_atomically(&path, "a").unwrap();
            assert_eq!(mode(&path), mode(&plain));
        }

        #[test]
        fn a_file_keeps_its_permissions() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            fs::write(&path, "old").unwrap();
            for wanted in [0o600, 0o664, 0o444, 0o755] {
                fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
                write_atomically(&path, "new").unwrap();
                assert_eq!(mode(&path), wanted);
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }

        #[test]
        fn a_link_stays_and_its_file_is_replaced() {
            let folder = tempfile::tempdir().unwrap();
            let elsewhere = tempfile::tempdir().unwrap();
            let [file, none] = ["file", "none"].map(|name| elsewhere.path().join(name));
            let [link, broken] = ["link", "broken"].map(|name| folder.path().join(name));
            fs::write(&file, "old").unwrap();
            symlink(&file, &link).unwrap();
            write_atomically(&link, "new").unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(&file).unwrap(), "new");

            symlink(&none, &broken).unwrap();
            write_atomically(&broken, "new").unwrap();
            assert!(!broken.is_symlink() && !none.exists());
            assert_eq!(fs::read_to_string(&broken).unwrap(), "new");
            assert_eq!(names(&folder), ["broken", "link"]);
            assert_eq!(names(&elsewhere), ["file"]);
        }
    }
}
