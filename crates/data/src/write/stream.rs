//! Files that are written where they are: devices, pipes, and files that a process has open.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Maximum number of links from one to the next, as on Linux.
const MAX_LINKS: usize = 40;

/// Whether `path` is written to where it is, and not replaced: a device, a pipe, what a process has open, such as
/// `/dev/stdout` in front of a file, or a file without a name that a link leads to.
pub fn is_stream(path: &Path) -> bool {
    // `metadata` follows links, as `/dev/stdout` is one.
    let there = path.metadata();
    let is_other = |there: &Metadata| !there.is_file() && !there.is_dir();
    let is_nameless = || path.is_symlink() && path.canonicalize().is_err();
    end_of_links(path).is_some_and(|end| is_open(&end))
        || there.is_ok_and(|there| is_other(&there) || is_nameless())
}

/// Whether a path without links is `/proc/PID/fd/N` or `/dev/fd/N`.
fn is_open(path: &Path) -> bool {
    let of_process = |folder: &Path| folder.starts_with("/proc") && folder.ends_with("fd");
    path.parent()
        .is_some_and(|folder| of_process(folder) || folder == Path::new("/dev/fd"))
}

/// The file that `path` leads to, which need not exist, without links and `..`; `None` if they have no end. The name of
/// what a process has open is an end.
pub fn end_of_links(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        // A path of a name alone is in the current folder.
        let folder = Path::new(".").join(path.parent()?).canonicalize().ok()?;
        let named = folder.join(path.file_name()?);
        match named.read_link() {
            Ok(link) if !is_open(&named) => path = folder.join(link),
            _ => return Some(named),
        }
    }
    None
}

/// Opens what [`is_stream`] names. A named pipe without a reader would wait for one for ever, so this refuses it. Text is
/// added at the end of a regular file, and of this process's own stdout where it stands now.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    let there = path.metadata()?;
    if there.is_file() {
        #[cfg(unix)]
        if let Ok(Some(own)) = own_stdout(path) {
            return Ok(own);
        }
        return options.append(true).open(path);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if there.file_type().is_fifo() {
            let mut without_waiting = options.clone();
            without_waiting.custom_flags(libc::O_NONBLOCK);
            // It fails without a reader. With one, the second `open` does not wait either.
            let _probe = without_waiting
                .open(path)
                .map_err(|e| match e.raw_os_error() {
                    Some(libc::ENXIO) => io::Error::new(
                        io::ErrorKind::InvalidInput,
                        "expected a file, found a pipe that no program reads",
                    ),
                    _ => e,
                })?;
            return options.open(path);
        }
    }
    options.open(path)
}

/// This process's stdout if `path` leads to it. Opened again, it would overwrite what is printed.
#[cfg(unix)]
fn own_stdout(path: &Path) -> io::Result<Option<File>> {
    use std::os::fd::AsFd;

    let own = Path::new("/dev/fd").canonicalize()?;
    if end_of_links(path) != Some(own.join("1")) {
        return Ok(None);
    }
    io::stdout().flush()?;
    Ok(Some(io::stdout().as_fd().try_clone_to_owned()?.into()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::{tests::names, write_atomically};
    use super::*;

    /// As `/dev/stdout` is, in front of a pipe.
    #[test]
    fn a_pipe_is_written_to() {
        use std::os::fd::AsRawFd;

        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("stdout");
        let (reader, writer) = io::pipe().unwrap();
        symlink(format!("/proc/self/fd/{}", writer.as_raw_fd()), &link).unwrap();
        write_atomically(&link, "through").unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(reader).unwrap(), "through");
        assert!(link.is_symlink());
    }

    /// In front of a file, which has no name any more when the second text comes.
    #[test]
    fn stdout_is_written_to() {
        const TEST: &str = "write::stream::tests::stdout_is_written_to";
        if let Some(folder) = std::env::var_os("TEST_STDOUT") {
            for text in ["1\n", "3\n"] {
                write_atomically(Path::new(&folder).join("stdout"), text).unwrap();
                io::stdout().write_all(b"2\n").unwrap();
                let _ = fs::remove_file(Path::new(&folder).join("out"));
            }
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [link, path] = ["stdout", "out"].map(|name| folder.path().join(name));
        symlink("/proc/self/fd/1", link).unwrap();
        let [out, read] = [File::create(&path), File::open(&path)].map(Result::unwrap);
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", TEST]);
        let status = command
            .env("TEST_STDOUT", folder.path())
            .stdout(out)
            .status();
        let text = io::read_to_string(read).unwrap();
        assert!(
            status.unwrap().success() && text.contains("1\n2\n3\n2\n"),
            "{text}"
        );
        assert_eq!(names(&folder), ["stdout"]);
    }

    #[test]
    fn a_pipe_without_a_reader_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = write_atomically(&pipe, "a").unwrap_err().to_string();
        assert!(error.contains("a pipe that no program reads"), "{error}");
        assert_eq!(names(&folder), ["pipe"]);
    }

    #[test]
    fn a_device_stays_and_its_error_is_reported() {
        let error = write_atomically("/dev/full", "a").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("cannot write `/dev/full`: "));
        assert!(!Path::new("/dev/full").is_file());
    }
}
