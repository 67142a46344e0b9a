//! How much memory a submission asks for: who keeps a row on the heap, and should not, cannot hide it; and who asks for
//! more than a machine has is refused before the machine is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which also counts, and gives 2 GiB at a time. It is that of every check's program.
pub struct Counted;

/// Bytes that a submission may hold. The next one ends it: `memory allocation of … bytes failed`.
pub const MOST: usize = 2 << 30;

/// All that were ever given.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Those that were not given back.
static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is passed on to the system's allocator as it is, or refused with a null pointer, as an allocator may;
// the counters beside it allocate nothing.
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

/// The value of `f`, and the bytes that were allocated while it ran, by any thread.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES.load(Ordering::Relaxed);
    let value = f();
    (value, BYTES.load(Ordering::Relaxed) - before)
}
