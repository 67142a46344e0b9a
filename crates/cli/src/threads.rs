//! Number of threads, and the thread pool of a program.

use std::error::Error;
use std::ffi::OsStr;
use std::num::{IntErrorKind, NonZero};
use std::thread::available_parallelism;

use data::BadInput;
use rayon::ThreadPoolBuilder;

/// Threads that a program has at most, or as many as there are processors: rayon starts all of them at once, and a
/// system that has no more of them lets it hang.
const MAX_THREADS: usize = 64;

/// Sets `RAYON_NUM_THREADS` to the number of processors if it is unset, and to at most 64 or the number of processors.
///
/// candle asks for the number of threads at every matmul on a CPU. With the variable it parses a string;
/// without it, it reads `/proc/cpuinfo` each time, which takes about 30 µs.
///
/// Call it first in `main`, before any thread starts.
pub fn init() {
    const NAME: &str = "RAYON_NUM_THREADS";
    let processors = available_parallelism().map_or(1, NonZero::get);
    let asked = std::env::var_os(NAME);
    if let Some(threads) = instead(asked.as_deref(), processors) {
        if let Some(asked) = asked {
            let asked = asked.display();
            crate::note::note(format_args!(
                "{NAME}={asked}: {threads} threads are started"
            ));
        }
        // SAFETY: changing the environment races with other threads that read it, and there are none: every
        // binary calls this at the start of `main`, on its only thread.
        unsafe { std::env::set_var(NAME, threads.to_string()) };
    }
    let stack = std::env::var("RUST_MIN_STACK").unwrap_or_default();
    if stack.parse().is_ok_and(|stack: usize| stack < 2 << 20) {
        // SAFETY: as above. Rust's default is 2 MiB.
        unsafe { std::env::remove_var("RUST_MIN_STACK") };
    }
}

/// The number of threads in place of the one that is asked for, if that is none or too large. The rest is left to
/// rayon, for which a text that is no number is the same as none.
fn instead(asked: Option<&OsStr>, processors: usize) -> Option<usize> {
    let most = MAX_THREADS.max(processors);
    match asked {
        None => Some(processors),
        Some(asked) => {
            let asked = asked.to_str()?;
            let too_large = match asked.parse::<usize>() {
                Ok(threads) => threads > most,
                Err(e) => *e.kind() == IntErrorKind::PosOverflow,
            };
            too_large.then_some(most)
        }
    }
}

/// Lets a write beyond a limit on the size of files, such as that of `ulimit -f`, be an error with a line, where the signal
/// would end the program without one. Programs that this one starts get their own end: a handler is not inherited.
#[cfg(unix)]
fn survive_file_limits() {
    extern "C" fn nothing(_: libc::c_int) {}
    let nothing: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler does nothing, so that it may interrupt anything.
    unsafe { libc::signal(libc::SIGXFSZ, nothing as libc::sighandler_t) };
}

#[cfg(not(unix))]
fn survive_file_limits() {}

/// Runs `f` on a thread of rayon's pool, and keeps freed memory from here on.
///
/// candle starts many short parallel loops. A loop that starts outside the pool sleeps until a pool thread
/// has woken up and run it, about 10 µs each time. Inside the pool it starts at once, and other threads steal
/// parts of it.
///
/// # Errors
/// The system starts no more threads.
pub fn run<T: Send>(f: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
    init();
    survive_file_limits();
    crate::memory::keep();
    start()?;
    Ok(rayon::scope(|_| f()))
}

/// Starts the threads of the pool, where rayon itself would panic.
fn start() -> anyhow::Result<()> {
    match ThreadPoolBuilder::new().build_global() {
        // Otherwise the pool runs already.
        Err(e) if e.source().is_some() => {
            let stack = std::env::var("RUST_MIN_STACK").unwrap_or_default();
            if stack.parse().is_ok_and(|stack: usize| stack > 1 << 30) {
                let expected = "bytes for each thread's stack that the memory has room for";
                return Err(BadInput::new("RUST_MIN_STACK", expected, stack).into());
            }
            anyhow::bail!("cannot start threads: {e} (fewer are needed with RAYON_NUM_THREADS=1)")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_threads_are_fewer() {
        let with = |asked: &str| instead(Some(asked.as_ref()), 2);
        assert_eq!(instead(None, 2), Some(2));
        for fine in ["1", "64", "", "many", "-1"] {
            assert_eq!(with(fine), None, "{fine}");
        }
        for large in ["65", "+9999", "99999999999999999999999"] {
            assert_eq!(with(large), Some(64), "{large}");
        }
        assert_eq!(instead(Some("128".as_ref()), 128), None);
    }
}
