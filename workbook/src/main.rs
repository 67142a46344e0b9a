//! The `workbook` command.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use cli::{gnn::GnnArgs, lm::LmArgs, vit::VitArgs};
use data::BadInput;
use level1::Level1;
use level2::Level2;
use models::Ops;

/// Three models at several levels of optimization
#[derive(Parser)]
#[command(name = "workbook", version, about)]
struct Workbook {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Continue a text with the language model
    Lm(AtLevel<LmArgs>),
    /// Classify pictures with the vision transformer
    Vit(AtLevel<VitArgs>),
    /// Classify graphs with the graph transformer
    Gnn(AtLevel<GnnArgs>),
}

/// A program's own options, and the level that it runs at.
#[derive(Args)]
struct AtLevel<T: Args> {
    /// The level of optimization, 1 or 2
    #[arg(long, value_name = "N", default_value_t = 2)]
    level: u8,
    #[command(flatten)]
    program: T,
}

fn main() -> ExitCode {
    cli::run(|| match Workbook::try_parse()?.command {
        Command::Lm(at) => cli::lm::run(&at.program, &*ops(at.level)?),
        Command::Vit(at) => cli::vit::run(&at.program, &*ops(at.level)?),
        Command::Gnn(at) => cli::gnn::run(&at.program, &*ops(at.level)?),
    })
}

fn ops(level: u8) -> Result<Box<dyn Ops>, BadInput> {
    match level {
        1 => Ok(Box::new(Level1)),
        2 => Ok(Box::new(Level2::default())),
        _ => Err(BadInput::new("--level", "1 or 2", level)),
    }
}
