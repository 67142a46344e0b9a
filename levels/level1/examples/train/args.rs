//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use cli::args::whole;

use crate::run::Budget;

/// Trains the three small models on real input, and evaluates them.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = false)]
pub struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train the language model on the prose of The Rust Programming Language
    Lm {
        /// Train on this text file instead of the Rust book
        #[arg(long, value_name = "FILE")]
        text: Option<PathBuf>,
        /// Arguments of every training.
        #[command(flatten)]
        train: TrainArgs,
    },
    /// Train the vision transformer on images of ten shapes
    Vit(TrainArgs),
    /// Train the graph transformer on graphs of ten families
    Gnn(TrainArgs),
    /// Evaluate a trained model on data that it was not trained on
    Eval(EvalArgs),
}

/// Options of every training.
#[derive(Debug, clap::Args)]
pub struct TrainArgs {
    /// Resume from the checkpoint that Ctrl-C saved, with its seed, steps and minutes
    #[arg(long, conflicts_with_all = ["seed", "steps", "minutes"])]
    pub resume: bool,
    /// Number of training steps
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// Train for this many minutes instead of a number of steps
    #[arg(long, conflicts_with = "steps", value_parser = positive)]
    pub minutes: Option<f64>,
    /// Seed of weights and data
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Seconds between two checkpoints: a crash loses this much at most; 0 for one after each step
    #[arg(long, value_name = "SECONDS", default_value_t = 60., value_parser = seconds)]
    pub checkpoint_every: f64,
    /// Folder for the trained model [default: models/tiny/<model>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl TrainArgs {
    /// When a training ends, which takes `steps` by default.
    pub fn budget(&self, steps: usize) -> Budget {
        match (self.minutes, self.steps) {
            (Some(minutes), _) => Budget::Minutes(minutes),
            (None, chosen) => Budget::Steps(chosen.map_or(steps, |n| n as usize)),
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0. => Ok(x),
        _ => Err("expected a positive number".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0. ..=1e6).contains(&x) => Ok(x),
        _ => Err("expected a number of seconds from 0 to 1000000".into()),
    }
}

/// Options of the evaluation.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// Model to evaluate
    pub model: Model,
    /// Folder of the trained model [default: models/tiny/<model>]
    #[arg(long = "model-dir", value_name = "DIR")]
    pub model_dir: Option<PathBuf>,
    /// Evaluate lm on the held-out part of this text file instead of the Rust book
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Seed of the evaluation data
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
}

/// The three models.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Model {
    /// The language model
    Lm,
    /// The vision transformer
    Vit,
    /// The graph transformer
    Gnn,
}
