//! Timing in turns, so that a machine that grows warm or busy hits all alike.

use std::time::{Duration, Instant};

use anyhow::Result;
use benches::Job;

/// Runs before the first that counts: they fill caches, start threads and pack weights.
const WARM_UP: usize = 2;
/// A level is sampled as often as asked for, or for as long as this.
pub const LONGEST: Duration = Duration::from_secs(10);
/// But however long they take, there are that many samples, if one does not take half as long.
pub const FEWEST: usize = 3;
/// A run that takes longer has the caches to itself for most of it, whoever ran before.
const UNTOUCHED: Duration = Duration::from_millis(50);

/// What takes turns: a job, and the milliseconds of a forward pass in each of its samples.
pub trait Timed {
    /// Both of them.
    fn timed(&mut self) -> (&mut dyn Job, &mut Vec<f64>);
}

/// What does not belong to a measurement.
pub fn warm_up(job: &mut dyn Job) -> Result<()> {
    // ANCHOR: warm_up
    let start = Instant::now();
    for round in 0..WARM_UP {
        // What takes seconds is warm after one.
        if round == 0 || start.elapsed() < LONGEST / 10 {
            job.prepare()?;
            job.run()?;
        }
    }
    // ANCHOR_END: warm_up
    Ok(())
}

// ANCHOR: turns
/// One sample of each level; another one begins each round. What is too slow for more of them drops out alone.
pub fn time(contenders: &mut [impl Timed], round: usize) -> Result<()> {
    let count = contenders.len();
    for turn in 0..count {
        let (job, samples) = contenders[(round + turn) % count].timed();
        if has_enough(job, samples) {
            continue;
        }
        let mut elapsed = run(job)?;
        if elapsed < UNTOUCHED {
            // That one found in the caches what the level before had left; this one finds its own.
            elapsed = run(job)?;
        }
        samples.push(elapsed.as_secs_f64() * 1e3 / job.forwards() as f64);
    }
    Ok(())
}

fn run(job: &mut dyn Job) -> Result<Duration> {
    job.prepare()?;
    let start = Instant::now();
    let logits = job.run()?;
    let elapsed = start.elapsed();
    drop(logits);
    Ok(elapsed)
}
// ANCHOR_END: turns

/// Whether it has the fewest samples and has run for the longest, or one sample was enough.
fn has_enough(job: &dyn Job, samples: &[f64]) -> bool {
    let seconds = |ms: f64| ms * job.forwards() as f64 / 1e3;
    let (all, longest) = (samples.iter().sum(), LONGEST.as_secs_f64());
    let fewest = samples.len() >= FEWEST && seconds(all) >= longest;
    fewest
        || samples
            .first()
            .is_some_and(|&ms| seconds(ms) >= longest / 2.)
}
