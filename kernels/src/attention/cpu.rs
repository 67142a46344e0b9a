//! Attention on a CPU.

pub mod level3;
pub mod level4;
