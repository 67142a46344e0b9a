//! Tests of several modules of the parser together.

mod errors;
mod kernels;
mod random;
mod texts;
