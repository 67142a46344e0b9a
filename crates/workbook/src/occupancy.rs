//! `workbook occupancy`: how many blocks and warps of a kernel an SM holds at once, and what limits them.

mod kernel;
mod text;

use anyhow::Result;
use clap::Args;
use cli::args::whole;
use data::BadInput;
use occupancy::{Block, MAX_REGISTERS, MAX_THREADS, SMS, Sm};

use kernel::Known;

/// Help text: what the numbers mean and where to get them.
const NUMBERS: &str = "\
The registers of a kernel are what ptxas allocates: `ptxas -v` prints them, and `--trace` of a model on a GPU lists
those of each launch. A warp takes registers in units of 256, and a block takes shared memory in units of 128 bytes,
1 KiB more than it asks for (compute capability 7.5: units of 256 bytes, and no more).

Examples:
  cargo run --release -- occupancy --threads 256 --registers 64 --shared 49152
  cargo run --release -- occupancy rms_norm_f32_level4 --gpu 8.9";

/// Show how many blocks and warps an SM holds at once, and what limits them
#[derive(Debug, Clone, Args)]
#[command(after_help = NUMBERS)]
pub struct OccupancyArgs {
    /// A kernel whose registers were read on a GPU, such as rms_norm_f32_level4, or a .ptx or .cu file
    #[arg(value_name = "KERNEL|FILE")]
    kernel: Option<String>,
    /// Name of the kernel in a file; may be omitted if the file has only one
    #[arg(long, value_name = "NAME", requires = "kernel")]
    entry: Option<String>,
    /// Threads per block
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    threads: Option<u32>,
    /// Registers per thread
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    registers: Option<u32>,
    /// Bytes of shared memory per block, static and dynamic [default: the kernel's, or 0]
    #[arg(long, value_name = "BYTES", value_parser = whole::<u32>)]
    shared: Option<u32>,
    /// Compute capability: 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 or 12.0
    #[arg(long, value_name = "CAPABILITY", default_value = "9.0")]
    gpu: String,
}

/// Prints the table.
///
/// # Errors
/// [`BadInput`] for a kernel or a GPU that is not known, and for numbers that no launch has.
pub fn run(args: &OccupancyArgs) -> Result<()> {
    let sm = sm(&args.gpu)?;
    if args.kernel.is_none() && args.threads.is_none() && args.registers.is_none() {
        let expected = "a kernel such as rms_norm_f32_level4, a .ptx or .cu file, or --threads and --registers";
        return Err(BadInput::new("occupancy", expected, "none").into());
    }
    let known = match &args.kernel {
        Some(name) => Known::of(name, args.entry.as_deref())?,
        None => Known::default(),
    };
    let block = block(args, &known, &sm)?;
    data::say(text::all(&known, &sm, &block).trim_end())?;
    Ok(())
}

/// The limits of the GPU with that compute capability.
fn sm(text: &str) -> Result<Sm, BadInput> {
    let number = |part: &str| part.parse().ok();
    let parts = text.split_once('.');
    let found = parts.and_then(|(major, minor)| Sm::of(number(major)?, number(minor)?));
    found.ok_or_else(|| {
        let known = SMS.map(|sm| text::capability(&sm)).join(", ");
        BadInput::new("--gpu", format!("one of {known}"), format!("\"{text}\""))
    })
}

/// Resources of a block, from the options, or else from the kernel.
fn block(args: &OccupancyArgs, known: &Known, sm: &Sm) -> Result<Block, BadInput> {
    let threads = args.threads.or(known.threads);
    let registers = args.registers.or(known.registers);
    if known.name.is_some() && registers.is_none() {
        let expected = "what `ptxas -v` prints for the kernel, because PTX does not contain it (scripts/cuda-toolkit.sh installs ptxas)";
        return Err(BadInput::new("--registers", expected, "none"));
    }
    let shared = args.shared.or(known.shared).unwrap_or(0);
    Ok(Block {
        threads: within("--threads", 1, MAX_THREADS, threads)?,
        registers: within("--registers", 1, MAX_REGISTERS, registers)?,
        shared: within("--shared", 0, sm.shared_per_block(), Some(shared))?,
    })
}

fn within(option: &str, least: u32, most: u32, value: Option<u32>) -> Result<u32, BadInput> {
    let expected = format!("a number from {least} to {most}");
    match value {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(value) => Err(BadInput::new(option, expected, value)),
        None => Err(BadInput::new(option, expected, "none")),
    }
}
