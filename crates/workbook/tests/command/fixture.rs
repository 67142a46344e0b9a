//! Copies of the goldens that a test may modify, and runs of the command.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;
use tempfile::TempDir;

use crate::slashes::{slashes, text};

/// Path of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The numbers of all levels.
pub fn levels() -> Vec<String> {
    let number = |ops: levels::Level| ops.level().to_string();
    levels::all().into_iter().map(number).collect()
}

/// A copy of a golden's folder.
pub struct Fixture {
    folder: TempDir,
    /// The subcommand: `lm`, `vit` or `gnn`.
    kind: String,
}

impl Fixture {
    pub fn golden(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = root().join("tests/goldens").join(name);
        for entry in fs::read_dir(source).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        let kind = name.split('-').next().unwrap().to_string();
        Self { folder, kind }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Writes a file; creates folders in `name`.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Sets a key of a JSON file; a dot in the key steps into an object.
    pub fn set(&self, file: &str, key: &str, value: Value) {
        let path = self.path(file);
        let mut root: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let mut at = &mut root;
        for key in key.split('.') {
            at = &mut at[key];
        }
        *at = value;
        fs::write(path, root.to_string()).unwrap();
    }

    /// Changes the tensors of a file.
    pub fn edit(&self, file: &str, edit: impl FnOnce(&mut Tensors)) {
        let mut tensors = read(&self.path(file));
        edit(&mut tensors);
        self.save(file, &tensors);
    }

    /// Writes tensors to a file.
    pub fn save(&self, file: &str, tensors: &Tensors) {
        let views = tensors.iter().map(|(name, t)| {
            let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap();
            (name.as_str(), view)
        });
        let bytes = safetensors::serialize(views, None).unwrap();
        fs::write(self.path(file), bytes).unwrap();
    }

    /// Runs the model on `case.safetensors` into `answer.safetensors`, with more arguments.
    pub fn answer(&self, more: &[&str]) -> Run {
        let (input, output) = (
            self.path("case.safetensors"),
            self.path("answer.safetensors"),
        );
        self.run(&[&["--input", &input, "--output", &output], more].concat())
    }

    /// Runs the subcommand on this folder's model.
    pub fn run(&self, args: &[&str]) -> Run {
        let run = run(&[&[self.kind.as_str(), "--model", &self.path("")], args].concat());
        if run.code != Some(0) {
            let names = fs::read_dir(self.folder.path()).unwrap();
            let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
            let left = |name: &String| name.starts_with("answer") || name.starts_with('.');
            assert_eq!(
                names.filter(left).collect::<Vec<_>>(),
                [""; 0],
                "no file is left"
            );
        }
        run
    }
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Stored>;

/// A tensor of a file.
pub struct Stored {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Stored {
    pub fn floats(shape: &[usize], values: &[f32]) -> Self {
        Self {
            dtype: Dtype::F32,
            shape: shape.to_vec(),
            bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }

    pub fn integers(shape: &[usize], values: &[i64]) -> Self {
        Self {
            dtype: Dtype::I64,
            shape: shape.to_vec(),
            bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }

    pub fn to_floats(&self) -> Vec<f32> {
        assert_eq!(self.dtype, Dtype::F32);
        let (chunks, _) = self.bytes.as_chunks();
        chunks.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    pub fn to_integers(&self) -> Vec<i64> {
        assert_eq!(self.dtype, Dtype::I64);
        let (chunks, _) = self.bytes.as_chunks();
        chunks.iter().map(|b| i64::from_le_bytes(*b)).collect()
    }

    /// Overwrites the first element.
    pub fn poke(&mut self, x: f32) {
        self.bytes[..4].copy_from_slice(&x.to_le_bytes());
    }
}

/// The tensors of a file.
pub fn read(path: &str) -> Tensors {
    let bytes = fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let stored = |view: TensorView| Stored {
        dtype: view.dtype(),
        shape: view.shape().to_vec(),
        bytes: view.data().to_vec(),
    };
    file.iter()
        .map(|(name, view)| (name.to_string(), stored(view)))
        .collect()
}

/// The result of a run.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command with backtraces on, which must not appear in messages.
pub fn run(args: &[&str]) -> Run {
    run_in(Path::new("."), args)
}

/// The same in a given folder.
pub fn run_in(folder: &Path, args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_workbook"))
        .args(args)
        .current_dir(folder)
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: without_note(&text(output.stderr)),
    }
}

/// Start of the note that level 5 is not tuned for a device.
pub const NOT_TUNED: &str = "note: level 5 ";

/// Removes that note, which depends on the machine.
pub fn without_note(stderr: &str) -> String {
    let lines = stderr.split_inclusive('\n');
    lines.filter(|line| !line.starts_with(NOT_TUNED)).collect()
}

impl Run {
    /// Asserts that the run rejected its input: one line with all `parts`, and code 2.
    pub fn refused(&self, parts: &[&str]) {
        self.refused_so(&[parts, &["expected ", ", found "]].concat());
    }

    /// Asserts that the run could not read a missing file.
    pub fn unreadable(&self, path: &str) {
        self.refused_so(&[&format!("cannot read `{path}`: no such file\n")]);
    }

    /// Same as [`Self::refused`], in other words than "expected" and "found".
    pub fn refused_so(&self, parts: &[&str]) {
        let line = &self.stderr;
        assert_eq!(self.code, Some(2), "{line}");
        assert!(
            line.starts_with("error: ") && line.ends_with('\n'),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(!line.contains("panicked"), "{line}");
        for part in parts {
            let part = slashes(part);
            assert!(line.contains(&part), "{part:?} is not in: {line}");
        }
    }

    /// Asserts that the run succeeded, and returns its stdout.
    pub fn fine(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        &self.stdout
    }
}
