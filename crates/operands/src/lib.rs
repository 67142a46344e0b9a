//! Operands that functions of all levels take in addition to tensors: weights, linear layers, norms and
//! graphs.
//!
//! The models build these values when they load, and every level reads the same ones. A [`Weight`] also holds
//! the packed forms that levels make of it. [`GraphPass`] and
//! [`EncoderPass`] borrow all operands of a whole pass.

mod error;
mod graph;
mod linear;
mod norm;
mod pass;
mod weight;

pub use error::Error;
pub use graph::{Csr, GraphSizes, Segments};
pub use linear::Linear;
pub use norm::Norm;
pub use pass::{
    DecoderBlock, EncoderBlock, EncoderPass, GraphBlock, GraphPass, HeadPass, NextStep,
};
pub use weight::Weight;
