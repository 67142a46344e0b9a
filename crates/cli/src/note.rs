//! Notes on stderr about behaviour that a user may not expect.

use std::fmt::Display;
use std::io::Write;

use candle_core::Device;
use kernels::dispatch::{Facts, remarks};

/// Prints `note: TEXT`.
pub fn note(text: impl Display) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "note: {text}")
}

/// Prints notes about the tables by which level 5 picks kernels on `device`.
///
/// # Errors
/// If the driver does not respond, or stderr is closed.
pub fn note_tables(device: &Device) -> candle_core::Result<()> {
    for remark in remarks(Facts::of(device)?) {
        note(remark)?;
    }
    Ok(())
}
