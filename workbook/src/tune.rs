//! `workbook tune`: the example `tune` of level 5.

use std::io::stdout;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use cli::progress::Progress;
use level5::tuning;

/// On which device, and where the table goes.
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: cli::device::Choice,
    /// Where the table goes [default: the folder of the user's caches, where level 5 looks for it]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// As the table of all GPUs, or all CPUs, for which there is no other
    #[arg(long, requires = "json")]
    any: bool,
}

/// Measures, writes the table and prints what won.
pub fn run(args: &TuneArgs) -> Result<()> {
    let device = args.device.open()?;
    let path = match &args.json {
        Some(path) => path.clone(),
        None => tuning::place(&device)?.context("--json: no folder for caches on this system")?,
    };
    let progress = Progress::new("shapes", tuning::problems(&device)?);
    tuning::run(&device, &path, args.any, |_| progress.step(), &mut stdout())?;
    Ok(())
}
