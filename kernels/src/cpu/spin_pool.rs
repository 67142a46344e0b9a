//! A thread pool whose workers spin between two operations.
//!
//! Launching has a cost on a CPU, too: the system must wake sleeping threads. This took 40 µs in the virtual
//! machine where it was measured, a third of it on the waking thread; a small model's operation is shorter.
//! So after a job, a thread of rayon's pool spins for a while on a word of memory, its slot, and takes the
//! next job from there, as a GPU takes a kernel's blocks from a queue in memory.
//!
//! The threads are rayon's, because candle and gemm use those, too: additional threads would compete for the
//! processors.

mod protocol;

use std::hint::spin_loop;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use protocol::{ASLEEP, Worker};

/// The atomics that [`protocol`] uses. Its loom test replaces this module by one of loom's types.
mod sync {
    pub use std::panic::catch_unwind;
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    pub(super) use super::SpinWait;
}

/// How long a worker spins without a job before its thread goes back to rayon, which lets it sleep.
const SPIN_TIME: Duration = Duration::from_micros(200);

/// Maximum number of workers.
const WORKERS: usize = 255;

static ALL: [Worker; WORKERS] = [const {
    Worker {
        slot: sync::AtomicPtr::new(ASLEEP),
    }
}; WORKERS];

/// Calls `work` on this thread, and on up to `workers` others at the same time: those that spin, or wake up
/// before this thread is done. All calls have returned when this function does.
///
/// # Panics
/// If `work` panics, on any thread.
pub fn share(workers: usize, work: impl Fn() + Sync) {
    let panicked = protocol::share(&work, ALL.iter().take(workers), wake);
    assert!(!panicked, "`work` panicked on a worker");
}

/// Makes a thread of rayon's spin on the worker's slot.
fn wake(worker: &'static Worker) {
    let caller = rayon::current_thread_index();
    rayon::spawn(move || {
        // If all others are busy, rayon may run this on the thread that called `share`, which should not
        // spin.
        let here = rayon::current_thread_index() == caller;
        worker.spin(if here { Duration::ZERO } else { SPIN_TIME });
    });
}

/// Busy-waiting that reads the clock occasionally.
struct SpinWait {
    since: Instant,
    turns: u32,
}

impl SpinWait {
    /// Turns between two readings of the clock.
    const TURNS: u32 = 64;

    fn new() -> Self {
        Self {
            since: Instant::now(),
            turns: 0,
        }
    }

    /// Waits for a moment. Returns the time since `new`, or zero in turns that do not read the clock.
    ///
    /// After [`SPIN_TIME`] the thread yields the processor, because it waits for a long task.
    fn spin(&mut self) -> Duration {
        spin_loop();
        self.turns += 1;
        if !self.turns.is_multiple_of(Self::TURNS) {
            return Duration::ZERO;
        }
        let waited = self.since.elapsed();
        if waited > SPIN_TIME {
            yield_now();
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Shares `n` items with workers, and returns how many times each was taken.
    fn shared(workers: usize, n: usize) -> Vec<usize> {
        let next = AtomicUsize::new(0);
        let times: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        share(workers, || {
            while let Some(times) = times.get(next.fetch_add(1, Ordering::Relaxed)) {
                times.fetch_add(1, Ordering::Relaxed);
            }
        });
        times.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn several_callers_share_each_item_once() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..2000 {
                        assert!(shared(3, n % 50).iter().all(|&times| times == 1));
                    }
                });
            }
        });
    }

    #[test]
    fn work_may_share_work() {
        let outer = AtomicUsize::new(0);
        share(2, || {
            outer.fetch_add(1, Ordering::Relaxed);
            assert_eq!(shared(2, 100), [1; 100]);
        });
        assert!((1..=3).contains(&outer.into_inner()));
    }

    #[test]
    fn a_spinning_worker_takes_part() {
        let met = (0..100).any(|_| {
            let (present, limit) = (AtomicUsize::new(0), Instant::now());
            share(1, || {
                present.fetch_add(1, Ordering::Relaxed);
                while present.load(Ordering::Relaxed) < 2 && limit.elapsed().as_millis() < 50 {
                    yield_now();
                }
            });
            present.into_inner() == 2
        });
        assert!(met);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_leaves_the_pool_usable() {
        let own = std::thread::current().id();
        for mine in [true, false] {
            let panicked = (0..100).any(|_| {
                let limit = Instant::now();
                let run = || {
                    share(1, || {
                        if (std::thread::current().id() == own) == mine {
                            panic!("on purpose");
                        }
                        while !mine && limit.elapsed().as_millis() < 50 {
                            yield_now();
                        }
                    });
                };
                catch_unwind(AssertUnwindSafe(run)).is_err()
            });
            assert!(panicked, "{mine}");
            assert_eq!(shared(1, 10), [1; 10]);
        }
    }
}
