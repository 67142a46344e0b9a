//! Ranges with names, which NVIDIA's profilers show above the kernels that were launched inside.
//!
//! With the feature `cuda`, each [`span`](crate::span) is a range, and so is each [`part`] of a model:
//!
//! ```text
//! nsys profile --trace cuda,nvtx workbook profile --model lm --level 4
//! ```
//!
//! A program that no profiler has started loads nothing, and a range costs one atomic load. Without the feature `cuda`, a
//! range is nothing at all. The launches of a recorded CUDA graph are in the range that starts the graph, because the
//! code of the ops does not run again.
//!
//! Source: "NVIDIA Tools Extension Library (NVTX)", version 3.

use std::borrow::Cow;
use std::marker::PhantomData;

/// A range that ends when it is dropped.
#[must_use = "the range lasts as long as this value"]
pub struct Range {
    #[cfg(feature = "cuda")]
    _open: Option<pushed::Open>,
    /// Ranges are nested per thread, so each ends where it began.
    _of_thread: PhantomData<*const ()>,
}

/// Names what runs until the returned value is dropped, such as `block 3` of a model. `name` is called only under a
/// profiler.
#[inline]
pub fn part<N: Into<Cow<'static, str>>>(name: impl FnOnce() -> N) -> Range {
    #[cfg(not(feature = "cuda"))]
    let _ = name;
    Range {
        #[cfg(feature = "cuda")]
        _open: pushed::open(name),
        _of_thread: PhantomData,
    }
}

/// Two functions of the library, which is loaded at run time: its Rust bindings need libclang to build, and a program
/// that links it does not start without a toolkit.
#[cfg(feature = "cuda")]
mod pushed {
    use std::borrow::Cow;
    use std::env;
    use std::ffi::{CString, c_char, c_int};
    use std::sync::OnceLock;

    use libloading::Library;

    type Push = unsafe extern "C" fn(*const c_char) -> c_int;
    type Pop = unsafe extern "C" fn() -> c_int;

    struct Functions {
        push: Push,
        pop: Pop,
        /// Keeps the functions in memory.
        _library: Library,
    }

    /// Nsight Systems and Nsight Compute set it for the programs that they start.
    const INJECTION: &str = "NVTX_INJECTION64_PATH";

    /// The library of CUDA 12.9 and newer, and those before it.
    const LIBRARIES: [&str; 4] = [
        "libnvtx3interop.so.1",
        "libnvtx3interop.so",
        "libnvToolsExt.so.1",
        "nvToolsExt64_1.dll",
    ];

    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();

    /// Proof of a push on this thread.
    pub struct Open(&'static Functions);

    #[inline]
    pub fn open<N: Into<Cow<'static, str>>>(name: impl FnOnce() -> N) -> Option<Open> {
        let functions = FUNCTIONS.get_or_init(load).as_ref()?;
        let name = CString::new(name().into().into_owned()).ok()?;
        // SAFETY: the library copies the text, which ends with a zero byte.
        unsafe { (functions.push)(name.as_ptr()) };
        Some(Open(functions))
    }

    impl Drop for Open {
        fn drop(&mut self) {
            // SAFETY: the function takes nothing, and ends the push of this value: see `Range`.
            unsafe { (self.0.pop)() };
        }
    }

    #[cold]
    fn load() -> Option<Functions> {
        env::var_os(INJECTION)?;
        let functions = LIBRARIES.iter().find_map(|name| loaded(name));
        if functions.is_none() {
            use std::io::Write;
            // Without stderr, no one reads it.
            let _ = writeln!(
                std::io::stderr(),
                "note: no names of ops in the profile: expected the library {} on the loader's path, found none",
                LIBRARIES[0]
            );
        }
        functions
    }

    fn loaded(name: &str) -> Option<Functions> {
        // SAFETY: the libraries of these names are NVIDIA's; loading one runs no more than its initialisers.
        let library = unsafe { Library::new(name) }.ok()?;
        // SAFETY: the functions have these types in nvToolsExt.h, and live as long as the library, which is never
        // unloaded.
        let (push, pop) = unsafe {
            let push: Push = *library.get(b"nvtxRangePushA\0").ok()?;
            (push, *library.get::<Pop>(b"nvtxRangePop\0").ok()?)
        };
        Some(Functions {
            push,
            pop,
            _library: library,
        })
    }
}
