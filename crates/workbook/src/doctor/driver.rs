//! Queries the driver. libcuda is loaded at run time, so every build can do it.

use std::ffi::{CStr, c_char};

use libloading::{Error, Library};

use super::machine::{Driver, Gpu, Version};

/// The library that comes with the driver.
const LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// Queries the driver and its GPUs.
pub fn ask() -> Driver {
    // SAFETY: the library is the driver's own, or the stub of `scripts/cuda-toolkit.sh`; loading it runs no more
    // than its initialisers.
    let Ok(library) = (unsafe { Library::new(LIBRARY) }) else {
        return Driver::Missing;
    };
    let driver = Functions::of(&library).map(|functions| functions.ask());
    // The driver keeps threads and handlers, so it must stay loaded.
    std::mem::forget(library);
    driver.unwrap_or(Driver::Missing)
}

type Init = unsafe extern "C" fn(u32) -> i32;
type Number = unsafe extern "C" fn(*mut i32) -> i32;
type Device = unsafe extern "C" fn(*mut i32, i32) -> i32;
type Name = unsafe extern "C" fn(*mut c_char, i32, i32) -> i32;
type Attribute = unsafe extern "C" fn(*mut i32, i32, i32) -> i32;

/// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and …_MINOR of `cuda.h`.
const MAJOR: i32 = 75;
const MINOR: i32 = 76;

/// The necessary functions, as declared in `cuda.h`.
struct Functions {
    init: Init,
    version: Number,
    count: Number,
    device: Device,
    name: Name,
    attribute: Attribute,
}

impl Functions {
    fn of(library: &Library) -> Result<Self, Error> {
        // SAFETY: the symbols have these types in cuda.h, and have had them in every release since CUDA 3; the
        // library is never unloaded.
        unsafe {
            Ok(Self {
                init: *library.get(b"cuInit\0")?,
                version: *library.get(b"cuDriverGetVersion\0")?,
                count: *library.get(b"cuDeviceGetCount\0")?,
                device: *library.get(b"cuDeviceGet\0")?,
                name: *library.get(b"cuDeviceGetName\0")?,
                attribute: *library.get(b"cuDeviceGetAttribute\0")?,
            })
        }
    }

    fn ask(&self) -> Driver {
        // SAFETY: the one argument has to be 0.
        let code = unsafe { (self.init)(0) };
        if code != 0 {
            return Driver::Refuses(code);
        }
        // SAFETY: both write one int, to a valid place, and keep no pointer.
        let (version, count) = unsafe { (number(self.version), number(self.count)) };
        match (version, count) {
            (Ok(version), Ok(count)) => Driver::Works {
                cuda: (version as u32 / 1000, version as u32 % 1000 / 10),
                gpus: (0..count).filter_map(|ordinal| self.gpu(ordinal)).collect(),
            },
            (Err(code), _) | (_, Err(code)) => Driver::Refuses(code),
        }
    }

    fn gpu(&self, ordinal: i32) -> Option<Gpu> {
        let (mut device, mut text) = (0, [0 as c_char; 256]);
        // SAFETY: `device` is written by the first call and valid for the others; the name is cut off at the length
        // that is passed, with a 0 after it; no pointer is kept.
        unsafe {
            if (self.device)(&raw mut device, ordinal) != 0 {
                return None;
            }
            if (self.name)(text.as_mut_ptr(), text.len() as i32 - 1, device) != 0 {
                return None;
            }
        }
        // SAFETY: the array ends in a 0 that no call has overwritten.
        let name = unsafe { CStr::from_ptr(text.as_ptr()) };
        Some(Gpu {
            name: name.to_string_lossy().into_owned(),
            capability: self.capability(device)?,
        })
    }

    fn capability(&self, device: i32) -> Option<Version> {
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: writes one int, to a valid place, of a device that the driver has named.
            let code = unsafe { (self.attribute)(&raw mut value, which, device) };
            (code == 0).then_some(value as u32)
        };
        Some((attribute(MAJOR)?, attribute(MINOR)?))
    }
}

/// Returns the int that `function` writes, or its error.
///
/// # Safety
/// `function` has to write one int and to keep no pointer.
unsafe fn number(function: Number) -> Result<i32, i32> {
    let mut value = 0;
    // SAFETY: the caller says so.
    match unsafe { function(&raw mut value) } {
        0 => Ok(value),
        code => Err(code),
    }
}
