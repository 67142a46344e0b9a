//! The loop: draw, forward, backward, step.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::checkpoint;
use crate::optim::AdamW;
use crate::shards;
use crate::task::{Task, rng_of_step};
use crate::variables::Variables;

/// Set by Ctrl-C and by SIGTERM.
pub static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Batches drawn ahead of the loop.
const AHEAD: usize = 4;

/// When a training ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// After so many steps: the same weights each time on one kind of machine.
    Steps(usize),
    /// After so many minutes, on whatever machine.
    Minutes(f64),
}

/// A training between two steps.
pub struct Training {
    /// Seed of weights and data.
    pub seed: u64,
    /// When it ends.
    pub budget: Budget,
    /// The weights.
    pub variables: Variables,
    /// The optimizer and its moments.
    pub adam: AdamW,
    /// Loss of each step so far, in nats.
    pub losses: Vec<f32>,
    /// Time so far, without pauses.
    pub seconds: f64,
}

impl Training {
    /// Before the first step.
    pub fn new<T: Task>(task: &T, seed: u64, budget: Budget) -> Self {
        Self {
            seed,
            budget,
            variables: Variables::new(seed, task.num_layers()),
            adam: AdamW::new(task.hyper()),
            losses: vec![],
            seconds: 0.,
        }
    }

    /// The share of the budget that is spent.
    fn progress(&self) -> f64 {
        match self.budget {
            Budget::Steps(steps) => self.losses.len() as f64 / steps as f64,
            Budget::Minutes(minutes) => self.seconds / (60. * minutes),
        }
    }

    /// Whether the budget is spent.
    pub fn is_done(&self) -> bool {
        self.progress() >= 1.
    }

    /// One step down the gradient of a batch.
    pub fn step<T: Task>(&mut self, task: &T, batch: &[T::Shard]) -> candle_core::Result<()> {
        let (loss, gradients) = shards::gradients(task, &self.variables, batch)?;
        let progress = self.progress();
        self.adam
            .step(&self.variables.all(), &gradients, progress)?;
        self.losses.push(loss);
        Ok(())
    }

    /// Steps until the budget is spent or [`STOP`] is set, with a checkpoint in `path` each time that so much time has passed.
    pub fn run<T: Task>(&mut self, task: &T, path: &Path, every: Duration) -> anyhow::Result<()> {
        let bar = self.bar(task.name());
        let (seed, first) = (self.seed, self.losses.len());
        let (sender, batches) = sync_channel(AHEAD);
        let result = std::thread::scope(|scope| {
            scope.spawn(move || draw_batches(task, seed, first, &sender));
            self.consume(task, (path, every), batches, &bar)
        });
        bar.finish_and_clear();
        result
    }

    fn consume<T: Task>(
        &mut self,
        task: &T,
        (path, every): (&Path, Duration),
        batches: Receiver<anyhow::Result<Vec<T::Shard>>>,
        bar: &ProgressBar,
    ) -> anyhow::Result<()> {
        let mut saved = Instant::now();
        while !self.is_done() && !STOP.load(Ordering::Relaxed) {
            let start = Instant::now();
            self.step(task, &batches.recv()??)?;
            self.seconds += start.elapsed().as_secs_f64();
            bar.set_position(self.position());
            bar.set_message(format!("{:.3}", recent(&self.losses)));
            if saved.elapsed() > every {
                checkpoint::save(path, task, self)?;
                saved = Instant::now();
            }
        }
        Ok(())
    }

    /// Steps, or tenths of a second.
    fn position(&self) -> u64 {
        match self.budget {
            Budget::Steps(_) => self.losses.len() as u64,
            Budget::Minutes(_) => (10. * self.seconds) as u64,
        }
    }

    fn bar(&self, name: &'static str) -> ProgressBar {
        let length = match self.budget {
            Budget::Steps(steps) => steps as u64,
            Budget::Minutes(minutes) => (600. * minutes) as u64,
        };
        let bar = ProgressBar::new(length).with_prefix(name);
        bar.set_style(style("{prefix} {wide_bar} {percent}% loss {msg} ETA {eta}"));
        bar.set_position(self.position());
        bar.reset_eta();
        bar
    }
}

/// Draws the batches of the steps from `first` on, until nobody takes them any more.
fn draw_batches<T: Task>(
    task: &T,
    seed: u64,
    first: usize,
    sender: &SyncSender<anyhow::Result<Vec<T::Shard>>>,
) {
    for step in first.. {
        let mut rng = rng_of_step(seed, step);
        let batch = (0..T::SHARDS).map(|_| task.draw(&mut rng)).collect();
        if sender.send(batch).is_err() {
            return;
        }
    }
}

/// Style of a progress bar from a template of indicatif.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Mean of the last 50 losses.
pub fn recent(losses: &[f32]) -> f32 {
    let last = &losses[losses.len().saturating_sub(50)..];
    last.iter().sum::<f32>() / last.len().max(1) as f32
}
