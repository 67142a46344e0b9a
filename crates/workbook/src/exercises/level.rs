//! `workbook exercises level`: a level of the learner's own, built rung by rung.

mod calls;
mod check;
mod child;
mod grade;
mod handout;
mod milestones;
mod new;
mod oracle;
mod repeat;
mod report;
mod run;
mod rung;
mod simulated;
mod texts;
mod traffic;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use cli::args::whole;
use cli::own::OwnLevel;
use data::BadInput;
use levels::Name;

pub use rung::wrong_methods;
pub use simulated::without_kernels;

use super::Place;

/// Build a level of your own, method by method
#[derive(Args)]
pub struct LevelArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the crate of a level in your folder; at first, all its methods call level 1
    New {
        /// Name of the level: lowercase letters, digits and `_`, beginning with a letter
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
        /// Also compare the time of the methods that you replaced with that of levels 1 to 5
        #[arg(long)]
        time: bool,
        /// Time limit of each method, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = rung::LIMIT, value_parser = super::seconds)]
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
    /// Write one page with the level next to levels 1 to 5: whole models, your methods, the roofline, milestones
    Report {
        #[command(flatten)]
        named: Named,
        /// Write the page here [default: report.html in the level's folder]
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Also write the figures as JSON
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Timed runs of each whole model at each level
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        samples: u32,
        /// Measure again, even if nothing has changed since the last report
        #[arg(long)]
        again: bool,
    },
    /// For teachers: write the starter of a level and its milestones into a new folder
    Handout {
        /// Folder to create
        #[arg(value_name = "DIR")]
        to: PathBuf,
        /// Leave out the hints, and let `hint` give none
        #[arg(long)]
        no_hints: bool,
    },
    /// For teachers: check the levels of a class, and write grades and a leaderboard
    #[command(after_help = GRADES)]
    Grade {
        /// Folder with one folder per student, which holds a crate, or one `.rs`, `.ptx` or `.cu` file per student
        #[arg(value_name = "DIR")]
        submissions: PathBuf,
        /// Folder for the results
        #[arg(long, value_name = "DIR", default_value = "level-grades")]
        out: PathBuf,
        /// Crate that single files complete [default: level 1]
        #[arg(long, value_name = "CRATE")]
        starter: Option<PathBuf>,
        /// Also report the milestones that compare times with levels 1 to 5, on this machine; they do not count
        #[arg(long)]
        time: bool,
        /// Time limit of each method, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = rung::LIMIT, value_parser = super::seconds)]
        limit: f32,
        /// Grade even where the system has no sandbox: submissions can then read and write your files
        #[arg(long)]
        unsandboxed: bool,
        /// Repeat a grading with the same random numbers
        #[arg(long, value_name = "N", value_parser = whole::<u64>)]
        seed: Option<u64>,
    },
    /// The calls of one method, in a process of their own
    #[command(hide = true)]
    Run {
        name: Name,
        method: String,
        seed: u64,
        out: PathBuf,
    },
    /// The launches of a method, repeated in a process of their own
    #[command(hide = true)]
    Repeat {
        method: String,
        ran: PathBuf,
        #[arg(long)]
        seed: Option<u64>,
        out: PathBuf,
    },
    /// The times of one method, in a process of their own
    #[command(hide = true)]
    Time {
        name: Name,
        method: String,
        #[arg(long)]
        level: Vec<u8>,
        out: PathBuf,
    },
    /// The times of whole models, in a process of their own
    #[command(hide = true)]
    Compare {
        name: Name,
        #[arg(long)]
        samples: usize,
        #[arg(long)]
        instead: Vec<String>,
        out: PathBuf,
    },
}

/// Help text: the files that `grade` writes.
const GRADES: &str = "\
Results in the folder of `--out`:
  students/STUDENT.json  milestones and counts of a submission, written as soon as it is graded
  grades.json            all of them
  junit.xml              one suite per student, one case per milestone
  leaderboard.md         the class by milestones, and its kernels by simulated cost

`by` in the JSON files is the milestone that is not reached, `compile` for a submission that does not
compile, or `unchecked` for one that could not be checked on this machine.";

/// A level of the learner's own.
#[derive(Args)]
struct Named {
    /// Name of the level, or the path of its crate
    #[arg(value_name = "NAME", default_value = "mine")]
    name: Name,
}

impl Named {
    /// The level; `command` is the one that takes a method after the level's name.
    fn level(&self, place: &Place, command: &str) -> Result<OwnLevel, BadInput> {
        let Some(own) = self.name.own() else {
            return Err(BadInput::new(
                "NAME",
                "the name of a level of your own",
                &self.name,
            ));
        };
        let folder = place.dir().join("levels").join(own);
        let is_plain = self.name.to_string() == own;
        if folder.join("src/lib.rs").is_file() && is_plain {
            OwnLevel::at(&folder)
        } else if levels::OPS.contains(&own) && OwnLevel::find(&self.name).is_err() {
            let found = format!("{own} is a method: `cargo ex level {command} mine {own}`");
            Err(BadInput::new("NAME", "", found))
        } else if place.dir.is_some() && is_plain {
            OwnLevel::at(&folder) // says that it is not there
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
            let limit = Duration::from_secs_f32(*limit);
            run::check(
                named.level(place, "check")?,
                method.as_deref(),
                *time,
                limit,
                *seed,
            )
        }
        Command::Watch { named, poll } => watch::watch(named.level(place, "check")?, *poll),
        Command::Hint { named, method } => {
            run::hint(named.level(place, "hint")?, method.as_deref())
        }
        Command::Report {
            named,
            html,
            json,
            samples,
            again,
        } => {
            let options = report::Options {
                json: json.clone(),
                html: html.clone(),
                samples: *samples as usize,
                again: *again,
            };
            report::report(named.level(place, "check")?, &options)
        }
        Command::Handout { to, no_hints } => handout::handout(to, !no_hints),
        Command::Grade {
            submissions,
            out,
            starter,
            time,
            limit,
            unsandboxed,
            seed,
        } => grade::grade(&grade::Grading {
            submissions: submissions.clone(),
            out: out.clone(),
            starter: starter.clone(),
            timed: *time,
            limit: Duration::from_secs_f32(*limit),
            seed: *seed,
            unsandboxed: *unsandboxed,
        }),
        Command::Run {
            name,
            method,
            seed,
            out,
        } => child::run(name, method, *seed, out),
        Command::Repeat {
            method,
            ran,
            seed,
            out,
        } => repeat::repeat(method, ran, *seed, out),
        Command::Time {
            name,
            method,
            level,
            out,
        } => child::time(name, method, level, out),
        Command::Compare {
            name,
            samples,
            instead,
            out,
        } => report::compare(name, instead, *samples, out),
    }
}
