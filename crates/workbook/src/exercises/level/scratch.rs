//! A folder that a learner's level may write, and its removal whatever is in it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// A temporary folder. Folders in it may be nested deeper than the stack or a path allows, and closed to their owner.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> io::Result<Self> {
        tempfile::tempdir().map(Self)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that cannot be removed stay in the system's temporary folder.
        let _ = clear(self.path());
    }
}

/// Removes all that is in `folder`: a folder's folders move up to it before their parent is removed.
fn clear(folder: &Path) -> io::Result<()> {
    let mut folders: Vec<OsString> = vec![];
    let mut moved = 0u64;
    sort(folder, |name| folders.push(name))?;
    while let Some(name) = folders.pop() {
        let inner = folder.join(name);
        open(&inner)?;
        sort(&inner, |name| {
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

/// Removes the files in `folder`, and passes on the names of the folders.
fn sort(folder: &Path, mut inner: impl FnMut(OsString)) -> io::Result<()> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.flatten().collect();
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            inner(entry.file_name());
        } else {
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
        let scratch = Scratch::new().unwrap();
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
        assert!(!root.exists());
    }
}
