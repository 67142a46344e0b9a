//! `workbook exercises level`: a level of the learner's own, built rung by rung.

mod calls;
mod check;
mod child;
mod new;
mod oracle;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Place;

/// Build a level of your own, method by method
#[derive(Args)]
pub struct LevelArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the crate of a level in your folder: it is level 1, every method delegates to it
    New {
        /// Name of the level: lowercase letters, digits and `_`
        #[arg(value_name = "NAME", default_value = "mine")]
        name: String,
    },
}

/// Runs the command in `args`; returns whether all checks passed.
pub fn run(args: &LevelArgs, place: &Place) -> Result<bool> {
    match &args.command {
        Command::New { name } => new::new(name, &place.dir()),
    }
}
