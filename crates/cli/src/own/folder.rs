//! Finds the crate of a learner's level.

use std::path::{Path, PathBuf};

use data::BadInput;
use levels::Name;

/// Name of a learner's folder, which git ignores.
pub const FOLDER: &str = "my-exercises";

/// File of a level's crate with its milestones.
pub const PROGRESS: &str = "progress.json";
/// File with the numbers of hints that were shown.
pub const HINTS: &str = "hints.json";
/// File with the measurements of the last report.
pub const MEASURED: &str = "measured.json";

/// The crate of a learner's level.
#[derive(Debug, Clone)]
pub struct OwnLevel {
    name: String,
    folder: PathBuf,
    /// Where the code of somebody else is compiled.
    built_in: Option<PathBuf>,
}

impl OwnLevel {
    /// The level in `folder`, whose last part is the level's name.
    ///
    /// # Errors
    /// There is no `src/lib.rs`, or the folder's name is no name of a crate.
    pub fn at(folder: &Path) -> Result<Self, BadInput> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !levels::is_name(&name) {
            let expected = "a folder whose name is lowercase letters, digits and `_`";
            return Err(BadInput::new(folder.display(), expected, name));
        }
        let file = folder.join("src/lib.rs");
        if file.is_file() {
            Ok(Self {
                name: name.into_owned(),
                folder: folder.to_path_buf(),
                built_in: None,
            })
        } else {
            Err(BadInput::new(
                file.display(),
                "a level of your own, as `cargo ex level new` makes it",
                "no such file",
            ))
        }
    }

    /// The level that an option names: `levels/NAME` in the learner's folder, here or in a parent folder, or a path.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &Name) -> Result<Self, BadInput> {
        let text = name.to_string();
        if Path::new(&text).components().count() > 1 {
            return Self::at(Path::new(&text));
        }
        let here = std::env::current_dir().unwrap_or_default();
        let up = (0..here.ancestors().count()).map(|up| PathBuf::from("../".repeat(up)));
        let places = up.flat_map(|up| {
            let own = up.join(FOLDER).join("levels").join(&text);
            [own, up.join("levels").join(&text)]
        });
        let mut found = places.filter(|folder| folder.join("src/lib.rs").is_file());
        match found.next() {
            Some(folder) => Self::at(&folder),
            None => {
                let expected = format!(
                    "a level of your own (`cargo ex level new {text}` makes one), or a number from 1 to {}",
                    levels::highest()
                );
                let found = format!("no {FOLDER}/levels/{text} here or in a parent folder");
                Err(BadInput::new(format!("level {text}"), expected, found))
            }
        }
    }

    /// The same for code of somebody else: it is compiled in the folder `built_in`, and compiled and run in a sandbox.
    pub fn confined(self, built_in: &Path) -> Self {
        let built_in = Some(built_in.to_owned());
        Self { built_in, ..self }
    }

    /// Where code of somebody else is compiled.
    pub fn built_in(&self) -> Option<&Path> {
        self.built_in.as_deref()
    }

    /// Whether it is compiled and run in a sandbox.
    pub fn is_confined(&self) -> bool {
        self.built_in.is_some()
    }

    /// Name of the level and of its crate.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Folder of its crate.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
