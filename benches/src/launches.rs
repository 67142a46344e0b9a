//! How many kernels a piece of work starts on a GPU, candle's and cuBLAS's own among them.

/// Counts kernel launches by CUPTI, the profiling library that comes with the CUDA toolkit.
pub struct LaunchCounter(#[cfg(feature = "cuda")] cupti::Subscription);

impl LaunchCounter {
    /// Counts from now on; `None`, and a line on stderr that says why, where that is not possible.
    #[cfg(feature = "cuda")]
    pub fn begin() -> Option<Self> {
        match cupti::Subscription::new() {
            Ok(subscription) => Some(Self(subscription)),
            Err(why) => {
                eprintln!("skipped: launches are not counted: {why}");
                None
            }
        }
    }

    /// `None`: nothing is launched without a GPU.
    #[cfg(not(feature = "cuda"))]
    pub fn begin() -> Option<Self> {
        None
    }

    /// Launches since [`begin`](Self::begin).
    pub fn end(self) -> usize {
        #[cfg(feature = "cuda")]
        return self.0.end();
        #[cfg(not(feature = "cuda"))]
        0
    }
}

/// The few functions of CUPTI's callback interface that are needed, as `cupti_callbacks.h` of CUDA 13
/// declares them.
#[cfg(feature = "cuda")]
mod cupti {
    use std::ffi::c_void;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use libloading::Library;

    type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const u32);
    type Subscribe = unsafe extern "C" fn(*mut *mut c_void, Callback, *mut c_void) -> u32;
    type Enable = unsafe extern "C" fn(u32, *mut c_void, u32, u32) -> u32;
    type Finalize = unsafe extern "C" fn() -> u32;
    type Unsubscribe = unsafe extern "C" fn(*mut c_void) -> u32;

    /// CUPTI_CB_DOMAIN_DRIVER_API
    const DRIVER: u32 = 1;
    /// CUPTI_API_ENTER
    const ENTER: u32 = 0;
    /// cuLaunchKernel, cuLaunchCooperativeKernel and cuLaunchKernelEx, and each for a thread's own stream.
    const LAUNCHES: [u32; 6] = [307, 442, 477, 478, 652, 653];

    static COUNT: AtomicUsize = AtomicUsize::new(0);

    /// Loaded once and never unloaded: CUPTI leaves hooks of its own in the driver.
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();

    fn library() -> Result<&'static Library, String> {
        let load = || {
            // SAFETY: libcupti is NVIDIA's own; loading it runs no more than its initialisers.
            unsafe { Library::new("libcupti.so.13") }.map_err(|e| e.to_string())
        };
        LIBRARY.get_or_init(load).as_ref().map_err(String::clone)
    }

    /// A subscription to the driver's launches; there can be one in a process.
    pub struct Subscription {
        library: &'static Library,
        handle: *mut c_void,
    }

    impl Subscription {
        pub fn new() -> Result<Self, String> {
            let library = library()?;
            let mut handle = std::ptr::null_mut();
            // SAFETY: the symbols have these types in cupti_callbacks.h; `handle` is written by the
            // first call and valid for the second; the callback and its counter are static.
            let status = unsafe {
                let subscribe = library.get::<Subscribe>(b"cuptiSubscribe\0");
                let enable = library.get::<Enable>(b"cuptiEnableCallback\0");
                let (subscribe, enable) = match (subscribe, enable) {
                    (Ok(subscribe), Ok(enable)) => (subscribe, enable),
                    _ => return Err("libcupti.so.13 lacks the callback interface".into()),
                };
                COUNT.store(0, Ordering::Relaxed);
                let mut status = subscribe(&raw mut handle, count, std::ptr::null_mut());
                for launch in LAUNCHES {
                    if status == 0 {
                        status = enable(1, handle, DRIVER, launch);
                    }
                }
                status
            };
            match status {
                0 => Ok(Self { library, handle }),
                code => Err(format!("CUPTI answers {code}")),
            }
        }

        pub fn end(self) -> usize {
            COUNT.load(Ordering::Relaxed)
        }
    }

    impl Drop for Subscription {
        /// Also detaches CUPTI: its hooks would stay in the driver, and a launch of a CUDA graph would take the host longer,
        /// 0.1 ms where it has 242 kernels (benches/NOTES.md, step 5).
        fn drop(&mut self) {
            // SAFETY: the symbol has this type, and the handle is the one that `new` subscribed.
            unsafe {
                if let Ok(unsubscribe) = self.library.get::<Unsubscribe>(b"cuptiUnsubscribe\0") {
                    unsubscribe(self.handle);
                }
                if let Ok(finalize) = self.library.get::<Finalize>(b"cuptiFinalize\0") {
                    finalize();
                }
            }
        }
    }

    /// `site` points to CUpti_CallbackData, whose first field is the side of the call.
    unsafe extern "C" fn count(_: *mut c_void, _: u32, _: u32, site: *const u32) {
        // SAFETY: CUPTI passes a CUpti_CallbackData, valid for the call, that begins with an enum of
        // 32 bits.
        if unsafe { *site } == ENTER {
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
    }
}
