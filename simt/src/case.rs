//! A launch as text, on a command line or in a `.cases` file next to a kernel.
//!
//! ```text
//! # A row that ends within a warp.
//! --entry scale --grid 4 --block 256,1,1 --smem 0 --arg i32:1000 --arg f32:1000:random --arg f32:1000:poison
//! ```

mod argument;
mod element;
mod fill;
mod list;
pub mod npy;
mod operands;
mod signature;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs, io};

use crate::error::{Error, Result};
use crate::{Dim, Kernel, Module};

pub use argument::{Argument, Contents, Fill};
pub use element::Element;
pub use operands::Operands;
pub use signature::parameters;

/// Returns the file with a kernel's launches: `X.cases` next to `X.ptx`, or next to `X.sm_80.ptx`, one of
/// several texts of a kernel file. For hand-written `kernels/src/OP/X.ptx` it is
/// `kernels/generated/OP/X.cases`.
pub fn file_of(ptx: &Path) -> PathBuf {
    with_folder(&with_extension(ptx, "cases"), "src", "generated")
}

/// Whether a kernel file is a reading version: CUDA C++ with the algorithm and entries of the hand-written
/// PTX of the same name, `kernels/src/OP/X.cu` next to `kernels/src/OP/X.ptx`, or nvcc's output for it,
/// `kernels/generated/OP/X.sm_75.ptx`. No level launches it, so it has no cases and no measured times.
pub fn is_reading_version(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let from_cuda = path.extension().is_some_and(|e| e == "cu") || stem.contains(".sm_");
    from_cuda && with_folder(&with_extension(path, "ptx"), "generated", "src").exists()
}

/// Returns `X.extension` for `X.ptx`, `X.cu` and `X.sm_80.ptx`.
fn with_extension(path: &Path, extension: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.split(".sm_").next().unwrap_or_default();
    path.with_file_name(format!("{name}.{extension}"))
}

/// Replaces the folder `kernels/from` in `path` by `kernels/to`.
fn with_folder(path: &Path, from: &str, to: &str) -> PathBuf {
    let mut folders: Vec<_> = path.iter().collect();
    let kernels = folders
        .windows(2)
        .rposition(|pair| pair == ["kernels", from]);
    if let Some(at) = kernels {
        folders[at + 1] = to.as_ref();
    }
    folders.iter().collect()
}

/// Lists the files in `folder` and its subfolders with one of these extensions, sorted, but of no links to folders.
///
/// # Errors
/// If a folder cannot be read.
pub fn files_below(folder: &Path, extensions: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_wanted = |e: &OsStr| extensions.iter().any(|extension| e == *extension);
        if entry.file_type()?.is_dir() {
            found.extend(files_below(&path, extensions)?);
        } else if path.extension().is_some_and(is_wanted) && !path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A launch of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The kernel's name; optional for a module with one kernel.
    pub entry: Option<String>,
    /// Blocks, threads per block, and bytes of dynamic shared memory.
    pub dim: Dim,
    /// Arguments in parameter order.
    pub args: Vec<Argument>,
}

