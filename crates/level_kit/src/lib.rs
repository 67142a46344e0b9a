//! Helpers for a level of your own.
//!
//! A method of `Ops` has three forms: candle's operations, a [kernel](KernelFile) in PTX or CUDA C++ in a file of the
//! level's crate, or Rust loops over rows, a [CPU twin](map_rows).
//!
//! A kernel runs wherever the tensors are. On a GPU the driver runs it. On a CPU the simulator runs it, and a defect that it
//! finds is an error with file and line, so that a level gives right answers without a GPU, too, only slower.

#![warn(clippy::disallowed_macros)]

mod fault;
mod file;
mod twin;

pub use fault::{with_names, with_smem};
pub use file::{Compile, FAULTY_FUEL, KernelFile, KernelLaunch, set_compiler, simulated_file};
pub use kernels::launch::{is_simulated, on_cpu};
pub use kernels::output::tensor as output;
pub use twin::{map_rows, values};

/// A kernel file of the crate that calls it, by its path there: `kernel_file!("kernels/rms_norm.ptx")`.
#[macro_export]
macro_rules! kernel_file {
    ($file:literal) => {
        $crate::KernelFile::new(env!("CARGO_MANIFEST_DIR"), $file)
    };
}
