//! Timing in turns, so that a machine that gets warm or busy affects all levels equally.

use std::time::{Duration, Instant};

use anyhow::Result;
use benches::Job;

/// Runs before the first sample: they fill caches, start threads and pack weights.
const WARM_UP: usize = 2;
/// Maximum time to sample a level.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Minimum number of samples, unless one takes half of that time.
pub const FEWEST: usize = 3;
/// From this duration on, the caches' initial contents do not matter.
const UNTOUCHED: Duration = Duration::from_millis(50);

/// Something to time: a job, and the milliseconds of a forward pass in each sample.
pub trait Timed {
    /// Returns the job and the samples.
    fn timed(&mut self) -> (&mut dyn Job, &mut Vec<f64>);
}

/// Runs the job before the measurement.
pub fn warm_up(job: &mut dyn Job) -> Result<()> {
    // ANCHOR: warm_up
    let start = Instant::now();
    for round in 0..WARM_UP {
        // A run of seconds is warm after one.
        if round == 0 || start.elapsed() < LONGEST / 10 {
            job.prepare()?;
            job.run()?;
        }
    }
    // ANCHOR_END: warm_up
    Ok(())
}

// ANCHOR: turns
/// Takes one sample of each level; another level starts each round. A level too slow for more samples drops
/// out alone.
pub fn time(contenders: &mut [impl Timed], round: usize) -> Result<()> {
    let count = contenders.len();
    for turn in 0..count {
        let (job, samples) = contenders[(round + turn) % count].timed();
        if has_enough(job, samples) {
            continue;
        }
        let mut elapsed = run(job)?;
        if elapsed < UNTOUCHED {
            // The first run found the previous level's data in the caches; this one finds its own.
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

/// Whether the job has the minimum of samples and its maximum time is over, or one sample was enough.
fn has_enough(job: &dyn Job, samples: &[f64]) -> bool {
    let seconds = |ms: f64| ms * job.forwards() as f64 / 1e3;
    let (all, longest) = (samples.iter().sum(), LONGEST.as_secs_f64());
    let fewest = samples.len() >= FEWEST && seconds(all) >= longest;
    fewest
        || samples
            .first()
            .is_some_and(|&ms| seconds(ms) >= longest / 2.)
}
