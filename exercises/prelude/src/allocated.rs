//! How much memory a submission asks for: who keeps a row, and should not, cannot hide it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which also counts. It is that of every check's program.
pub struct Counted;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is passed on to the system's allocator as it is; the counter beside it allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: `layout` is the caller's, whose size is not 0.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout, hence from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The value of `f`, and the bytes that were allocated while it ran, by any thread.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES.load(Ordering::Relaxed);
    let value = f();
    (value, BYTES.load(Ordering::Relaxed) - before)
}
