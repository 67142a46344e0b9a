//! Measures which kernel is the fastest for which shape on this device, and notes it where level 5 looks:
//! `cargo run --release -p level5 --example tune -- --device auto`

use std::io::stdout;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use cli::progress::Progress;
use level5::tuning;

#[derive(Args)]
struct Tune {
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

fn main() -> ExitCode {
    cli::run(|| tune(&cli::args::parse::<Tune>()?))
}

fn tune(args: &Tune) -> Result<()> {
    let device = args.device.open()?;
    let path = match &args.json {
        Some(path) => path.clone(),
        None => tuning::place(&device)?.context("--json: no folder for caches on this system")?,
    };
    let progress = Progress::new("shapes", tuning::problems(&device)?);
    tuning::run(&device, &path, args.any, |_| progress.step(), &mut stdout())?;
    Ok(())
}
