//! Where a training keeps its checkpoint and leaves its model, for itself alone.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use data::{BadInput, writable_folder};

/// The folders of one training, locked until it ends.
pub struct Place {
    /// Folder of the trained model.
    pub folder: PathBuf,
    /// File of the checkpoint. Each folder has another.
    pub checkpoint: PathBuf,
    /// Path of the loss chart, without its ending. Each folder has another.
    pub chart: PathBuf,
    _lock: File,
}

impl Place {
    /// Makes and locks the folder of model `name`: `chosen`, or else the one where it ships. `workbook` is the folder
    /// of charts and checkpoints.
    ///
    /// # Errors
    /// [`BadInput`] if a file cannot be written there, or another training has the folder.
    pub fn lock(name: &str, chosen: Option<&Path>, workbook: &Path) -> Result<Self, BadInput> {
        let folder = folder(chosen, name)?;
        writable_folder(&folder)?;
        writable_folder(workbook)?;
        let own = own_name(name, &folder);
        let lock = locked(&folder, &workbook.join(format!("{own}.lock")))?;
        Ok(Self {
            checkpoint: workbook.join(format!("{own}.safetensors")),
            chart: workbook.join(own),
            folder,
            _lock: lock,
        })
    }

    /// Checks that a new training would not write over a checkpoint.
    ///
    /// # Errors
    /// [`BadInput`] if there is one.
    pub fn is_new(&self) -> Result<(), BadInput> {
        if !self.checkpoint.exists() {
            return Ok(());
        }
        let what = self.checkpoint.display();
        let expected = "no checkpoint of an earlier training before a new one";
        let found = "one (continue it with --resume, or delete the file)";
        Err(BadInput::new(what, expected, found))
    }
}

/// The folder that was asked for, or the one where the model `name` ships.
pub fn folder(chosen: Option<&Path>, name: &str) -> Result<PathBuf, BadInput> {
    match chosen {
        Some(folder) => Ok(folder.to_path_buf()),
        None => Ok(cli::files::find("models")?.join("tiny").join(name)),
    }
}

/// `train-lm`, and for a folder of one's own a number of its path.
fn own_name(name: &str, folder: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().ok();
    let shipped = self::folder(None, name).ok().and_then(|path| whole(&path));
    match whole(folder) {
        Some(path) if Some(&path) != shipped.as_ref() => {
            // FNV-1a, which is the same in every release.
            let fnv = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
            let bytes = path.as_os_str().as_encoded_bytes();
            let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
            format!("train-{name}-{hash:016x}")
        }
        _ => format!("train-{name}"),
    }
}

/// Locks `folder` itself, which leaves no file. Only Unix can, so that other systems lock `file`.
fn locked(folder: &Path, file: &Path) -> Result<File, BadInput> {
    let bad = |found: &dyn std::fmt::Display| {
        let expected = "a folder that no other training writes to";
        BadInput::new(folder.display(), expected, found)
    };
    let opened = if cfg!(unix) {
        File::open(folder)
    } else {
        File::create(file)
    };
    let opened = opened.map_err(|e| bad(&e))?;
    match opened.try_lock() {
        Ok(()) => Ok(opened),
        Err(TryLockError::WouldBlock) => Err(bad(&"one that runs now")),
        Err(TryLockError::Error(e)) => Err(bad(&e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_training_at_a_time() {
        let [workbook, a, b] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let lock =
            |folder: &tempfile::TempDir| Place::lock("gnn", Some(folder.path()), workbook.path());
        let first = lock(&a).unwrap();
        let other = lock(&b).unwrap();
        assert_ne!(first.checkpoint, other.checkpoint);
        assert_ne!(first.chart, other.chart);
        let error = lock(&a).err().unwrap().to_string();
        let end = "expected a folder that no other training writes to, found one that runs now";
        assert!(error.ends_with(end), "{error}");
        drop(first);
        let again = lock(&a).unwrap();
        assert_eq!(std::fs::read_dir(a.path()).unwrap().count(), 0);

        again.is_new().unwrap();
        std::fs::write(&again.checkpoint, "an earlier one").unwrap();
        let error = again.is_new().unwrap_err().to_string();
        assert!(error.contains("continue it with --resume"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn checkpoints_that_cannot_be_written_are_found_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Place::lock("gnn", Some(folder.path()), file.path()).err();
        let error = error.unwrap().to_string();
        assert!(error.contains("expected a folder that can be"), "{error}");
    }
}
