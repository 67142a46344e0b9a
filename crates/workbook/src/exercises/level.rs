//! `workbook exercises level`: a level of the learner's own, built rung by rung.

mod calls;
mod check;
mod child;
mod milestones;
mod new;
mod oracle;
mod run;
mod texts;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use cli::args::whole;
use cli::own::OwnLevel;
use data::BadInput;
use levels::Name;

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
    /// Check the level: one line says what is wrong with a method, and where; shows the milestones
    Check {
        #[command(flatten)]
        named: Named,
        /// Only this method, such as norm_qkv
        #[arg(value_name = "METHOD")]
        method: Option<String>,
        /// Also compare the time of the methods that you replaced with that of levels 1 to 3
        #[arg(long)]
        time: bool,
        /// Time limit of each method, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = run::LIMIT, value_parser = super::seconds)]
        limit: f32,
        /// Repeat a check with the same random numbers
        #[arg(long, value_name = "N", value_parser = whole::<u64>)]
        seed: Option<u64>,
    },
    /// Check what changed each time you save, and print the next milestone
    Watch {
        #[command(flatten)]
        named: Named,
        /// Poll the files twice a second, for folders without change notifications (WSL, network drives)
        #[arg(long)]
        poll: bool,
    },
    /// Print the next of three hints for the next milestone
    Hint {
        #[command(flatten)]
        named: Named,
        /// For the next milestone of this method
        #[arg(value_name = "METHOD")]
        method: Option<String>,
    },
    /// The calls of one method, in a process of their own
    #[command(hide = true)]
    Run {
        name: Name,
        method: String,
        seed: u64,
        out: PathBuf,
    },
    /// The times of one method, in a process of their own
    #[command(hide = true)]
    Time {
        name: Name,
        method: String,
        level: u8,
        out: PathBuf,
    },
}

/// A level of the learner's own.
#[derive(Args)]
struct Named {
    /// Name of the level, or the path of its crate
    #[arg(value_name = "NAME", default_value = "mine")]
    name: Name,
}

impl Named {
    fn level(&self, place: &Place) -> Result<OwnLevel, BadInput> {
        let Some(own) = self.name.own() else {
            return Err(BadInput::new(
                "NAME",
                "the name of a level of your own",
                &self.name,
            ));
        };
        let folder = place.dir().join("levels").join(own);
        if folder.join("src/lib.rs").is_file() && self.name.to_string() == own {
            OwnLevel::at(&folder)
        } else {
            OwnLevel::find(&self.name)
        }
    }
}

/// Runs the command in `args`; returns whether all checks passed.
pub fn run(args: &LevelArgs, place: &Place) -> Result<bool> {
    match &args.command {
        Command::New { name } => new::new(name, &place.dir()),
        Command::Check {
            named,
            method,
            time,
            limit,
            seed,
        } => {
            let options = run::Options {
                timed: *time,
                limit: Duration::from_secs_f32(*limit),
                seed: *seed,
            };
            run::check(named.level(place)?, method.as_deref(), options)
        }
        Command::Watch { named, poll } => run::watch(named.level(place)?, *poll),
        Command::Hint { named, method } => run::hint(named.level(place)?, method.as_deref()),
        Command::Run {
            name,
            method,
            seed,
            out,
        } => child::run(name, method, *seed, out),
        Command::Time {
            name,
            method,
            level,
            out,
        } => child::time(name, method, *level, out),
    }
}
