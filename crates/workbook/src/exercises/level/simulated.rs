//! A learner's kernels in whole models on a CPU: a simulated kernel has no time, so that level 1's method runs in its place.

use std::sync::Arc;

use anyhow::Result;
use data::BadInput;
use levels::{Level, Swap};

use super::child::launches;

/// Why level 1's method runs in place of a learner's.
pub const WHY: &str = "it is a kernel, which a CPU only simulates";

/// Says that the whole models run another method than the learner's, and why.
pub fn sentence(method: &str, why: &str) -> String {
    format!("The whole models run level 1's {method} here: {why}.")
}

/// `own` with level 1's methods in place of `methods`.
///
/// # Errors
/// There is no such method.
pub fn with_level_1(own: Level, methods: &[impl AsRef<str>]) -> Result<Level, BadInput> {
    if methods.is_empty() {
        return Ok(own);
    }
    let swap = |method: &dyn AsRef<str>| format!("{}=1", method.as_ref());
    let swaps: Vec<String> = methods.iter().map(|method| swap(method)).collect();
    Ok(Arc::new(Swap::new(own, &swaps.join(","), levels::OPS)?))
}

/// A learner's level with level 1's methods in place of those that launch a kernel, and a sentence about each.
///
/// # Errors
/// Never, because the methods exist.
pub fn without_kernels(own: Level) -> Result<(Level, Vec<String>), BadInput> {
    // The comparison reports a method that fails.
    let is_kernel = |method: &&&str| launches(method, &own).unwrap_or(false);
    let kernels: Vec<&str> = levels::OPS.iter().filter(is_kernel).copied().collect();
    let sentences = kernels.iter().map(|method| sentence(method, WHY)).collect();
    Ok((with_level_1(own, &kernels)?, sentences))
}
