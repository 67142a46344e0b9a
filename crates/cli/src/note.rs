//! Notes on stderr about behaviour that a user may not expect.

use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

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

/// Notes for the end of the program.
static LATER: Mutex<Vec<String>> = Mutex::new(vec![]);

/// As [`note_tables`], after the program has ended without an error: an error is one line, without notes.
///
/// # Errors
/// If the driver does not respond.
pub(crate) fn note_tables_later(device: &Device) -> candle_core::Result<()> {
    let remarks = remarks(Facts::of(device)?);
    let mut later = LATER.lock().unwrap_or_else(PoisonError::into_inner);
    later.extend_from_slice(remarks);
    Ok(())
}

/// Prints the notes for the end of the program, each once.
///
/// # Errors
/// If stderr is closed.
pub(crate) fn at_the_end() -> std::io::Result<()> {
    let mut notes = std::mem::take(&mut *LATER.lock().unwrap_or_else(PoisonError::into_inner));
    notes.dedup();
    notes.into_iter().try_for_each(note)
}
