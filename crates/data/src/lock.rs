//! Locks between processes that read a file, change it and write it again.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::BadInput;

/// Maximum time to wait for another process, which usually holds a lock only while it reads and writes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time after which [`Lock::within_aloud`] says that it waits.
const LONG: Duration = Duration::from_secs(2);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// A lock on a file, held until it is dropped.
///
/// The lock is advisory: it holds back processes that also ask for it. It is on the empty file `.NAME.lock` next to the
/// file, which stays, because another process may be waiting for it.
#[derive(Debug)]
pub struct Lock {
    _held: Option<File>,
}

impl Lock {
    /// Waits for the lock on the file `path`, and makes its folder if there is none. A device, a pipe, and a file system
    /// without locks need no lock.
    ///
    /// # Errors
    /// [`BadInput`] if the folder cannot be written, or another process keeps the lock for 10 seconds.
    pub fn of(path: &Path) -> Result<Self, BadInput> {
        Self::within(path, PATIENCE)
    }

    /// As [`Lock::of`], but waits for up to `patience`: some work holds a lock for longer than 10 seconds.
    ///
    /// # Errors
    /// [`BadInput`] if the folder cannot be written, or another process keeps the lock for longer.
    pub fn within(path: &Path, patience: Duration) -> Result<Self, BadInput> {
        Self::wait(path, patience, || {})
    }

    /// As [`Lock::within`], with a note on stderr after 2 seconds.
    ///
    /// # Errors
    /// [`BadInput`] if the folder cannot be written, or another process keeps the lock for longer.
    pub fn within_aloud(path: &Path, patience: Duration) -> Result<Self, BadInput> {
        Self::wait(path, patience, || {
            crate::note(format_args!(
                "note: waiting for another program that changes {} …",
                path.display()
            ));
        })
    }

    /// Calls `is_long` once, when the wait is.
    fn wait(path: &Path, patience: Duration, is_long: impl FnOnce()) -> Result<Self, BadInput> {
        let mut is_long = Some(is_long);
        // Two links to one file have one lock.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Ok(Self { _held: None });
        }
        let file = open(&beside(path)).map_err(|e| BadInput::unwritable(path, &e))?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _held: Some(file) }),
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self { _held: None });
                }
                Err(TryLockError::Error(e)) => return Err(BadInput::unwritable(path, &e)),
                Err(TryLockError::WouldBlock) if begin.elapsed() > patience => {
                    let expected =
                        "no other program that changes it (wait for it to end, then try again)";
                    return Err(BadInput::new(path.display(), expected, "one"));
                }
                Err(TryLockError::WouldBlock) => {
                    if begin.elapsed() > LONG
                        && let Some(is_long) = is_long.take()
                    {
                        is_long();
                    }
                    sleep(PAUSE);
                }
            }
        }
    }
}

/// Path of the lock: `.t.json.lock` for `t.json`.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    path.with_file_name(name)
}

fn open(lock: &Path) -> io::Result<File> {
    let folder = lock.parent().filter(|folder| *folder != Path::new(""));
    folder.map_or(Ok(()), fs::create_dir_all)?;
    // Opening a pipe would wait for its reader.
    if lock.metadata().is_ok_and(|there| !there.is_file()) {
        let found = format!("`{}` is no regular file; remove it", lock.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, found));
    }
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/count");
        let add = || {
            let _lock = Lock::of(&path).unwrap();
            let count: usize = fs::read_to_string(&path).map_or(0, |text| text.parse().unwrap());
            thread::yield_now();
            crate::write_atomically(&path, (count + 1).to_string()).unwrap();
        };
        thread::scope(|scope| {
            (0..8).for_each(|_| {
                scope.spawn(|| (0..8).for_each(|_| add()));
            });
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "64");
    }

    #[test]
    fn a_lock_that_is_kept_ends_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let kept = Lock::of(&path).unwrap();
        let short = Duration::from_millis(30);
        let error = Lock::within(&path, short).unwrap_err().to_string();
        assert!(
            error.contains("a.json: expected no other program that changes it"),
            "{error}"
        );
        drop(kept);
        Lock::within(&path, short).unwrap();
    }

    #[test]
    fn a_long_wait_is_noted_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let _kept = Lock::of(&path).unwrap();
        let mut noted = 0;
        let patience = LONG + Duration::from_millis(100);
        Lock::wait(&path, patience, || noted += 1).unwrap_err();
        assert_eq!(noted, 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_the_lock_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(".a.json.lock");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = Lock::of(&folder.path().join("a.json")).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("cannot write `")
                && error.contains(".a.json.lock` is no regular file"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_device_needs_no_lock() {
        Lock::of(Path::new("/dev/null")).unwrap();
        assert!(!Path::new("/dev/.null.lock").exists());
    }
}
