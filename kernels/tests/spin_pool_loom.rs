//! The protocol of the spinning thread pool under loom. Loom runs a model once for each interleaving of its threads, and
//! for each value that the memory model lets a load return.
//!
//! The file under test is the one that the library is built from. Its module `sync` is loom's here. Loom reports an
//! access to an `UnsafeCell`, or to an atomic that was freed, that no happens-before edge orders.

#[path = "../src/cpu/spin_pool/protocol.rs"]
mod protocol;

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Counter;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::atomic::AtomicUsize;
use loom::thread;
use protocol::{ASLEEP, Worker};

/// Loom's types where the library has std's.
mod sync {
    use std::cell::Cell;
    use std::panic::{UnwindSafe, resume_unwind};
    pub use std::sync::atomic::Ordering;
    use std::time::Duration;

    use loom::sync::atomic;

    thread_local! {
        /// An ordering, and the weaker one that takes its place. All threads of a model run on the test's thread.
        pub static WEAKENED: Cell<Option<(Ordering, Ordering)>> = const { Cell::new(None) };
    }

    fn weakened(order: Ordering) -> Ordering {
        match WEAKENED.get() {
            Some((from, to)) if from == order => to,
            _ => order,
        }
    }

    pub struct AtomicPtr<T>(atomic::AtomicPtr<T>);

    impl<T> AtomicPtr<T> {
        pub fn new(x: *mut T) -> Self {
            Self(atomic::AtomicPtr::new(x))
        }

        pub fn load(&self, order: Ordering) -> *mut T {
            self.0.load(weakened(order))
        }

        pub fn store(&self, x: *mut T, order: Ordering) {
            self.0.store(x, weakened(order));
        }

        pub fn compare_exchange(
            &self,
            from: *mut T,
            to: *mut T,
            success: Ordering,
            failure: Ordering,
        ) -> Result<*mut T, *mut T> {
            self.0
                .compare_exchange(from, to, weakened(success), failure)
        }
    }

    pub struct AtomicUsize(atomic::AtomicUsize);

    impl AtomicUsize {
        pub fn new(x: usize) -> Self {
            Self(atomic::AtomicUsize::new(x))
        }

        pub fn load(&self, order: Ordering) -> usize {
            self.0.load(weakened(order))
        }

        pub fn fetch_add(&self, x: usize, order: Ordering) -> usize {
            self.0.fetch_add(x, weakened(order))
        }
    }

    impl Drop for AtomicUsize {
        /// Freeing memory is an access, which has to be ordered with all others.
        fn drop(&mut self) {
            self.0.with_mut(|_| ());
        }
    }

    pub struct AtomicBool(atomic::AtomicBool);

    impl AtomicBool {
        pub fn new(x: bool) -> Self {
            Self(atomic::AtomicBool::new(x))
        }

        pub fn store(&self, x: bool, order: Ordering) {
            self.0.store(x, weakened(order));
        }

        pub fn into_inner(self) -> bool {
            self.0.into_inner()
        }
    }

    /// Lets other threads of the model run. A worker's time is over at the third turn.
    pub struct SpinWait {
        turns: u32,
    }

    impl SpinWait {
        pub fn new() -> Self {
            Self { turns: 0 }
        }

        pub fn spin(&mut self) -> Duration {
            loom::thread::yield_now();
            self.turns += 1;
            match self.turns {
                ..2 => Duration::ZERO,
                _ => Duration::MAX,
            }
        }
    }

    /// The panic of a test.
    pub struct OnPurpose;

    /// Catches [`OnPurpose`]. Loom's panics go on: they report an error, or end the threads of a model.
    pub fn catch_unwind<R>(f: impl FnOnce() -> R + UnwindSafe) -> Result<R, OnPurpose> {
        std::panic::catch_unwind(f).map_err(|panic| match panic.downcast() {
            Ok(on_purpose) => *on_purpose,
            Err(other) => resume_unwind(other),
        })
    }
}

/// Runs a model in all interleavings with at most so many preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
fn check(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let iterations = Arc::new(Counter::new(0));
    let counted = iterations.clone();
    let start = Instant::now();
    let mut builder = Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    let (iterations, time) = (iterations.load(Relaxed), start.elapsed());
    println!("{name}: {iterations} interleavings in {time:.2?}");
}

/// Workers of one run of a model. Leaked, because a thread of loom borrows nothing.
fn workers(n: usize) -> &'static [Worker] {
    let worker = |_| Worker {
        slot: sync::AtomicPtr::new(ASLEEP),
    };
    Vec::leak((0..n).map(worker).collect())
}

fn wake(worker: &'static Worker) {
    thread::spawn(move || worker.spin(Duration::from_secs(1)));
}

/// Items on a caller's stack. The threads that share them take one after the other.
struct Items {
    next: AtomicUsize,
    items: [UnsafeCell<Item>; 2],
}

#[derive(Clone, Copy)]
struct Item {
    times: u32,
    by: thread::ThreadId,
}

// SAFETY: loom reports accesses to its `UnsafeCell` that are not ordered.
unsafe impl Sync for Items {}

