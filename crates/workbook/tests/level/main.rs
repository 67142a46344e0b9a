//! Tests of levels of a learner's own: the crate, and the programs that run it.

mod fixture;
mod programs;
