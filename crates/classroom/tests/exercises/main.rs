//! Tests of all exercises.

mod bank;
mod desk;
mod hostile;
#[path = "../../../../tests/src/skip.rs"]
mod skip;
mod submissions;
mod template;
mod texts;
