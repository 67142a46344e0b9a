//! The reference: one page per op, made of the op's folder in `kernels/src` and of the recorded runs.
//!
//! - `{{op rms_norm}}` becomes the op's contract, its files and its times. Further words name the recorded ops that belong
//!   to the folder, where there are several: `{{op linear linear linear_residual}}`. The times of a pass of level 5, such as
//!   `{{op decoder_pass}}`, are those of models with it and without it, from the recorded ablations.
//! - `{{reference}}` becomes the index: one row per page.
//!
//! `reference.toml` next to `book.toml` holds what no program can derive: remarks on ops, and why a level is slower than the
//! one below.

mod contract;
mod escape;
mod files;
mod findings;
mod heat;
mod index;
mod page;
mod pass;
mod remarks;
mod slower;
mod sources;
mod table;

pub use findings::findings;
pub use sources::{add_pages, source};

use crate::directives;
use crate::library::Library;
use anyhow::{Context, Result, ensure};
use remarks::Remarks;
use std::path::{Path, PathBuf};

/// The folder of the pages, below that of the chapters.
pub const FOLDER: &str = "reference";
/// The folder of the ops, in the repository.
pub const KERNELS: &str = "kernels/src";

/// All that the pages are made of but the recorded runs.
pub struct Reference {
    /// The folder of the pages.
    pages: PathBuf,
    /// The folder of the ops.
    kernels: PathBuf,
    remarks: Remarks,
}

impl Reference {
    /// The reference of the book in `root`, whose chapters are in `chapters`.
    ///
    /// # Errors
    /// A `reference.toml` that cannot be read.
    pub fn open(root: &Path, chapters: &Path, repository: &Path) -> Result<Self> {
        Ok(Self {
            pages: chapters.join(FOLDER),
            kernels: repository.join(KERNELS),
            remarks: Remarks::load(&remarks_file(root))?,
        })
    }

    /// `text` with `{{op …}}` and `{{reference}}` replaced.
    pub fn expand(&self, text: &str, library: &mut Library) -> Result<String> {
        directives::expand(text, "op|reference", |name, arguments| match name {
            "op" => page::page(self, &self.subject(arguments)?, library),
            _ => index::index(self),
        })
    }

    fn subject(&self, arguments: &str) -> Result<Subject> {
        let subject = Subject::parse(arguments)?;
        let folder = self.kernels.join(&subject.folder);
        ensure!(
            folder.join("mod.rs").is_file(),
            "expected a folder of {KERNELS}, found `{}`",
            subject.folder
        );
        Ok(subject)
    }

    /// The folder of a page's op.
    fn folder(&self, subject: &Subject) -> PathBuf {
        self.kernels.join(&subject.folder)
    }
}

/// The file with the remarks of the book in `root`.
pub fn remarks_file(root: &Path) -> PathBuf {
    root.join("reference.toml")
}

/// The op that `{{op …}}` names.
#[derive(Debug, Clone, PartialEq)]
struct Subject {
    /// A folder of `kernels/src`.
    folder: String,
    /// The recorded ops of the page.
    ops: Vec<String>,
}

impl Subject {
    fn parse(arguments: &str) -> Result<Self> {
        let mut words = arguments.split_whitespace().map(str::to_string);
        let folder = words.next().context("expected the folder of an op")?;
        let mut ops: Vec<String> = words.collect();
        if ops.is_empty() {
            ops.push(folder.clone());
        }
        Ok(Self { folder, ops })
    }

    /// Whether the record of `op` may be missing: the directive does not name it.
    fn is_default(&self, op: &str) -> bool {
        self.folder == op
    }
}
