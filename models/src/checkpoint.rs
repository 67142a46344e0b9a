//! Weights from `model.safetensors`, or from shards and their index.
//!
//! Format: <https://huggingface.co/docs/safetensors>. A file is read whole and checked before any
//! tensor is made: a memory map would turn a file that is cut off later into a crash.

mod index;
mod unread;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use candle_core::{DType, Device, Shape, Tensor};
use candle_nn::var_builder::{SimpleBackend, VarBuilder};
use data::BadInput;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use safetensors::{SafeTensorError, SafeTensors};

use crate::bad_input;
use index::Index;

pub use index::shards;

/// A safetensors file in memory.
pub struct TensorFile {
    path: PathBuf,
    bytes: Vec<u8>,
    data_start: usize,
    metadata: Metadata,
}

impl TensorFile {
    /// Reads `path` and checks its header against its length.
    ///
    /// # Errors
    /// [`BadInput`] if the file cannot be read, or is no safetensors file.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        let bad = |found: String| BadInput::new(path.display(), "a safetensors file", found);
        check_length(path, bad)?;
        let bytes = data::read_file(path, u64::MAX)?;
        if bytes.is_empty() {
            return Err(bad("0 bytes".into()));
        }
        SafeTensors::deserialize(&bytes).map_err(|e| bad(format!("{} bytes: {e}", bytes.len())))?;
        let (header, metadata) =
            SafeTensors::read_metadata(&bytes).map_err(|e| bad(e.to_string()))?;
        check_count(path, &metadata)?; // of a pipe
        data::unique_keys(&bytes[8..8 + header]).map_err(|e| bad(format!("a header with {e}")))?;
        Ok(Self {
            path: path.to_path_buf(),
            data_start: 8 + header,
            metadata,
            bytes,
        })
    }

    /// Refuses a tensor that is none of `known`, because nothing would read it.
    ///
    /// # Errors
    /// [`BadInput`] with the first other tensor.
    pub fn only(&self, known: &[&str]) -> Result<(), BadInput> {
        let names = self.metadata.tensors().into_keys();
        match names.filter(|name| !known.contains(&&**name)).min() {
            None => Ok(()),
            Some(name) => Err(self.complain(&name, format!("only {}", known.join(", ")), "it")),
        }
    }

    /// A complaint about tensor `name`.
    pub fn complain(&self, name: &str, expected: impl Display, found: impl Display) -> BadInput {
        let what = format!("{}: tensor `{name}`", self.path.display());
        BadInput::new(what, expected, found)
    }

    fn view(&self, name: &str) -> Result<(&TensorInfo, &[u8]), BadInput> {
        let missing = || self.complain(name, "this tensor", "nothing");
        let info = self.metadata.info(name).ok_or_else(missing)?;
        let (start, end) = info.data_offsets;
        Ok((
            info,
            &self.bytes[self.data_start + start..self.data_start + end],
        ))
    }

    /// The tensor in f32 on the CPU, every element finite.
    ///
    /// # Errors
    /// If the tensor is missing, of another dtype, or has an element that is not finite.
    pub fn floats(&self, name: &str) -> crate::Result<Tensor> {
        let (info, bytes) = self.view(name)?;
        let dtype = match DType::try_from(info.dtype) {
            Ok(dtype @ (DType::F32 | DType::F16 | DType::BF16)) => dtype,
            _ => {
                let found = format!("{:?}", info.dtype);
                return Err(self.complain(name, "F32, F16 or BF16", found).into());
            }
        };
        let tensor = Tensor::from_raw_buffer(bytes, dtype, &info.shape, &Device::Cpu)?
            .to_dtype(DType::F32)?;
        match tensor
            .flatten_all()?
            .to_vec1::<f32>()?
            .iter()
            .find(|x| !x.is_finite())
        {
            Some(x) => Err(self.complain(name, "finite numbers", x).into()),
            None => Ok(tensor),
        }
    }

    /// The tensor's shape and elements, which have to be `I64`, `I32` or `U32`.
    ///
    /// # Errors
    /// [`BadInput`] if the tensor is missing or of another dtype.
    pub fn integers(&self, name: &str) -> Result<(Vec<usize>, Vec<i64>), BadInput> {
        let (info, bytes) = self.view(name)?;
        let (long, _) = bytes.as_chunks::<8>();
        let (short, _) = bytes.as_chunks::<4>();
        let values = match info.dtype {
            Dtype::I64 => long.iter().map(|b| i64::from_le_bytes(*b)).collect(),
            Dtype::I32 => short
                .iter()
                .map(|b| i32::from_le_bytes(*b).into())
                .collect(),
            Dtype::U32 => short
                .iter()
                .map(|b| u32::from_le_bytes(*b).into())
                .collect(),
            other => {
                let found = format!("{other:?}");
                return Err(self.complain(name, "I64, I32 or U32", found));
            }
        };
        Ok((info.shape.clone(), values))
    }
}

