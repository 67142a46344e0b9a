//! Tests of all exercises.

mod bank;
mod desk;
mod hostile;
mod outputs;
mod regions;
#[path = "../../../../tests/src/skip.rs"]
mod skip;
mod submissions;
mod template;
mod texts;
