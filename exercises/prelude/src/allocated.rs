//! Counts the memory that a submission allocates, so that it cannot hide a row on the heap, and limits it, so
//! that the machine does not run out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::Result;

/// The system's allocator with a count and a limit of 2 GiB at a time; every check's program uses it.
pub struct Counted;

/// Maximum bytes that a submission may hold. The next allocation ends it:
/// `memory allocation of … bytes failed`.
pub const MOST: usize = 2 << 30;

/// Bytes allocated in total.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes allocated and not yet freed.
static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is forwarded to the system's allocator, or refused with a null pointer, as an allocator
// may; the counters allocate nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed);
        if held + layout.size() > MOST {
            HELD.fetch_sub(layout.size(), Ordering::Relaxed);
            return ptr::null_mut();
        }
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: `layout` is the caller's, whose size is not 0.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above with this layout, hence from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the value of `f`, the tensors that it makes, and the bytes that it allocates: the fewest of five runs, because
/// the threads of a pool allocate now and then.
///
/// # Errors
/// candle's errors.
pub fn costs<T>(f: impl Fn() -> Result<T>) -> Result<(T, usize, usize)> {
    let run = || {
        let (made, bytes) = allocated(|| trace::count_tensors(&f));
        made.map(|(value, tensors)| (value, tensors, bytes))
    };
    let mut fewest = run()?;
    for _ in 1..5 {
        fewest.2 = fewest.2.min(run()?.2);
    }
    Ok(fewest)
}

/// Returns the value of `f`, and the bytes allocated by any thread while it ran.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES.load(Ordering::Relaxed);
    let value = f();
    (value, BYTES.load(Ordering::Relaxed) - before)
}
