//! `workbook exercises` from outside.

mod cuda;
mod grade;
mod handout;
mod learn;
mod refused;
mod run;
mod watch;