/// Checks the header of a regular file against the file's length, before the data is read: a file with a hole may be of
/// any length. Whatever else is wrong shows when the file is read whole.
fn check_length(path: &Path, bad: impl Fn(String) -> BadInput) -> Result<(), BadInput> {
    if !path.metadata().is_ok_and(|file| file.is_file()) {
        return Ok(());
    }
    let unreadable = |e| BadInput::unreadable(path, &e);
    let mut file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length == 0 {
        return Ok(());
    }
    let bad = |e: SafeTensorError| bad(format!("{length} bytes: {e}"));
    let mut start = vec![];
    let mut read = |bytes: u64, start: &mut Vec<u8>| {
        let part = (&mut file).take(bytes).read_to_end(start);
        part.map(|_| ()).map_err(unreadable)
    };
    read(8, &mut start)?;
    let header = start.as_array().map_or(0, |size| u64::from_le_bytes(*size));
    if header <= MAX_HEADER && header < length {
        read(header, &mut start)?;
    }
    let data = match SafeTensors::read_metadata(&start) {
        Ok((_, metadata)) => {
            check_count(path, &metadata)?;
            0
        }
        // The header is valid, and the data follows it.
        Err(SafeTensorError::MetadataIncompleteBuffer) => {
            let metadata = serde_json::from_slice::<Metadata>(&start[8..]);
            let metadata = metadata.map_err(SafeTensorError::InvalidHeaderDeserialization);
            let metadata = metadata.map_err(bad)?;
            check_count(path, &metadata)?;
            metadata.data_len() as u64
        }
        Err(e) => return Err(bad(e)),
    };
    if (start.len() as u64).checked_add(data) == Some(length) {
        Ok(())
    } else {
        Err(bad(SafeTensorError::MetadataIncompleteBuffer))
    }
}

/// Maximum bytes of a header, as in the crate `safetensors`.
const MAX_HEADER: u64 = 100_000_000;

/// Maximum number of tensors of a file. Each costs time even if it is empty; the largest models have as many in all.
const MAX_TENSORS: usize = 100_000;

fn check_count(path: &Path, metadata: &Metadata) -> Result<(), BadInput> {
    match metadata.tensors().len() {
        0..=MAX_TENSORS => Ok(()),
        found => {
            let expected = format!("at most {MAX_TENSORS} tensors");
            Err(BadInput::new(path.display(), expected, found))
        }
    }
}

/// Size that a model asks for where its configuration has no tensor, if [`VarBuilder::contains_tensor`] says that there
/// is one. No tensor of a checkpoint has it.
pub(crate) const ABSENT: usize = 0;

/// All weights of a model folder, by name.
pub struct Checkpoint {
    folder: PathBuf,
    files: Vec<TensorFile>,
    file_of: HashMap<String, usize>,
    /// Names of the tensors that were handed out.
    read: Mutex<HashSet<String>>,
}

impl Checkpoint {
    /// Opens `folder`/model.safetensors, or the shards that `folder`/model.safetensors.index.json names.
    ///
    /// # Errors
    /// [`BadInput`] for a file that is missing or damaged, and for shards that differ from the index.
    pub fn open(folder: &Path) -> Result<Self, BadInput> {
        let single = folder.join("model.safetensors");
        let index = folder.join("model.safetensors.index.json");
        if data::is_there(&single) || !data::is_there(&index) {
            return Self::of_files(folder, vec![TensorFile::read(&single)?]);
        }
        let index = Index::read(&index)?;
        let files = index.files();
        let files = files.iter().map(|path| TensorFile::read(path));
        let checkpoint = Self::of_files(folder, files.collect::<Result<_, _>>()?)?;
        checkpoint.agrees_with(&index)?;
        Ok(checkpoint)
    }

