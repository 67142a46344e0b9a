//! Skips tests on a machine without NVRTC. Two test programs include this file with `#[path]`.

#[path = "../../../../tests/src/skip.rs"]
pub mod skip;

use std::env;

/// Where this is set, a test that finds no NVRTC fails.
const REQUIRED: &str = "CANDLEPOWER_NVRTC";

/// Returns whether `stderr` says that a run found no NVRTC, and then reports that `what` is skipped.
///
/// # Panics
/// If NVRTC is missing although `CANDLEPOWER_NVRTC` is set.
pub fn is_missing(stderr: &str, what: &str) -> bool {
    if !stderr.contains("expected NVRTC") {
        return false;
    }
    assert!(env::var_os(REQUIRED).is_none(), "{REQUIRED}: {stderr}");
    skip::skip(what, "no NVRTC");
    true
}
