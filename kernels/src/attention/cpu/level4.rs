//! Level 4 on a CPU.

pub use super::level3::{attention, causal_attention};