    /// # Errors
    /// [`BadInput`] for a tensor in two files: one of them would be left out.
    fn of_files(folder: &Path, files: Vec<TensorFile>) -> Result<Self, BadInput> {
        let mut file_of = HashMap::new();
        for (i, file) in files.iter().enumerate() {
            for name in file.metadata.tensors().into_keys() {
                match file_of.entry(name) {
                    Entry::Vacant(entry) => {
                        entry.insert(i);
                    }
                    Entry::Occupied(entry) => {
                        let first = files[*entry.get()].path.display();
                        let expected = format!("this tensor in one file, and it is in {first}");
                        return Err(file.complain(entry.key(), expected, "it again"));
                    }
                }
            }
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            file_of,
            files,
            read: Mutex::default(),
        })
    }

    /// # Errors
    /// [`BadInput`] for a tensor that is not in the file that the index names.
    fn agrees_with(&self, index: &Index) -> Result<(), BadInput> {
        let file = |name: &str| Some(&*self.files[*self.file_of.get(name)?].path);
        match index.iter().find(|(name, path)| file(name) != Some(path)) {
            None => Ok(()),
            Some((name, path)) => {
                let what = format!("{}: tensor `{name}`", index.path().display());
                let found = file(name).map(|path| path.display().to_string());
                let found = found.unwrap_or_else(|| "it in no file".into());
                Err(BadInput::new(
                    what,
                    format!("it in {}", path.display()),
                    found,
                ))
            }
        }
    }

    /// These weights, where they are of no layer that the model does not have: `prefix.0.…` to below `layers`.
    ///
    /// # Errors
    /// [`BadInput`] for a tensor of one beyond: without it the model would be another than the one that was trained.
    pub fn of_layers(self, prefix: &str, layers: usize) -> Result<Self, BadInput> {
        let beyond = |name: &'_ String| {
            let layer = layer(name, prefix)?;
            (layer >= layers).then(|| (layer, name.clone()))
        };
        match self.file_of.keys().filter_map(beyond).min() {
            None => Ok(self),
            Some((layer, name)) => {
                let last = layers.saturating_sub(1);
                let expected = format!("layers 0 to {last}, `num_hidden_layers` of config.json");
                let found = format!("layer {layer}");
                Err(self.files[self.file_of[&name]].complain(&name, expected, found))
            }
        }
    }

    /// A [`VarBuilder`] that hands out these weights as `dtype` on `device`.
    pub fn into_weights(self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self), dtype, device.clone())
    }
}

/// 3 of `prefix.3.mlp.weight`.
fn layer(name: &str, prefix: &str) -> Option<usize> {
    let (number, _) = name
        .strip_prefix(prefix)?
        .strip_prefix('.')?
        .split_once('.')?;
    number.parse().ok()
}

impl SimpleBackend for Checkpoint {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: candle_nn::Init,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        if *tensor.shape() != shape || shape.dims() == [ABSENT] {
            let file = &self.files[self.file_of[name]].path;
            let what = format!("{}: tensor `{name}`", file.display());
            let (expected, found) = (shape.dims(), tensor.dims());
            let expected = match expected {
                [ABSENT] => "no such tensor, by config.json".to_string(),
                _ => format!("shape {expected:?}"),
            };
            return Err(bad_input(what, expected, format!("shape {found:?}")));
        }
        Ok(tensor)
    }

    fn get_unchecked(
        &self,
        name: &str,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        let Some(&file) = self.file_of.get(name) else {
            let what = format!("{}: tensor `{name}`", self.folder.display());
            return Err(bad_input(what, "this tensor in the checkpoint", "nothing"));
        };
        if let Ok(mut read) = self.read.lock() {
            read.insert(name.to_owned());
        }
        self.files[file]
            .floats(name)?
            .to_dtype(dtype)?
            .to_device(device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.file_of.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a hole, whose data no machine has the memory for.
    #[test]
    fn a_header_is_checked_before_the_data_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let refused = |start: &[u8], length: u64| {
            std::fs::write(&path, start).unwrap();
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(length)
                .unwrap();
            let error = TensorFile::read(&path).err().expect("an error").to_string();
            error
                .split_once("expected a safetensors file, found ")
                .unwrap()
                .1
                .to_owned()
        };
        let long = 1 << 43;
        let header = |data: &str| {
            let header =
                format!(r#"{{"a":{{"dtype":"U8","shape":[{data}],"data_offsets":[0,{data}]}}}}"#);
            [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
        };
        let found = refused(&[], long);
        assert!(found.starts_with("8796093022208 bytes: "), "{found}");
        let size = |n: u64| n.to_le_bytes();
        for start in [&size(1 << 60)[..], &size(100), &header("16")] {
            let found = refused(start, long);
            assert!(found.starts_with("8796093022208 bytes: "), "{found}");
        }
        let found = refused(&header("16"), header("16").len() as u64 + 15);
        assert!(found.contains("bytes: "), "{found}");
        std::fs::write(&path, [&header("4")[..], &[0; 4]].concat()).unwrap();
        assert!(TensorFile::read(&path).is_ok());
        std::fs::write(&path, [&size(2)[..], b"{}"].concat()).unwrap();
        assert!(TensorFile::read(&path).is_ok());
    }

    #[test]
    fn a_file_of_too_many_empty_tensors_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let empty = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
        let tensors = (0..=MAX_TENSORS).map(|i| format!("\"{i}\":{empty}"));
        let header = format!("{{{}}}", tensors.collect::<Vec<_>>().join(","));
        let size = (header.len() as u64).to_le_bytes();
        std::fs::write(&path, [&size[..], header.as_bytes()].concat()).unwrap();
        let error = TensorFile::read(&path).err().expect("an error");
        assert_eq!(error.expected, "at most 100000 tensors");
    }
}
