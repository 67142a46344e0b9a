//! The text of a kernel, and lines that findings point at.

use std::fs;
use std::path::{Path, PathBuf};

use cli::files;
use cli::progress::Waiting;
use data::BadInput;
use simt::Error;

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
}

impl Text {
    /// Reads PTX, or compiles CUDA if the name ends in `.cu`.
    pub fn read(path: &Path, arch: &str) -> Result<Self, BadInput> {
        let text = data::read_text(path)?;
        let compiled = path.extension().is_some_and(|extension| extension == "cu");
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
                place,
                expected,
                found,
            } => BadInput::new(at(place.line), expected, format!("`{found}`")),
            Error::Unsupported { place, form, why } => {
                let expected = "an instruction that the simulator runs";
                BadInput::new(at(place.line), expected, format!("`{form}`{why}"))
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
        let at_hand = self.find(Path::new(file));
        let text = at_hand
            .as_ref()
            .and_then(|path| fs::read_to_string(path).ok());
        let text = text.and_then(|text| nth(&text, *number));
        // Without the source, the PTX line is shown.
        let text = text.or_else(|| nth(&self.ptx, line)).unwrap_or_default();
        let name = at_hand.map_or_else(|| file.clone(), |path| path.display().to_string());
        (format!("{name}:{number}"), text)
    }

    /// Shortens the name of the file `source` in `what`, as [`Self::place`] does.
    pub fn with_short_names(&self, what: &str, source: Option<&(String, u32)>) -> String {
        let found = source.and_then(|(file, _)| Some((file, self.find(Path::new(file))?)));
        match found {
            Some((file, path)) => what.replace(file.as_str(), &path.display().to_string()),
            None => what.to_owned(),
        }
    }

    /// Whether the PTX's lines are those of a file.
    pub fn is_ptx(&self) -> bool {
        !self.compiled
    }

    /// Finds a file that the PTX names: as given, next to the PTX, or in the repository.
    fn find(&self, file: &Path) -> Option<PathBuf> {
        let here = std::env::current_dir().unwrap_or_default();
        let short = file.strip_prefix(here).unwrap_or(file);
        let beside = file.file_name().map(|name| self.folder.join(name));
        let candidates = [Some(short.to_path_buf()), beside];
        let is_file = |path: &PathBuf| path.is_file();
        let found = candidates.into_iter().flatten().find(is_file);
        found.or_else(|| files::find(file.to_str()?).ok().filter(is_file))
    }
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
