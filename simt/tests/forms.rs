//! Each form of arithmetic, for every type that PTX allows, from its text to its result: against integers of 128
//! bits, and against floats that are rounded here, once, from what is exact.
//!
//! Forms that are no function of registers are in `memory.rs`, `lanes.rs`, `matrices.rs`, `blocks.rs` and `machine.rs`.

#[path = "forms/bits.rs"]
mod bits;
#[path = "forms/compare.rs"]
mod compare;
#[path = "forms/convert.rs"]
mod convert;
#[path = "forms/exact.rs"]
mod exact;
#[path = "forms/floats.rs"]
mod floats;
#[path = "forms/harness.rs"]
mod harness;
#[path = "forms/integers.rs"]
mod integers;
