//! The exercises. Starter, page, check and the check's tests come from one source.
//!
//! [`exercise::all`] reads the exercises, [`check::check`] checks a submission, and [`page`] makes the book's
//! pages. [`learner`] manages a learner's folder; [`handout`] and [`grade`] are for teachers.

#![forbid(unsafe_code)]

mod answers;
pub mod check;
pub mod class;
pub mod debrief;
pub mod exercise;
pub mod grade;
pub mod handout;
pub mod junit;
pub mod learner;
pub mod metric;
pub mod oracles;
pub mod page;
pub mod pattern;
mod printed;
pub mod problem;
pub mod source;
pub mod spec;

pub use check::{Failure, Notes, Outcome, Part, Rustc, Tools};
pub use exercise::{Exercise, Language};
pub use learner::{Learner, PROGRESS, Progress};
pub use printed::{in_cuda, printable};
pub use spec::Kind;
