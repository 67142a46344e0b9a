//! Trains the three small models of the repository, and evaluates them.
//!
//! `cargo run --release -p level1 --example train -- lm|vit|gnn`, then `… -- eval lm|vit|gnn`.

#![warn(clippy::disallowed_macros)]

mod args;
mod baseline;
mod chart;
mod checkpoint;
mod eval;
mod gnn;
mod lm;
mod optim;
mod place;
mod run;
mod save;
mod shards;
mod task;
mod text;
mod variables;
mod vit;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cli::args::options;
use data::BadInput;
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use args::{Args, Command, EvalArgs, Model, TrainArgs};
use place::Place;
use run::{STOP, Training};
use task::Task;

/// Exit code of a training that a signal stopped: a shell's code for a program that Ctrl-C ended.
const STOPPED: u8 = 130;

fn main() -> ExitCode {
    one_thread_a_product();
    let mut code = ExitCode::SUCCESS;
    let end = cli::exit::run(|| {
        code = program(options::<Args>()?.command)?;
        Ok(())
    });
    if end == ExitCode::SUCCESS { code } else { end }
}

fn program(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Lm { text, train } => train_lm(text.as_deref(), &train),
        Command::Vit(args) => train(&vit::Vit::new(), &args, |folder| {
            eval::pictures(folder, args.seed)
        }),
        Command::Gnn(args) => train(&gnn::Gnn::new(), &args, |folder| {
            eval::graphs(folder, args.seed)
        }),
        Command::Eval(args) => evaluate(&args),
    }
}

/// The trainer keeps the processors busy with parts of a batch, so that candle has to split no
/// product, and needs no thread of its own that waits in a loop.
fn one_thread_a_product() {
    const NAME: &str = "RAYON_NUM_THREADS";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: called first in `main`, before any other thread could read the environment.
        unsafe { std::env::set_var(NAME, "1") };
    }
}

fn train_lm(text: Option<&Path>, args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let (pages, held_out) = text::pages(text)?;
    train(&lm::Lm::new(&pages)?, args, |folder| {
        eval::language(folder, &held_out)
    })
}

/// Trains from the start or a checkpoint, and leaves a checkpoint or a model.
fn train<T: Task>(
    task: &T,
    args: &TrainArgs,
    evaluate: impl Fn(&Path) -> anyhow::Result<Value>,
) -> anyhow::Result<ExitCode> {
    let name = task.name();
    save::date(SystemTime::now())?;
    let place = Place::lock(name, args.out.as_deref(), &workbook()?)?;
    let checkpoint = &place.checkpoint;
    let mut training = if args.resume {
        checkpoint::load(checkpoint, task)?
    } else {
        place.is_new()?;
        Training::new(task, args.seed, args.budget(T::STEPS))
    };
    stop_on_signals()?;
    training.run(
        task,
        checkpoint,
        Duration::from_secs_f64(args.checkpoint_every),
    )?;
    if !training.is_done() {
        checkpoint::save(checkpoint, task, &training)?;
        data::println!(
            "{name}: stopped after {} steps; repeat the command with --resume to continue from {}",
            training.losses.len(),
            checkpoint.display()
        );
        return Ok(ExitCode::from(STOPPED));
    }
    end(task, &training, &place, evaluate)?;
    Ok(ExitCode::SUCCESS)
}

/// Leaves the model, and a checkpoint if that cannot be written: it may be the work of hours.
fn end<T: Task>(
    task: &T,
    training: &Training,
    place: &Place,
    evaluate: impl Fn(&Path) -> anyhow::Result<Value>,
) -> anyhow::Result<()> {
    let (name, checkpoint) = (task.name(), &place.checkpoint);
    let is_kept = checkpoint::save(checkpoint, task, training).is_ok();
    let finished = finish(task, training, place, evaluate);
    if finished.is_ok() {
        // Not there if it could not be written.
        let _ = std::fs::remove_file(checkpoint);
    } else if is_kept {
        data::note(format_args!(
            "{name}: repeat the command with --resume to write the model of {}",
            checkpoint.display()
        ));
    }
    finished
}

fn finish<T: Task>(
    task: &T,
    training: &Training,
    place: &Place,
    evaluate: impl Fn(&Path) -> anyhow::Result<Value>,
) -> anyhow::Result<()> {
    let name = task.name();
    let folder = &*place.folder;
    save::model(folder, task, training)?;
    data::println!(
        "{name}: {} steps in {:.0} s, loss {:.3}; wrote {}",
        training.losses.len(),
        training.seconds,
        run::recent(&training.losses),
        folder.display()
    );
    let title = format!("Training loss of the small model: {name}");
    let [svg, png] = chart::draw(&place.chart, &title, &training.losses)?;
    data::println!(
        "{name}: loss chart in {} and {}",
        svg.display(),
        png.display()
    );
    let figures = evaluate(folder)?;
    let record = save::record(training, figures)?;
    save::write_json(&folder.join("training.json"), &record)
}

fn evaluate(args: &EvalArgs) -> anyhow::Result<ExitCode> {
    let folder = |name| place::folder(args.model_dir.as_deref(), name);
    match args.model {
        Model::Lm => {
            let folder = folder("lm")?;
            // A folder without a model is named before a missing text.
            eval::config(&folder)?;
            eval::language(&folder, &text::pages(args.text.as_deref())?.1)?
        }
        Model::Vit => eval::pictures(&folder("vit")?, args.seed)?,
        Model::Gnn => eval::graphs(&folder("gnn")?, args.seed)?,
    };
    Ok(ExitCode::SUCCESS)
}

/// The first Ctrl-C or SIGTERM ends the training after the current step, the second one at once.
fn stop_on_signals() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // Both actions run for each signal, in this order, so that the first signal finds the flag unset.
        flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&STOP))?;
        flag::register(signal, Arc::clone(&STOP))?;
    }
    Ok(())
}

/// The folder of charts and checkpoints.
fn workbook() -> Result<PathBuf, BadInput> {
    // Next to the lock file: `target` itself may be elsewhere, or not be there.
    Ok(cli::files::find("Cargo.lock")?
        .with_file_name("target")
        .join("workbook"))
}
