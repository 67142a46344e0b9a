//! The exercises: one source each, from which come the starter, the page, the check and the test of the check.
//!
//! [`exercise::all`] reads them, [`check::check`] checks a submission, and [`page`] makes the book's pages. The
//! learner's own folder is [`learner`]'s, and [`handout`] and [`grade`] are a teacher's.

#![forbid(unsafe_code)]

mod answers;
pub mod check;
pub mod class;
pub mod exercise;
pub mod grade;
pub mod handout;
pub mod junit;
pub mod learner;
pub mod metric;
pub mod oracles;
pub mod page;
mod printed;
pub mod problem;
pub mod source;
pub mod spec;

pub use check::{Failure, Notes, Outcome, Part, Rustc, Tools};
pub use exercise::{Exercise, Language};
pub use learner::{Learner, PROGRESS, Progress};
pub use printed::printable;
pub use spec::Kind;
