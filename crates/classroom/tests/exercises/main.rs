//! Tests of all exercises.

mod bank;
mod desk;
#[path = "../../../../tests/src/skip.rs"]
mod skip;
mod submissions;
mod texts;
