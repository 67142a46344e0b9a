//! Number of threads, and the thread pool of a program.

use std::num::NonZero;
use std::thread::available_parallelism;

/// Sets `RAYON_NUM_THREADS` to the number of processors if it is unset.
///
/// candle asks for the number of threads at every matmul on a CPU. With the variable it parses a string;
/// without it, it reads `/proc/cpuinfo` each time, which takes about 30 µs.
///
/// Call it first in `main`, before any thread starts.
pub fn init() {
    const NAME: &str = "RAYON_NUM_THREADS";
    if std::env::var_os(NAME).is_none() {
        let threads = available_parallelism().map_or(1, NonZero::get);
        // SAFETY: changing the environment races with other threads that read it, and there are none: every
        // binary calls this at the start of `main`, on its only thread.
        unsafe { std::env::set_var(NAME, threads.to_string()) };
    }
}

/// Runs `f` on a thread of rayon's pool, and keeps freed memory from here on.
///
/// candle starts many short parallel loops. A loop that starts outside the pool sleeps until a pool thread
/// has woken up and run it, about 10 µs each time. Inside the pool it starts at once, and other threads steal
/// parts of it.
pub fn run<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    init();
    crate::memory::keep();
    rayon::scope(|_| f())
}
