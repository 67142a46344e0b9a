//! Rows in parallel, where there are enough of them to pay for it.

use std::sync::{Mutex, PoisonError};

use super::spin_pool;

/// Elements below which one thread does the work: to share it takes longer.
pub(crate) const ALONE: usize = 1 << 15;

/// Tasks for each thread: a thread that falls behind leaves some to the others.
const TASKS_A_THREAD: usize = 4;

/// How many threads share an operation, where its caller says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The one that calls.
    One,
    /// All of rayon's.
    All,
}

impl Threads {
    /// The number.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => rayon::current_num_threads(),
        }
    }

    /// One below so much `work` that others are worth it.
    pub fn for_work(work: usize, worth: usize) -> Self {
        if work < worth { Self::One } else { Self::All }
    }

    /// Calls `f` with each of `tasks`, by these threads.
    pub fn for_each<T: Send>(self, tasks: impl Iterator<Item = T>, f: impl Fn(T) + Send + Sync) {
        match self {
            Self::One => tasks.for_each(f),
            Self::All => for_each(tasks, f),
        }
    }
}

/// How many of `rows` rows of `c` elements one task takes: all of them, or a share.
pub fn rows_per_task(rows: usize, c: usize) -> usize {
    if rows * c < ALONE {
        return rows.max(1);
    }
    rows.div_ceil(TASKS_A_THREAD * rayon::current_num_threads())
        .max(1)
}

/// What `f` makes of 0, 1, … n − 1, in this order; shared as by [`for_each`].
pub fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    let mut made: Vec<Option<T>> = (0..n).map(|_| None).collect();
    for_each(made.iter_mut().enumerate(), |(i, made)| *made = Some(f(i)));
    made.into_iter().flatten().collect()
}

/// Calls `f` with each of `tasks`: this thread and the workers of the pool take one after the other.
pub fn for_each<T: Send>(tasks: impl Iterator<Item = T>, f: impl Fn(T) + Send + Sync) {
    let tasks: Vec<T> = tasks.collect();
    let threads = rayon::current_num_threads().min(tasks.len());
    let left = Mutex::new(tasks.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    spin_pool::share(threads.saturating_sub(1), || {
        while let Some(task) = next() {
            f(task);
        }
    });
}
