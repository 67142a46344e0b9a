//! Runs PTX on a CPU, warp by warp.

#![forbid(unsafe_code)]

#![allow(dead_code)] // Until the machine reads it.

mod alu;
pub mod ast;
mod code;
mod error;
mod lower;
mod parse;

pub use error::{Error, Place, Result};
