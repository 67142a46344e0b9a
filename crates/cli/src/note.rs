//! Notes on stderr about behaviour that a user may not expect.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use candle_core::Device;
use kernels::dispatch::{Facts, remarks};

/// Prints `note: TEXT`. If this fails, nothing can be printed.
pub fn note(text: impl Display) {
    data::note(format_args!("note: {text}"));
}

/// Prints notes about the tables by which level 5 picks kernels on `device`.
///
/// # Errors
/// If the driver does not respond.
pub fn note_tables(device: &Device) -> candle_core::Result<()> {
    remarks(Facts::of(device)?).iter().for_each(note);
    Ok(())
}

/// Prints a note after the program has ended without an error.
pub(crate) fn note_later(text: String) {
    LATER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(text);
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

/// Prints the notes for the end of the program, each once, and which kernels of a learner were simulated: in the middle of a
/// generated text, this would be a part of it.
pub(crate) fn at_the_end() {
    let mut notes = std::mem::take(&mut *LATER.lock().unwrap_or_else(PoisonError::into_inner));
    notes.dedup();
    notes.into_iter().for_each(note);
    if let Some(file) = level_kit::simulated_file() {
        note(format_args!(
            "{file} is simulated, because the tensors are on a CPU; this takes longer than a GPU or Rust code"
        ));
    }
}
