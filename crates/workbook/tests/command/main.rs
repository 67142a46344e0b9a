//! Runs the command: its answers, and its errors for bad input.

mod answers;
mod bad_checkpoint;
mod bad_config;
mod bad_graph;
mod bad_option;
mod bad_picture;
mod bad_record;
mod bad_size;
mod bad_tensor;
#[cfg(target_os = "linux")]
mod bad_tokenizer;
#[cfg(unix)]
mod closed;
mod doctor;
mod fixture;
mod help;
mod hub;
#[cfg(unix)]
mod labels;
mod occupancy;
#[cfg(unix)]
mod peers;
mod pictures;
mod profile;
mod programs;
mod simulated;
#[path = "../shared/slashes.rs"]
mod slashes;
mod text;
