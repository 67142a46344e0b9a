//! A folder that a learner's program may write, and its removal whatever is in it.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A temporary folder that only this user reads. Folders in it may be nested deeper than the stack or a path allows, and
/// closed to their owner. Dropping it removes it; that of a killed process is removed by the next one that makes its own.
#[derive(Debug)]
pub struct Temporary {
    /// The folder, in one with its lock, which a program that writes the folder does not reach.
    path: PathBuf,
    /// Held as long as this process lives.
    lock: Option<File>,
}

/// Start of the name of the outer folder; six letters or digits follow. No person gives a folder such a name.
const NAME: &str = ".candlepower-scratch-";

/// Name of the file with the lock, next to the folder.
const LOCK: &str = "lock";

/// Time between the making of the outer folder and the lock, and much more. Without the lock, it is empty.
const YOUNG: Duration = Duration::from_secs(60);

impl Temporary {
    /// Makes a folder in `parent`, which is made if it does not exist, such as [`std::env::temp_dir`].
    ///
    /// # Errors
    /// The system's.
    pub fn new(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(NAME);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let outer = builder.tempdir_in(parent)?;
        let lock = File::create_new(outer.path().join(LOCK))?;
        // Some network disks have no locks. Then no other process gets one, so none removes the folder.
        let _ = lock.try_lock();
        let path = outer.path().join("files");
        fs::create_dir(&path)?;
        remove_left(parent, &outer.path().metadata()?);
        let _ = outer.keep();
        let lock = Some(lock);
        Ok(Self { path, lock })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Windows removes no file that is open.
        drop(self.lock.take());
        // Files that cannot be removed stay.
        let _ = self.path.parent().map(remove);
    }
}

/// Removes the folders in `parent` whose processes have ended; `own` is this process's.
fn remove_left(parent: &Path, own: &Metadata) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(NAME));
        let is_own =
            |name: &str| name.len() == 6 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // A link is no folder: this does not follow it.
        let kind = entry.metadata().ok();
        let Some(kind) = kind.filter(|_| random.is_some_and(is_own)) else {
            continue;
        };
        let age = kind.modified().ok().and_then(|time| time.elapsed().ok());
        let is_old = age.is_some_and(|age| age > YOUNG);
        if !kind.is_dir() || !is_old || !is_of_one_user(&kind, own) {
            continue;
        }
        let _ = match File::options().write(true).open(entry.path().join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => remove(&entry.path()),
            // Its process was killed before it made the lock, or after it removed that. Only an empty folder goes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_dir(entry.path()),
            _ => Ok(()),
        };
    }
}

#[cfg(unix)]
fn is_of_one_user(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.uid() == b.uid()
}

#[cfg(not(unix))]
fn is_of_one_user(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Removes an outer folder, the lock last: while that is there, the next process goes on with a removal that was interrupted.
fn remove(folder: &Path) -> io::Result<()> {
    clear(folder)?;
    match fs::remove_file(folder.join(LOCK)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir(folder),
    }
}

/// Removes all that is in `folder` but the lock: a folder's folders move up to it before their parent is removed.
fn clear(folder: &Path) -> io::Result<()> {
    let mut folders: Vec<OsString> = vec![];
    let mut moved = 0u64;
    sort(folder, Some(LOCK), |name| folders.push(name))?;
    while let Some(name) = folders.pop() {
        let inner = folder.join(name);
        open(&inner)?;
        sort(&inner, None, |name| {
            // A name that nothing in the folder has: the numbers only grow.
            let from = inner.join(name);
            let to = loop {
                moved += 1;
                let name = OsString::from(format!(".moved {moved}"));
                if folder.join(&name).symlink_metadata().is_err() {
                    break name;
                }
            };
            if open(&from)
                .and_then(|()| fs::rename(&from, folder.join(&to)))
                .is_ok()
            {
                folders.push(to);
            }
        })?;
        fs::remove_dir(&inner)?;
    }
    Ok(())
}

/// Removes the files in `folder` but `kept`, and passes on the names of the folders.
fn sort(folder: &Path, kept: Option<&str>, mut inner: impl FnMut(OsString)) -> io::Result<()> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.flatten().collect();
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            inner(entry.file_name());
        } else if kept.is_none_or(|kept| entry.file_name() != kept) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Lets the owner of a folder read and write it.
fn open(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_and_closed_folders_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Temporary::new(folder.path()).unwrap();
        let root = scratch.path().to_owned();
        // Each round puts all so far into a folder of its own: deeper than a path can be long.
        fs::create_dir(root.join("d")).unwrap();
        for _ in 0..3000 {
            fs::create_dir(root.join("up")).unwrap();
            fs::rename(root.join("d"), root.join("up/d")).unwrap();
            fs::rename(root.join("up"), root.join("d")).unwrap();
        }
        fs::write(root.join("d/a"), "").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::os::unix::fs::symlink("/", root.join("link")).unwrap();
            let closed = fs::Permissions::from_mode(0o000);
            fs::set_permissions(root.join("d/d/d"), closed.clone()).unwrap();
            fs::set_permissions(root.join("d"), closed).unwrap();
        }
        drop(scratch);
        assert!(!root.exists() && fs::read_dir(folder.path()).unwrap().next().is_none());
    }

    /// If nobody holds the lock, its process was killed.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_was_left_is_removed() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let new = || Temporary::new(parent.path()).unwrap();
        let outer = |folder: &Temporary| folder.path().parent().unwrap().to_owned();
        let (live, young, mut left) = (new(), new(), new());
        assert_eq!(
            outer(&live).metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join(LOCK), "").unwrap();
        let link = parent.path().join(format!("{NAME}linked"));
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let old = std::time::SystemTime::now() - 2 * YOUNG;
        for folder in [outer(&live), outer(&left), outside.path().to_owned()] {
            File::open(folder).unwrap().set_modified(old).unwrap();
        }
        left.lock = None;
        let next = new();
        assert!(!left.path().exists());
        for folder in [&live, &young, &next] {
            assert!(folder.path().is_dir());
        }
        assert!(link.is_symlink() && outside.path().join(LOCK).is_file());
    }

    /// A process may be killed before it makes the lock, and while it removes its folder. What a person has stays.
    #[test]
    fn a_folder_without_a_lock_is_removed_when_it_is_old_and_empty() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let [old, young, full] =
            ["oldold", "young0", "full00"].map(|name| at(&format!("{NAME}{name}")));
        let mine = [".candlepower-thesis", ".candlepower-partial-a1b2c3"].map(at);
        let longer = at(&format!("{NAME}thesis-2"));
        for folder in [&young, &full, &mine[0], &mine[1], &longer] {
            fs::create_dir_all(folder.join("files/a")).unwrap();
        }
        fs::create_dir(&old).unwrap();
        fs::write(longer.join(LOCK), "").unwrap();
        fs::write(young.join(LOCK), "").unwrap();
        clear(&young).unwrap();
        assert!(young.join(LOCK).is_file() && !young.join("files").exists());
        let before = std::time::SystemTime::now() - 2 * YOUNG;
        for folder in [&old, &full, &mine[0], &mine[1], &longer] {
            File::open(folder).unwrap().set_modified(before).unwrap();
        }
        Temporary::new(parent.path()).unwrap();
        assert!(!old.exists() && young.is_dir());
        for folder in [&full, &mine[0], &mine[1], &longer] {
            assert!(folder.join("files/a").is_dir(), "{}", folder.display());
        }
    }
}
