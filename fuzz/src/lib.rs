//! A target of libFuzzer for each reader. All code is in `crates/readers`, which CI compiles and tests.

pub use libfuzzer_sys;
pub use readers;

/// The target of the reader with this name.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(
            init: {
                $crate::readers::begin_fuzzing();
            },
            |bytes: &[u8]| {
                $crate::readers::fuzz($name, bytes);
            }
        );
    };
}