impl Items {
    fn new() -> Self {
        let by = thread::current().id();
        Self {
            next: AtomicUsize::new(0),
            items: [(); 2].map(|()| UnsafeCell::new(Item { times: 0, by })),
        }
    }

    fn take_all(&self) {
        while let Some(item) = self.items.get(self.next.fetch_add(1, Relaxed)) {
            item.with_mut(|item| {
                // SAFETY: as above.
                let item = unsafe { &mut *item };
                item.times += 1;
                item.by = thread::current().id();
            });
        }
    }

    /// Checks that each item was taken once, as a last access that has to be ordered with all others. Returns how many
    /// were taken by other threads than this one.
    fn check(&self) -> usize {
        let own = thread::current().id();
        // SAFETY: as above.
        let items = self
            .items
            .each_ref()
            .map(|item| item.with_mut(|item| unsafe { *item }));
        assert!(items.iter().all(|item| item.times == 1));
        items.iter().filter(|item| item.by != own).count()
    }
}

/// Shares items with `workers`; returns how many the workers took.
fn share_items(workers: &'static [Worker]) -> usize {
    let items = Items::new();
    let panicked = protocol::share(&|| items.take_all(), workers.iter(), wake);
    assert!(!panicked);
    items.check()
}

/// Outcomes seen in at least one interleaving, by the number of items that a worker took.
#[derive(Clone, Default)]
struct Seen(Arc<[Counter; 3]>);

impl Seen {
    fn add(&self, by_workers: usize) {
        self.0[by_workers].fetch_add(1, Relaxed);
    }

    /// The caller alone took all items, or shared them, or a worker took all.
    fn all(&self) -> bool {
        self.0.iter().all(|times| times.load(Relaxed) > 0)
    }
}

#[test]
fn a_caller_and_a_worker() {
    let seen = Seen::default();
    let adds = seen.clone();
    check("a caller and a worker", 3, move || {
        adds.add(share_items(workers(1)))
    });
    assert!(seen.all());
}

/// The second job lies where the first did, on the stack, while the worker may still hold the first one's address.
#[test]
fn two_jobs_at_one_address() {
    let seen = Seen::default();
    let adds = seen.clone();
    check("two jobs at one address", 3, move || {
        let workers = workers(1);
        share_items(workers);
        adds.add(share_items(workers));
    });
    assert!(seen.all());
}

/// One load of `done` is an edge from both workers.
#[test]
fn a_caller_and_two_workers() {
    let seen = Seen::default();
    let adds = seen.clone();
    check("a caller and two workers", 2, move || {
        adds.add(share_items(workers(2)))
    });
    assert!(seen.all());
}

#[test]
fn two_callers_and_a_worker() {
    let seen = Seen::default();
    let adds = seen.clone();
    check("two callers and a worker", 2, move || {
        let workers = workers(1);
        let other = thread::spawn(|| share_items(workers));
        adds.add(share_items(workers));
        other.join().unwrap();
    });
    assert!(seen.all());
}

#[test]
fn a_worker_panics_and_is_used_again() {
    let seen = Arc::new([Counter::new(0), Counter::new(0)]);
    let adds = seen.clone();
    check("a worker panics", 3, move || {
        let (workers, own) = (workers(1), thread::current().id());
        let panics = || {
            if thread::current().id() != own {
                resume_unwind(Box::new(sync::OnPurpose));
            }
        };
        let panicked = protocol::share(&panics, workers.iter(), wake);
        adds[usize::from(panicked)].fetch_add(1, Relaxed);
        share_items(workers);
    });
    assert!(seen.iter().all(|times| times.load(Relaxed) > 0));
}

/// The job outlives the worker's use of it when the caller unwinds.
#[test]
fn a_caller_panics() {
    check("a caller panics", 3, || {
        let (items, own) = (Items::new(), thread::current().id());
        let work = || {
            items.take_all();
            if thread::current().id() == own {
                resume_unwind(Box::new(sync::OnPurpose));
            }
        };
        let share = || protocol::share(&work, workers(1).iter(), wake);
        assert!(sync::catch_unwind(AssertUnwindSafe(share)).is_err());
        items.check();
    });
}

/// Runs a model whose orderings are too weak.
fn check_with(from: sync::Ordering, to: sync::Ordering) {
    sync::WEAKENED.set(Some((from, to)));
    check("weakened", 3, || {
        let workers = workers(1);
        share_items(workers);
        // A worker that spins takes this one: there was no `spawn` between, which would be an edge too.
        share_items(workers);
    });
}

#[test]
#[should_panic = "Causality violation"]
fn a_job_has_to_be_posted_with_release() {
    check_with(sync::Ordering::AcqRel, sync::Ordering::Acquire);
}

#[test]
#[should_panic = "Causality violation"]
fn a_job_has_to_be_taken_with_acquire() {
    check_with(sync::Ordering::AcqRel, sync::Ordering::Release);
}

#[test]
#[should_panic = "Causality violation"]
fn done_has_to_be_added_to_with_release() {
    check_with(sync::Ordering::Release, sync::Ordering::Relaxed);
}

#[test]
#[should_panic = "Causality violation"]
fn done_has_to_be_read_with_acquire() {
    check_with(sync::Ordering::Acquire, sync::Ordering::Relaxed);
}
