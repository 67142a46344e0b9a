//! Tests of `workbook exercises`.

mod cuda;
mod debrief;
mod grade;
mod handed_in;
mod handout;
mod learn;
#[path = "../shared/nvrtc.rs"]
mod nvrtc;
mod outputs;
mod package;
mod refused;
mod results;
mod run;
#[path = "../shared/slashes.rs"]
mod slashes;
mod strangers;
mod watch;
