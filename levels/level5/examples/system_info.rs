//! Prints the facts that level 5 has about a device, and the kernels that it picks there:
//! `cargo run --release -p level5 --example system_info -- --device auto`

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use kernels::dispatch::{Facts, tables};

#[derive(Args)]
struct SystemInfo {
    /// Device to describe: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: cli::device::Choice,
}

fn main() -> ExitCode {
    cli::run(|| print(&cli::args::parse::<SystemInfo>()?))
}

fn print(args: &SystemInfo) -> Result<()> {
    let device = args.device.open()?;
    let facts = Facts::of(&device)?;
    print!("{}", level5::system::describe(facts, tables(facts)));
    Ok(())
}
