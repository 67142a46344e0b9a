//! Threads that stay awake between two operations.
//!
//! On a CPU a launch costs something too: a thread that sleeps is woken by the system. In the virtual machine where
//! this was measured that takes 40 µs, a third of them of the thread that wakes it. An operation of a small model is
//! over by then. So a thread of rayon's that has helped looks out for the next operation for a while, and is posted
//! to it through a word of memory, as a kernel's blocks are by a queue that the GPU reads itself.
//!
//! The threads are rayon's, because candle and gemm share operations among those too: more threads than processors
//! would drive each other out.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// How long a helper looks out for the next operation before it goes back to rayon, which lets it sleep.
const LOOKOUT: Duration = Duration::from_micros(200);

/// Helpers at the most.
const HELPERS: usize = 255;

/// What helpers are to do. It lies on the stack of who asks for help.
struct Job<'a> {
    work: &'a (dyn Fn() + Sync),
    /// Helpers that took the job and are through with it.
    done: AtomicUsize,
    panicked: AtomicBool,
}

// ANCHOR: helper
/// A thread that looks out for jobs, or none yet. In cache lines of its own: what lay beside it, nobody could write
/// without taking the line from the thread that looks at it all the time.
#[repr(align(128))]
struct Helper {
    /// A job that it may take, or one of the states below.
    post: AtomicPtr<Job<'static>>,
}
// ANCHOR_END: helper

type State = *mut Job<'static>;

/// No thread looks at the post.
const ASLEEP: State = ptr::null_mut();
/// A thread does, or will. No job has this address.
const WAITING: State = ptr::without_provenance_mut(1);
/// It is at work.
const BUSY: State = ptr::without_provenance_mut(2);

static ALL: [Helper; HELPERS] = [const { Helper::new() }; HELPERS];

/// Calls `work` on this thread, and on as many as `helpers` others meanwhile: those that are awake, or wake up before
/// this thread is through. All have returned when this does.
///
/// # Panics
/// When `work` does, on whichever thread.
pub fn share(helpers: usize, work: impl Fn() + Sync) {
    let job = Job {
        work: &work,
        done: AtomicUsize::new(0),
        panicked: AtomicBool::new(false),
    };
    let posted = Posted::new(&job, helpers);
    work();
    drop(posted);
    assert!(!job.panicked.into_inner(), "a helper panicked");
}

/// Where a job was posted. Dropping it takes the job back from who has not begun, and waits for who has.
struct Posted<'a> {
    job: &'a Job<'a>,
    to: Vec<&'static Helper>,
}

impl<'a> Posted<'a> {
    fn new(job: &'a Job<'a>, helpers: usize) -> Self {
        let address = Self::address(job);
        let to = ALL.iter().take(helpers);
        let to = to.filter(|helper| helper.post(address)).collect();
        Self { job, to }
    }

    /// Of the job, as if it were there for ever.
    fn address(job: &Job<'a>) -> State {
        ptr::from_ref(job).cast_mut().cast()
    }
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        let address = Self::address(self.job);
        self.to.retain(|helper| !helper.swap(address, WAITING));
        if self.to.is_empty() {
            return;
        }
        let mut patience = Patience::new();
        while self.job.done.load(Ordering::Acquire) < self.to.len() {
            patience.wait();
        }
    }
}

impl Helper {
    const fn new() -> Self {
        Self {
            post: AtomicPtr::new(ASLEEP),
        }
    }

    /// Whether the state was `from`, and is `to` now.
    fn swap(&self, from: State, to: State) -> bool {
        let (both, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        self.post.compare_exchange(from, to, both, failed).is_ok()
    }

    /// Whether it has the job in its post now: not if it has another.
    fn post(&'static self, job: State) -> bool {
        if self.swap(WAITING, job) {
            return true;
        }
        let wake = self.swap(ASLEEP, job);
        if wake {
            let asks = rayon::current_thread_index();
            rayon::spawn(move || {
                // Where all others are busy rayon gives it back to the thread that asks, which has no time for it.
                let here = rayon::current_thread_index() == asks;
                self.look_out(if here { Duration::ZERO } else { LOOKOUT });
            });
        }
        wake
    }

    // ANCHOR: look_out
    /// Takes one job after the other, until none has come for so long.
    fn look_out(&self, at_most: Duration) {
        let mut patience = Patience::new();
        loop {
            let job = self.post.load(Ordering::Relaxed);
            if job == WAITING {
                if patience.wait() < at_most {
                    continue;
                }
                if self.swap(WAITING, ASLEEP) {
                    return;
                }
            } else if self.swap(job, BUSY) {
                self.run(job);
                patience = Patience::new();
            }
        }
    }
    // ANCHOR_END: look_out

    /// The job that it has just taken out of its post.
    fn run(&self, job: State) {
        // SAFETY: a job is in a post only while its `Posted` lives, which borrows it. Dropping `Posted` either takes
        // it out of the post, and then the swap that comes before this call did not find it there, or waits until
        // `done` counts this helper; it is counted below, after the last use of the job but for the counter itself.
        let job = unsafe { &*job };
        if catch_unwind(AssertUnwindSafe(job.work)).is_err() {
            job.panicked.store(true, Ordering::Relaxed);
        }
        self.post.store(WAITING, Ordering::Release);
        job.done.fetch_add(1, Ordering::Release);
    }
}

/// Waits without sleeping.
struct Patience {
    since: Instant,
    turns: u32,
}

impl Patience {
    /// Turns from one look at the clock to the next.
    const TURNS: u32 = 64;

    fn new() -> Self {
        Self {
            since: Instant::now(),
            turns: 0,
        }
    }

    /// A moment; returns how long it has been in all, or nothing where it did not look. Who waits longer than helpers
    /// look out waits for a long task: others may have the processor meanwhile.
    fn wait(&mut self) -> Duration {
        spin_loop();
        self.turns += 1;
        if !self.turns.is_multiple_of(Self::TURNS) {
            return Duration::ZERO;
        }
        let waited = self.since.elapsed();
        if waited > LOOKOUT {
            yield_now();
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of `work`, each for one of `n` things to do.
    fn shared(helpers: usize, n: usize) -> Vec<usize> {
        let next = AtomicUsize::new(0);
        let times: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        share(helpers, || {
            while let Some(times) = times.get(next.fetch_add(1, Ordering::Relaxed)) {
                times.fetch_add(1, Ordering::Relaxed);
            }
        });
        times.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn all_is_done_once_whoever_asks() {
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
    fn who_is_asked_may_ask() {
        let outer = AtomicUsize::new(0);
        share(2, || {
            outer.fetch_add(1, Ordering::Relaxed);
            assert_eq!(shared(2, 100), [1; 100]);
        });
        assert!((1..=3).contains(&outer.into_inner()));
    }

    #[test]
    fn a_helper_takes_part_while_it_is_awake() {
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
    fn a_panic_reaches_who_asked_and_nobody_else() {
        let own = std::thread::current().id();
        for mine in [true, false] {
            let panicked = (0..100).any(|_| {
                let limit = Instant::now();
                let run = || {
                    share(1, || {
                        if (std::thread::current().id() == own) == mine {
                            panic!("on purpose");
                        }
                        while !mine && limit.elapsed().as_millis() < 5 {
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
