//! How many threads the matrix products use.

use std::num::NonZero;
use std::thread::available_parallelism;

/// Sets `RAYON_NUM_THREADS` to the number of processors when it is unset.
///
/// candle asks for the number of threads at every matrix product on a CPU. With the variable it
/// reads a string; without it, it reads `/proc/cpuinfo` again each time, which costs about 30 µs.
///
/// Call it first in `main`, before anything starts a thread.
pub fn init() {
    const NAME: &str = "RAYON_NUM_THREADS";
    if std::env::var_os(NAME).is_none() {
        let threads = available_parallelism().map_or(1, NonZero::get);
        // SAFETY: changing the environment races with other threads that read it, and there are
        // none: every binary calls this at the start of `main`, on its only thread.
        unsafe { std::env::set_var(NAME, threads.to_string()) };
    }
}

/// Runs `f` on a thread of rayon's pool; freed memory is kept from here on.
///
/// candle starts many short parallel loops. One that is started outside the pool sleeps until a
/// thread of the pool has woken up and done it, about 10 µs each time; one that is started inside
/// begins at once, and the other threads take from it what they can get.
pub fn run<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    init();
    crate::memory::keep();
    rayon::scope(|_| f())
}
