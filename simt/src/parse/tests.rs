//! What several of these files do together.

mod errors;
mod kernels;
mod random;
mod texts;
