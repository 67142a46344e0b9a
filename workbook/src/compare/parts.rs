//! `workbook record`: a record from parts that were measured elsewhere, or in a run that was cut off.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::record::{Record, Results};

/// Put what `compare` has written, here or on another machine, into a record
#[derive(Debug, Clone, Args)]
pub struct RecordArgs {
    /// benches/results/NAME.json, made where it is not there
    name: String,
    /// JSON of `compare`, each in place of what the record has of the same models, presets and number formats
    #[arg(required = true, value_name = "JSON")]
    parts: Vec<PathBuf>,
}

/// Adds the parts in order, and writes the record, its charts and the README's table.
pub fn record(args: &RecordArgs) -> Result<()> {
    let record = Record::new(&super::root()?, &args.name)?;
    let mut all = record.kept()?;
    for path in &args.parts {
        all = Some(record.behind(all, Results::load(path)?)?);
    }
    all.map_or(Ok(()), |all| super::written(&record, &all))
}
