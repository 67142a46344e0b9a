//! What each form of PTX does, from its text to its result, for every type that PTX allows.
//!
//! Arithmetic is held to integers of 128 bits, and to floats that are rounded here, once, from what is exact;
//! what reads memory or other lanes, to the bytes and lanes that are meant. `floor.txt` lists forms that no machine
//! may lack, and `floor.rs` looks whether the tests execute each.

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
