//! Measures which kernel is the fastest for which shape on this device, and notes it where level 5 looks:
//! `cargo run --release -p level5 --example tune -- --device auto`

use std::io::stdout;
use std::process::ExitCode;

use cli::args::{TuneArgs, parse};
use cli::files::Output;
use cli::progress::Progress;
use level5::tuning;

fn main() -> ExitCode {
    cli::run(|| {
        let TuneArgs {
            device,
            json,
            any,
            ops,
        } = parse()?;
        json.as_deref().map(Output::new).transpose()?; // looked at before any work
        let device = device.open()?;
        let progress = Progress::new("tuning shapes", tuning::problems(&device, &ops)?);
        let seen = |_: &_| progress.step();
        Ok(tuning::run(&device, json, any, &ops, seen, &mut stdout())?)
    })
}
