//! Numbers with their nouns.

use std::fmt::Display;

/// `1 thread`, `2 threads`
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{plural}")
}