impl Case {
    /// Parses the flags of one launch, separated by blanks: `--entry NAME`, `--grid X,Y,Z`, `--block X,Y,Z`,
    /// `--smem BYTES`, and one `--arg` (see [`Argument`]) per parameter. Defaults: 1 block, 32 threads, 0
    /// bytes. File names cannot contain blanks.
    ///
    /// # Errors
    /// [`Error::Launch`], which names the flag.
    pub fn parse(line: &str) -> Result<Self> {
        let mut case = Self {
            entry: None,
            dim: Dim {
                grid: [1; 3],
                block: [32, 1, 1],
                smem: 0,
            },
            args: vec![],
        };
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (word, words.next()),
            };
            let value = value.ok_or_else(|| wrong(flag, "a value", "none"))?;
            match flag {
                "--entry" => case.entry = Some(value.to_owned()),
                "--grid" => case.dim.grid = triple(value, 1).map_err(|e| wrong(flag, e, value))?,
                "--block" => {
                    case.dim.block = triple(value, 1).map_err(|e| wrong(flag, e, value))?
                }
                "--smem" => {
                    let bytes = value.parse().ok();
                    case.dim.smem = bytes.ok_or_else(|| wrong(flag, "bytes", value))?;
                }
                "--arg" => case.args.push(value.parse()?),
                _ => {
                    let expected = "--entry, --grid, --block, --smem or --arg";
                    return Err(wrong("a launch", expected, flag));
                }
            }
        }
        Ok(case)
    }

    /// Parses a file of cases, one per line, and returns each with its line number. Empty lines and text
    /// after `#` are ignored.
    ///
    /// # Errors
    /// [`Error::Launch`], which names the line.
    pub fn parse_all(text: &str) -> Result<Vec<(usize, Self)>> {
        let lines = (1..).zip(text.lines());
        let without_comments = lines.map(|(n, l)| (n, l.split('#').next().unwrap_or(l).trim()));
        let cases = without_comments.filter(|(_, line)| !line.is_empty());
        cases
            .map(|(n, line)| Ok((n, Self::parse(line).map_err(|e| on_line(n, e))?)))
            .collect()
    }

    /// Returns the kernel of `module` to launch: the one with this name, or else the only one whose C++
    /// mangled name is this name followed by parameter types (`_Z3sumPKfPf` is `sum`).
    ///
    /// # Errors
    /// [`Error::Launch`] if there is not exactly one; the errors of [`Module::kernel`].
    pub fn kernel(&self, module: &Module) -> Result<Kernel> {
        let names: Vec<&str> = module.entries().collect();
        let fits: Vec<&str> = match &self.entry {
            None => names.clone(),
            Some(name) if names.contains(&name.as_str()) => vec![name],
            Some(name) => {
                let mangled = format!("_Z{}{name}", name.len());
                let is_it = |other: &&str| other.starts_with(&mangled);
                names.iter().copied().filter(is_it).collect()
            }
        };
        if let [only] = fits.as_slice() {
            return module.kernel(only);
        }
        let expected = match names.as_slice() {
            [] => "a text with a kernel".to_owned(),
            names => format!("one of {}", names.join(", ")),
        };
        let found = match self.entry.as_deref() {
            None => "none",
            Some("") => "an empty name",
            Some(name) => name,
        };
        Err(wrong("--entry", expected, found))
    }

    /// Creates the buffers. Random numbers come from `seed`, with a separate sequence for each argument.
    /// Relative file names start from `folder`.
    ///
    /// # Errors
    /// [`Error::Launch`] if a file cannot be read or has other contents, or if an argument refers to one
    /// without a buffer.
    pub fn operands(&self, seed: u64, folder: &Path) -> Result<Operands> {
        Operands::new(self, seed, folder)
    }
}

/// Parses `4`, `4,1` or `4,1,1`. Missing numbers are `rest`: 1 for a size, 0 for a position. The error says
/// what is expected.
pub fn triple(text: &str, rest: u32) -> std::result::Result<[u32; 3], String> {
    let expected = || "one to three numbers with commas between them".to_owned();
    let mut sizes = [rest; 3];
    for (i, number) in text.split(',').enumerate() {
        let to = sizes.get_mut(i).ok_or_else(expected)?;
        *to = number.parse().map_err(|_| expected())?;
    }
    Ok(sizes)
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self> {
        Self::parse(line)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(entry) = &self.entry {
            write!(f, "--entry {entry} ")?;
        }
        let sizes = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        let (grid, block) = (sizes(self.dim.grid), sizes(self.dim.block));
        write!(f, "--grid {grid} --block {block} --smem {}", self.dim.smem)?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " --arg {arg}"))
    }
}

fn wrong(what: &str, expected: impl Into<String>, found: impl ToString) -> Error {
    Error::Launch {
        what: what.to_owned(),
        expected: expected.into(),
        found: found.to_string(),
    }
}

fn on_line(line: usize, error: Error) -> Error {
    match error {
        Error::Launch {
            what,
            expected,
            found,
        } => Error::Launch {
            what: format!("line {line}: {what}"),
            expected,
            found,
        },
        other => other,
    }
}
