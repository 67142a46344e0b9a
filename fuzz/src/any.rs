//! All readers in one program, small enough to be carried to another machine: the variable `READER` names one.
#![no_main]

use std::env;
use std::sync::LazyLock;

static READER: LazyLock<String> = LazyLock::new(|| env::var("READER").expect("READER=NAME"));

fuzz::libfuzzer_sys::fuzz_target!(
    init: {
        fuzz::readers::begin_fuzzing();
    },
    |bytes: &[u8]| {
        fuzz::readers::fuzz(&READER, bytes);
    }
);
