//! `workbook doctor`: describes this machine, what does not work on it, and how to fix it.

mod diagnose;
mod driver;
mod look;
mod machine;
mod text;

use anyhow::Result;
use clap::Args;

pub use diagnose::{Finding, Part, diagnose};

/// Returns the vector registers of this processor, `AVX-512`; `None` unless it is an x86-64.
pub fn simd() -> Option<&'static str> {
    look::simd().map(machine::Simd::name)
}

/// Checks that fail where they would otherwise only warn.
#[derive(Debug, Clone, Copy, Args)]
pub struct DoctorArgs {
    /// Fail if `--features cuda` cannot be built or run here; always on in a build with that feature
    #[arg(long)]
    pub cuda: bool,
    /// Fail if `.cu` files cannot be compiled for the simulator
    #[arg(long)]
    pub nvrtc: bool,
}

impl DoctorArgs {
    /// Whether `finding` breaks a requested part.
    fn fails(&self, finding: &Finding) -> bool {
        let asked = match finding.part {
            Part::Cpu => true,
            Part::Cuda => self.cuda || cfg!(feature = "cuda"),
            Part::CudaFiles => self.nvrtc,
        };
        finding.blocks && asked
    }
}

/// Inspects the machine and prints a report; returns whether all requested parts work. `threads` is the
/// user's `RAYON_NUM_THREADS`.
pub fn run(args: &DoctorArgs, threads: Option<String>) -> Result<bool> {
    let machine = look::machine(threads);
    let findings = diagnose(&machine);
    let failed: Vec<Part> = findings
        .iter()
        .filter(|f| args.fails(f))
        .map(|f| f.part)
        .collect();
    data::print!("{}", text::report(&machine, &findings, &failed));
    Ok(failed.is_empty())
}
