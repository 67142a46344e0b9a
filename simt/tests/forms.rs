//! Tests of each form of PTX, from text to result, for every type that PTX allows.
//!
//! Arithmetic is checked against 128-bit integers and against floats that these tests round once from the
//! exact result. Memory accesses and warp instructions are checked against the expected bytes and lanes.
//! `floor.txt` lists forms that the machine must support, and `floor.rs` checks that the tests execute each
//! of them.

#[path = "forms/arithmetic.rs"]
mod arithmetic;
#[path = "forms/bits.rs"]
mod bits;
#[path = "forms/blocks.rs"]
mod blocks;
#[path = "forms/cluster.rs"]
mod cluster;
#[path = "forms/compare.rs"]
mod compare;
#[path = "forms/convert.rs"]
mod convert;
#[path = "forms/exact.rs"]
mod exact;
#[path = "forms/floats.rs"]
mod floats;
#[path = "forms/floor.rs"]
mod floor;
#[path = "forms/harness.rs"]
mod harness;
#[path = "forms/integers.rs"]
mod integers;
#[path = "forms/lanes.rs"]
mod lanes;
#[path = "forms/machine.rs"]
mod machine;
#[path = "forms/matrices.rs"]
mod matrices;
#[path = "forms/memory.rs"]
mod memory;
