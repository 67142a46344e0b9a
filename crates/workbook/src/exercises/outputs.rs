//! The files that `grade` writes.

use std::path::PathBuf;

use anyhow::Result;
use classroom::class::Class;
use classroom::grade::Grades;
use classroom::junit::junit;
use cli::files::Output;
use data::BadInput;

use super::{GradeArgs, sheet};

/// The files of the grades.
pub struct Outputs {
    json: Option<Output>,
    csv: Option<Output>,
    junit: Option<Output>,
}

impl Outputs {
    /// Checks that they can be written, and that none is another or a submission.
    pub fn new(args: &GradeArgs, class: &Class) -> Result<Self, BadInput> {
        let output = |path: &Option<PathBuf>| path.as_deref().map(Output::new).transpose();
        let all = Self {
            json: output(&args.json)?,
            csv: output(&args.csv)?,
            junit: output(&args.junit)?,
        };
        let each = [&all.json, &all.csv, &all.junit].into_iter().flatten();
        let inputs: Vec<PathBuf> = class.files().collect();
        Output::distinct(
            each,
            &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
        )?;
        Ok(all)
    }

    /// Writes the JSON of the grades so far, but not to a device or a pipe, whose reader gets it once.
    pub fn keep(&self, all: &Grades) -> Result<()> {
        match &self.json {
            Some(json) if json.is_file() => Ok(json.write(&serde_json::to_vec_pretty(all)?)?),
            _ => Ok(()),
        }
    }

    /// Writes every file.
    pub fn write(&self, all: &Grades) -> Result<()> {
        if let Some(json) = &self.json {
            json.write(&serde_json::to_vec_pretty(all)?)?;
        }
        if let Some(csv) = &self.csv {
            csv.write(sheet::csv(&all.grades)?.as_bytes())?;
        }
        if let Some(xml) = &self.junit {
            xml.write(junit(all)?.as_bytes())?;
        }
        Ok(())
    }
}
