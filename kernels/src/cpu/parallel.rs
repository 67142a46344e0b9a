//! Rows in parallel, where there are enough of them to pay for it.

use rayon::prelude::*;

/// Elements below which one thread does the work: waking another takes longer.
const ALONE: usize = 1 << 15;

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
}

/// How many of `rows` rows of `c` elements one task takes: all of them, or a share.
pub fn rows_per_task(rows: usize, c: usize) -> usize {
    if rows * c < ALONE {
        return rows.max(1);
    }
    rows.div_ceil(TASKS_A_THREAD * rayon::current_num_threads())
        .max(1)
}

/// Calls `f` with each of `tasks`: a single one on this thread, several on rayon's.
pub fn for_each<T: Send>(tasks: impl Iterator<Item = T>, f: impl Fn(T) + Send + Sync) {
    let mut tasks: Vec<T> = tasks.collect();
    if tasks.len() == 1 {
        tasks.drain(..).for_each(f);
    } else {
        tasks.into_par_iter().for_each(f);
    }
}
