//! `model.safetensors.index.json`: which file has which tensor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data::{BadInput, short};

use crate::config::ConfigFile;

/// The files of a checkpoint in shards.
pub struct Index {
    path: PathBuf,
    /// The file of each tensor.
    files: BTreeMap<String, PathBuf>,
}

impl Index {
    /// Reads the `weight_map` of an index.
    ///
    /// # Errors
    /// [`BadInput`] for a malformed index.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        let config = ConfigFile::read(path)?;
        let map = config
            .get("weight_map")
            .and_then(|map| map.as_object())
            .ok_or_else(|| config.complain("weight_map", "an object from tensor to file name"))?;
        let mut files = BTreeMap::new();
        for (tensor, file) in map {
            // Only a plain name: an index must not reach outside its folder.
            let Some(name) = file.as_str().filter(|name| is_plain(name)) else {
                let what = format!("{}: tensor `{tensor}`", path.display());
                return Err(BadInput::new(what, "a file name", short(file)));
            };
            files.insert(tensor.clone(), path.with_file_name(name));
        }
        Ok(Self {
            path: path.to_path_buf(),
            files,
        })
    }

    /// Path of the index.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Each tensor and its file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.files.iter().map(|(name, file)| (&**name, &**file))
    }

    /// The files, each once, in the order of their names.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.files.values().cloned().collect();
        files.sort();
        files.dedup();
        files
    }
}

fn is_plain(name: &str) -> bool {
    Path::new(name).file_name() == Some(name.as_ref())
}

/// The paths of the files that an index names, each once.
///
/// # Errors
/// [`BadInput`] for a malformed index.
pub fn shards(index: &Path) -> Result<Vec<PathBuf>, BadInput> {
    Ok(Index::read(index)?.files())
}
