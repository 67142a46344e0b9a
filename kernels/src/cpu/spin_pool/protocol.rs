//! How a thread shares a job with the workers of the pool, and how it gets the job back. Lock-free.
//!
//! The job lies on the stack of the thread that shares it, the *caller*. A worker has a slot, one word that holds a
//! job or a state:
//!
//! | slot before | slot after | by | meaning |
//! |---|---|---|---|
//! | `ASLEEP` | job | caller | posts the job and wakes a thread |
//! | `SPINNING` | job | caller | posts the job |
//! | job | `SPINNING` | caller | takes back a job that the worker has not begun |
//! | job | `RUNNING` | worker | takes the job |
//! | `RUNNING` | `SPINNING` | worker | has run the job |
//! | `SPINNING` | `ASLEEP` | worker | stops spinning, and its thread goes back to rayon |
//!
//! All but one are a `compare_exchange`, so that a caller and a worker never both win. `RUNNING` belongs to its worker
//! alone, which leaves it with a plain store.
//!
//! The invariant: a worker uses a job only after its own exchange took the job out of the slot, and until it counts
//! itself in `done`. The caller returns, which frees the job, only after each slot is settled: the caller has taken the
//! job back, or `done` counts the worker.
//!
//! Two happens-before edges make this enough:
//!
//! 1. The caller writes the job, then posts it with `Release`; the worker takes it with `Acquire`, then reads it.
//! 2. The worker runs the job, then adds to `done` with `Release`; the caller reads `done` with `Acquire`, then frees the
//!    job and reads what the workers wrote. One load is enough for all workers: each addition continues the release
//!    sequence of the ones before it.
//!
//! To take a job back needs no edge, because a worker whose exchange fails does not look at the job. The other accesses
//! are `Relaxed`: `panicked` and the store that ends `RUNNING` come before the addition to `done`; a load of the slot
//! only says what to try.
//!
//! A slot may hold a new job at the address of an old one that the worker has read (the ABA problem). Then the exchange
//! succeeds and the worker runs the new job, as it should: it uses the pointer that the exchange returns.
//!
//! `tests/spin_pool_loom.rs` includes this file with loom's atomics in `sync`, and tries all interleavings of a few
//! threads.

use std::panic::AssertUnwindSafe;
use std::ptr;
use std::time::Duration;

use super::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, SpinWait, catch_unwind};

/// Work that several threads do at once.
pub(super) struct Job<'a> {
    work: &'a (dyn Fn() + Sync),
    /// Workers that took the job and have run it.
    done: AtomicUsize,
    /// Whether `work` panicked on a worker.
    panicked: AtomicBool,
}

// ANCHOR: helper
/// A place for one thread in the pool. It has cache lines of its own: a core that writes to a line takes it away from
/// the thread that spins on it.
#[repr(align(128))]
pub(super) struct Worker {
    /// A job that the worker may take, or one of the states below.
    pub(super) slot: AtomicPtr<Job<'static>>,
}
// ANCHOR_END: helper

type Slot = *mut Job<'static>;

/// No thread spins on the slot.
pub(super) const ASLEEP: Slot = ptr::null_mut();
/// A thread spins on the slot, or is about to. No job has this address.
const SPINNING: Slot = ptr::without_provenance_mut(1);
/// The worker runs a job. No job has this address.
const RUNNING: Slot = ptr::without_provenance_mut(2);

/// Calls `work` on this thread, and on each of `workers` that takes the job before this thread is done. Returns whether
/// `work` panicked on a worker. No call is left when this function returns or unwinds.
///
/// `wake` makes a thread call [`Worker::spin`]. If it panics, the job is taken back.
pub(super) fn share(
    work: &(dyn Fn() + Sync),
    workers: impl Iterator<Item = &'static Worker>,
    wake: impl Fn(&'static Worker),
) -> bool {
    let job = Job {
        work,
        done: AtomicUsize::new(0),
        panicked: AtomicBool::new(false),
    };
    let mut posted = Posted {
        job: &job,
        to: Vec::new(),
    };
    for worker in workers {
        posted.post(worker, &wake);
    }
    work();
    drop(posted);
    job.panicked.into_inner()
}

/// The slots that a job was posted to. Dropping it takes the job back from workers that have not begun, and waits for
/// those that have.
struct Posted<'a> {
    job: &'a Job<'a>,
    to: Vec<&'static Worker>,
}

impl Posted<'_> {
    /// Posts the job to `worker`, unless that one has another.
    fn post(&mut self, worker: &'static Worker, wake: impl Fn(&'static Worker)) {
        let job = self.address();
        if worker.exchange(SPINNING, job).is_ok() {
            self.to.push(worker);
        } else if worker.exchange(ASLEEP, job).is_ok() {
            self.to.push(worker);
            wake(worker);
        }
    }

    /// The address of the job, without its lifetime.
    fn address(&self) -> Slot {
        ptr::from_ref(self.job).cast_mut().cast()
    }
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        let job = self.address();
        self.to
            .retain(|worker| worker.exchange(job, SPINNING).is_err());
        if self.to.is_empty() {
            return;
        }
        let mut wait = SpinWait::new();
        while self.job.done.load(Ordering::Acquire) < self.to.len() {
            wait.spin();
        }
    }
}

impl Worker {
    /// Puts `to` into the slot if it holds `from`. Returns what the slot held.
    fn exchange(&self, from: Slot, to: Slot) -> Result<Slot, Slot> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        self.slot.compare_exchange(from, to, success, failure)
    }

    // ANCHOR: look_out
    /// Runs jobs as they are posted, until none has been for `at_most`.
    pub(super) fn spin(&self, at_most: Duration) {
        let mut wait = SpinWait::new();
        loop {
            let slot = self.slot.load(Ordering::Relaxed);
            if slot == SPINNING {
                if wait.spin() < at_most {
                    continue;
                }
                if self.exchange(SPINNING, ASLEEP).is_ok() {
                    return;
                }
            } else if let Ok(job) = self.exchange(slot, RUNNING) {
                // SAFETY: the exchange has taken the job out of the slot.
                unsafe { self.run(job) };
                wait = SpinWait::new();
            }
        }
    }
    // ANCHOR_END: look_out

    /// Runs a job.
    ///
    /// # Safety
    /// This worker has taken the job out of its slot.
    unsafe fn run(&self, job: Slot) {
        // SAFETY: the caller of `share` keeps the job until `done` counts this worker, which is its last use below.
        let job = unsafe { &*job };
        if catch_unwind(AssertUnwindSafe(job.work)).is_err() {
            job.panicked.store(true, Ordering::Relaxed);
        }
        // First, so that the caller's next job finds the worker spinning.
        self.slot.store(SPINNING, Ordering::Relaxed);
        job.done.fetch_add(1, Ordering::Release);
    }
}
