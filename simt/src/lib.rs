//! Runs PTX on a CPU, warp by warp.

#![forbid(unsafe_code)]
#![allow(dead_code)] // Until the machine reads it.

mod alu;
pub mod ast;
mod code;
mod error;
mod lower;
mod machine;
mod parse;
mod report;

pub use error::{Error, Place, Result};
pub use machine::{Arg, Buffer, Dim, Options, Schedule};
pub use report::{Class, Counts, Finding, Line, Report, Thread};
