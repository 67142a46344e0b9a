//! Level 5: tuned small-matrix dispatch, and a forward pass as one CUDA graph.
//!
//! Which kernel computes a product is looked up by its shape, number format and device, in a table that was
//! measured there. The position of a decode step lies in the device's memory, so that one recording of the step
//! serves all that follow.

mod ops;
pub mod system;
pub mod tuned;
pub mod tuning;

pub use ops::Level5;
