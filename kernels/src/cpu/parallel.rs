//! Parallel loops over rows, if there are enough of them.

use std::sync::{Mutex, PoisonError};

use super::spin_pool;

/// Elements below which one thread does the work, because sharing it takes longer.
pub(crate) const ALONE: usize = 1 << 15;

/// Tasks per thread, so that a slow thread leaves some to others.
const TASKS_A_THREAD: usize = 4;

/// The threads of an operation, if its caller chooses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread.
    One,
    /// All threads of rayon's pool.
    All,
}

impl Threads {
    /// Returns the number of threads.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => rayon::current_num_threads(),
        }
    }

    /// Returns one thread if `work` is below `worth`, otherwise all.
    pub fn for_work(work: usize, worth: usize) -> Self {
        if work < worth { Self::One } else { Self::All }
    }

    /// Calls `f` with each of `tasks` on these threads.
    pub fn for_each<T: Send>(self, tasks: impl Iterator<Item = T>, f: impl Fn(T) + Send + Sync) {
        match self {
            Self::One => tasks.for_each(f),
            Self::All => for_each(tasks, f),
        }
    }
}

/// Returns how many of `rows` rows of `c` elements one task takes: all of them, or a share.
pub fn rows_per_task(rows: usize, c: usize) -> usize {
    if rows * c < ALONE {
        return rows.max(1);
    }
    rows.div_ceil(TASKS_A_THREAD * rayon::current_num_threads())
        .max(1)
}

/// Returns `f` of 0, 1, … n − 1 in order, computed as by [`for_each`].
pub fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    let mut made: Vec<Option<T>> = (0..n).map(|_| None).collect();
    for_each(made.iter_mut().enumerate(), |(i, made)| *made = Some(f(i)));
    made.into_iter().flatten().collect()
}

/// Calls `f` with each of `tasks`: this thread and the pool's workers take one after another.
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
