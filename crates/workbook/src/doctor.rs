//! `workbook doctor`: what this machine has, what does not work on it, and a line for each that mends it.

mod diagnose;
mod driver;
mod look;
mod machine;
mod text;

use std::io::Write;

use anyhow::Result;
use clap::Args;

pub use diagnose::{Finding, Part, diagnose};

/// The vector registers of this processor, `AVX-512`; none where it is of another architecture than x86-64.
pub fn simd() -> Option<&'static str> {
    look::simd().map(machine::Simd::name)
}

/// What has to work here.
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
    /// Whether `finding` keeps something from working that was asked for.
    fn fails(&self, finding: &Finding) -> bool {
        let asked = match finding.part {
            Part::Cpu => true,
            Part::Cuda => self.cuda || cfg!(feature = "cuda"),
            Part::CudaFiles => self.nvrtc,
        };
        finding.blocks && asked
    }
}

/// Looks, prints, and says whether all that was asked for works. `threads` is the user's `RAYON_NUM_THREADS`.
pub fn run(args: &DoctorArgs, threads: Option<String>) -> Result<bool> {
    let machine = look::machine(threads);
    let findings = diagnose(&machine);
    let failed: Vec<Part> = findings
        .iter()
        .filter(|f| args.fails(f))
        .map(|f| f.part)
        .collect();
    std::io::stdout().write_all(text::report(&machine, &findings, &failed).as_bytes())?;
    Ok(failed.is_empty())
}
