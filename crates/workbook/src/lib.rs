//! The `workbook` command: compares the levels, and runs each program at any level.

#![warn(clippy::disallowed_macros)]

mod ablation;
mod bench_charts;
mod compare;
mod doctor;
mod exercises;
mod explain;
mod occupancy;
mod ops;
mod profile;
mod record;
mod sim;
mod small;
mod sweep;
mod tune;
mod worklog;

use std::process::ExitCode;

use crate::occupancy::OccupancyArgs;
use ablation::AblationArgs;
use bench_charts::BenchChartsArgs;
use clap::{Args, Parser, Subcommand};
use cli::args::{TuneArgs, options};
use cli::own::{self, Program};
use cli::{gnn::GnnArgs, lm::LmArgs, vit::VitArgs};
use compare::CompareArgs;
use doctor::DoctorArgs;
use exercises::ExercisesArgs;
use explain::ExplainArgs;
use levels::Name;
use ops::OpsArgs;
use profile::ProfileArgs;
use record::RecordArgs;
use sim::SimArgs;
use small::SmallArgs;
use sweep::SweepArgs;
use worklog::WorklogArgs;

/// Three models at five levels of optimization. Without a command, compares the levels
#[derive(Parser)]
#[command(name = "workbook", version, args_conflicts_with_subcommands = true)]
struct Workbook {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compare: CompareArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Compare every level on the trained models, or on presets
    Compare(CompareArgs),
    /// Time every op at every level, on the shapes of the models
    Ops(OpsArgs),
    /// Show where the time of a forward pass goes, op by op, compared with the limits of the device
    Profile(ProfileArgs),
    /// Add measurements, from here or another machine, to the records of a device; write charts and tables again
    Record(RecordArgs),
    /// Write again what is made from the records: charts, tables, headers of the kernels
    Redraw,
    /// Draw the results of cargo bench, one chart per group
    BenchCharts(BenchChartsArgs),
    /// Run a kernel of a PTX or CUDA file in the simulator, without a GPU: lists its faults and its costs
    Sim(SimArgs),
    /// Show how many blocks and warps of a kernel an SM holds at once, and what limits them
    Occupancy(OccupancyArgs),
    /// Time whole models for growing numbers of tokens, images, nodes and edges
    Sweep(SweepArgs),
    /// Find the fastest kernel for each shape on this device, for level 5 to use
    Tune(TuneArgs),
    /// Time small matmuls: level 5 compared with candle and gemm
    Small(SmallArgs),
    /// Time level 5 on a GPU without each of its ideas
    Ablation(AblationArgs),
    /// Time each step of a worklog on a GPU, compared with cuBLAS
    Worklog(WorklogArgs),
    /// Check this machine: what works here, what does not, and how to fix it
    Doctor(DoctorArgs),
    /// Print the kernels of an op at two levels side by side: rms_norm, linear or attention
    Explain(ExplainArgs),
    /// Do the exercises of the book, for short `cargo ex`: list, start, watch, check, hint, reset, solution, handout, grade
    Exercises(ExercisesArgs),
    /// Continue a text with the language model
    Lm(AtLevel<LmArgs>),
    /// Classify images with the vision transformer
    Vit(AtLevel<VitArgs>),
    /// Classify graphs with the graph transformer
    Gnn(AtLevel<GnnArgs>),
}

/// A program's options, and its level.
#[derive(Args)]
struct AtLevel<T: Args> {
    /// Optimization level, or the name of your own, which Ctrl-C ends if it loops [default: the highest]
    #[arg(long, value_name = "N|NAME")]
    level: Option<Name>,
    #[command(flatten)]
    program: T,
}

impl<T: Args> AtLevel<T> {
    fn level(&self) -> Name {
        let highest = || Name::Number(levels::highest());
        self.level.clone().unwrap_or_else(highest)
    }

    /// The level, and those of `--swap`.
    fn names(&self, swap: Option<&str>) -> Vec<Name> {
        let mut names = own::names_in(swap);
        names.push(self.level());
        names
    }
}

impl Workbook {
    /// The levels that the options name.
    fn names(&self) -> Vec<Name> {
        match &self.command {
            None => self.compare.level.clone(),
            Some(Command::Compare(args)) => args.level.clone(),
            Some(Command::Profile(args)) => args.names(),
            Some(Command::Lm(at)) => at.names(at.program.run.swap.as_deref()),
            Some(Command::Vit(at)) => at.names(at.program.run.swap.as_deref()),
            Some(Command::Gnn(at)) => at.names(at.program.run.swap.as_deref()),
            _ => vec![],
        }
    }
}

/// Runs the command of this process's options.
pub fn main() -> ExitCode {
    let mut is_clean = true;
    // The user's setting, before `cli::run` sets a default.
    let threads = std::env::var("RAYON_NUM_THREADS").ok();
    let code = cli::run(|| {
        let workbook: Workbook = options()?;
        own::run_with(Program::Workbook, &workbook.names())?;
        match workbook.command {
            None => {
                is_clean = compare::run(&workbook.compare)?;
                Ok(())
            }
            Some(Command::Compare(args)) => {
                is_clean = compare::run(&args)?;
                Ok(())
            }
            Some(Command::Ops(args)) => ops::run(&args),
            Some(Command::Ablation(args)) => ablation::run(&args),
            Some(Command::Profile(args)) => profile::run(&args),
            Some(Command::Record(args)) => record::run(&args),
            Some(Command::Redraw) => record::redraw(),
            Some(Command::BenchCharts(args)) => bench_charts::run(&args),
            Some(Command::Sim(args)) => {
                is_clean = sim::run(&args)?;
                Ok(())
            }
            Some(Command::Occupancy(args)) => occupancy::run(&args),
            Some(Command::Sweep(args)) => sweep::run(&args),
            Some(Command::Tune(args)) => tune::run(args),
            Some(Command::Small(args)) => small::run(&args),
            Some(Command::Worklog(args)) => worklog::run(&args),
            Some(Command::Doctor(args)) => {
                is_clean = doctor::run(&args, threads)?;
                Ok(())
            }
            Some(Command::Explain(args)) => explain::run(&args),
            Some(Command::Exercises(args)) => {
                is_clean = exercises::run(&args)?;
                Ok(())
            }
            Some(Command::Lm(at)) => cli::lm::run(&at.program, &at.level()),
            Some(Command::Vit(at)) => cli::vit::run(&at.program, &at.level()),
            Some(Command::Gnn(at)) => cli::gnn::run(&at.program, &at.level()),
        }
    });
    // A kernel with a defect, an unsolved exercise, a learner's level that is wrong, or a limited machine is a result, not an
    // error: no line on stderr, and exit code 1.
    if is_clean { code } else { ExitCode::FAILURE }
}
