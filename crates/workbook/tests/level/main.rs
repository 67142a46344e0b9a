//! Tests of levels of a learner's own: the crate, and the programs that run it.

mod class;
mod fixture;
mod messages;
#[path = "../shared/nvrtc.rs"]
mod nvrtc;
mod programs;
mod solutions;
mod wrong;
