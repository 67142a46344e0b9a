//! The text of a kernel, and lines that findings point at.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use classroom::in_cuda;
use cli::files;
use cli::progress::Waiting;
use data::BadInput;
use simt::Error;
use simt::case::parameters;

use super::nvrtc;

/// PTX and its file.
pub struct Text {
    /// The PTX to run.
    pub ptx: String,
    /// Name of the file, for messages.
    pub name: String,
    /// Folder of the file.
    folder: PathBuf,
    /// Whether `name` is CUDA, so that the lines of `ptx` are in no file.
    compiled: bool,
    /// Files that the PTX names.
    sources: RefCell<HashMap<String, Option<Source>>>,
}

/// A file and its text.
type Source = Rc<(PathBuf, String)>;

/// Maximum bytes of such a file.
const MAX_SOURCE: u64 = 1 << 22;

impl Text {
    /// Reads PTX, or compiles CUDA if the name ends in `.cu`.
    pub fn read(path: &Path, arch: &str) -> Result<Self, BadInput> {
        let text = data::read_text(path)?;
        let compiled = is_cuda(path);
        Ok(Self {
            ptx: if compiled {
                let _compiling = Waiting::new(format!("compiling {}", path.display()));
                nvrtc::compile(path, &text, arch)?
            } else {
                text
            },
            name: path.display().to_string(),
            folder: path.parent().unwrap_or(Path::new("")).into(),
            compiled,
            sources: RefCell::default(),
        })
    }

    /// Converts an error of the simulator; its line gets the file's name.
    pub fn bad_input(&self, error: Error) -> BadInput {
        let at = |line: u32| {
            if self.compiled {
                format!("{}: line {line} of its PTX", self.name)
            } else {
                format!("{}:{line}", self.name)
            }
        };
        match error {
            Error::Syntax {
                line,
                expected,
                found,
            } => BadInput::new(at(line), expected, found),
            Error::Name {
                location,
                expected,
                found,
            } => BadInput::new(at(location.line), expected, format!("`{found}`")),
            Error::Unsupported {
                location,
                form,
                why,
            } => {
                let expected = "an instruction that the simulator runs";
                let is_newer = self.compiled && why.contains("`.target");
                let option = if is_newer {
                    " (`--arch` names another)"
                } else {
                    ""
                };
                BadInput::new(
                    at(location.line),
                    expected,
                    format!("`{form}`{why}{option}"),
                )
            }
            launch => bad_input(launch),
        }
    }

    /// Returns the file and line of a location and its text, of the source if the PTX names one.
    pub fn place(&self, line: u32, source: Option<&(String, u32)>) -> (String, String) {
        let Some((file, number)) = source else {
            let text = nth(&self.ptx, line).unwrap_or_default();
            return (format!("{}:{line}", self.name), text);
        };
        let at_hand = self.find(file);
        let text = at_hand.as_ref().and_then(|at| nth(&at.1, *number));
        // Without the source, the PTX line is shown.
        let text = text.or_else(|| nth(&self.ptx, line)).unwrap_or_default();
        let name = at_hand.map_or_else(|| file.clone(), |at| at.0.display().to_string());
        (format!("{name}:{number}"), text)
    }

    /// Shortens the name of the file `source` in `what`, as [`Self::place`] does, and says CUDA's words for those of PTX if
    /// the file is CUDA.
    pub fn with_short_names(&self, what: &str, source: Option<&(String, u32)>) -> String {
        let found = source.and_then(|(file, _)| Some((file, self.find(file)?)));
        let what = match found {
            Some((file, at)) => what.replace(file.as_str(), &at.0.display().to_string()),
            None => what.to_owned(),
        };
        if self.compiled { in_cuda(&what) } else { what }
    }

    /// Names of a kernel's parameters, if the PTX names a file of CUDA that is at hand and has the kernel.
    pub fn parameters(&self, entry: &str) -> Vec<String> {
        let named = self.ptx.lines().filter_map(|line| {
            let (_, path) = line.trim_start().strip_prefix(".file")?.split_once('"')?;
            self.find(path.strip_suffix('"')?)
        });
        let names = named.map(|source| {
            let names = parameters(entry, &source.1).into_iter();
            names.map(str::to_owned).collect::<Vec<_>>()
        });
        names
            .into_iter()
            .find(|names| !names.is_empty())
            .unwrap_or_default()
    }

    /// Whether the PTX's lines are those of a file.
    pub fn is_ptx(&self) -> bool {
        !self.compiled
    }

    /// Finds a file that the PTX names, next to it or in the repository only, and reads it once.
    fn find(&self, file: &str) -> Option<Source> {
        let mut sources = self.sources.borrow_mut();
        let source = || self.source(file);
        sources.entry(file.into()).or_insert_with(source).clone()
    }

    fn source(&self, file: &str) -> Option<Source> {
        let here = std::env::current_dir().unwrap_or_default();
        let short = Path::new(file).strip_prefix(here).unwrap_or(file.as_ref());
        let beside = self.folder.join(short.file_name()?);
        let named = files::find(short.to_str()?);
        let mut both = [
            (named.ok(), files::root().ok()),
            (Some(beside), Some(self.folder.clone())),
        ]
        .into_iter();
        let path = both.find_map(|(path, folder)| {
            let (path, folder) = (path?, folder?.join(".").canonicalize().ok()?);
            let is_in = path.is_file() && path.canonicalize().ok()?.starts_with(folder);
            is_in.then_some(path)
        })?;
        let text = data::read_text_file(&path, MAX_SOURCE).unwrap_or_default();
        Some(Rc::new((path, text)))
    }
}

/// Whether a file is compiled first.
pub fn is_cuda(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cu")
}

/// Converts an error without a location in the text.
pub fn bad_input(error: Error) -> BadInput {
    match error {
        Error::Launch {
            what,
            expected,
            found,
        } => BadInput::new(what, expected, found),
        other => BadInput::new("the kernel", "one that can be launched", other),
    }
}

/// Returns line `number` of a text, from 1, without indentation.
fn nth(text: &str, number: u32) -> Option<String> {
    let line = text.lines().nth((number as usize).checked_sub(1)?)?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_names_files_beside_it() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("k.ptx"), "ptx")?;
        std::fs::write(path("k.cu"), "beside")?;
        let text = Text::read(&path("k.ptx"), "")?;
        let line = |file: &str| text.place(1, Some(&(file.to_owned(), 1))).1;
        for file in ["/etc/passwd", "../../../../../../etc/passwd", "/proc/kmsg"] {
            assert_eq!(line(file), "ptx", "{file}");
        }
        assert_eq!(line("/elsewhere/k.cu"), "beside");
        Ok(())
    }
}
