//! What goes into the models before any tensor is made: text, pictures, graphs.
//!
//! **Architecture invariant:** this crate knows neither candle nor the models.

mod bad_input;
pub mod families;
pub mod features;
pub mod graph;
pub mod logistic;
pub mod shapes;

pub use bad_input::BadInput;
