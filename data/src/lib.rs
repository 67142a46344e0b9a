//! What goes into the models before any tensor is made: text, pictures, graphs.
//!
//! **Architecture invariant:** this crate knows neither candle nor the models.

mod bad_input;

pub use bad_input::BadInput;
