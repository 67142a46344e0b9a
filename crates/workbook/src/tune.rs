//! `workbook tune`: the example `tune` of level 5.

use std::io::stdout;

use anyhow::Result;
use cli::args::TuneArgs;
use cli::files::Output;
use cli::progress::Progress;
use level5::tuning;

/// Measures, writes the table and prints the winners.
pub fn run(args: TuneArgs) -> Result<()> {
    args.json.as_deref().map(Output::new).transpose()?; // checked before any work
    let device = args.device.open()?;
    let progress = Progress::new("tuning shapes", tuning::problems(&device, &args.ops)?);
    let seen = |_: &_| progress.step();
    Ok(tuning::run(
        &device,
        args.json,
        args.any,
        &args.ops,
        seen,
        &mut stdout(),
    )?)
}
