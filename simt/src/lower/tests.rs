//! Whole kernels.

mod addresses;
mod calls;
mod errors;
mod instructions;
mod kernels;
mod types;
