//! A target of libFuzzer for each reader.

pub use libfuzzer_sys;
pub use readers;

/// The target of the reader with this name.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(
            init: {
                // libFuzzer's hook ends the process at a panic that a reader catches, as that of a tokenizer does. One that
                // it does not catch ends the process anyway.
                drop(std::panic::take_hook());
            },
            |bytes: &[u8]| {
                let reader = $crate::readers::Reader::named($name);
                (reader.expect("a reader of this name").read)(bytes);
            }
        );
    };
}
