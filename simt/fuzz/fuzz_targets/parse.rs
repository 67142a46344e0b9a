//! Parses any bytes and prepares each kernel: a module or an error, without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use simt::Module;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::parse(&String::from_utf8_lossy(bytes)) else {
        return;
    };
    for name in module.entries() {
        let _ = module.kernel(name);
    }
});
