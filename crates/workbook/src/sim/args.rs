//! The options of `workbook sim`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use cli::args::whole;
use data::BadInput;
use simt::case::triple;
use simt::{Argument, Case, Dim, Options, Schedule, Watch};

use super::show::Costs;
use super::text::bad_input;
use data::counted;

/// A command that works in the repository.
pub const EXAMPLE: &str = "cargo run --release -- sim kernels/src/gelu/level3.ptx --lines --block 256 --arg f32:256:random --arg f32:256:poison --arg u32:256";

/// Help text: the simulator accepts some invalid PTX, and this names the command that assembles it.
const NO_ASSEMBLER: &str = "\
The simulator is not an assembler: it may run PTX that ptxas and the driver refuse. To check a file on Linux x86-64:
  scripts/cuda-toolkit.sh && eval \"$(scripts/cuda-toolkit.sh --env)\" && ptxas -arch=sm_75 FILE.ptx -o /dev/null
(sm_75 or the target in the file)";

/// Maximum warp instructions of a block by default, and how many times as many a launch may have: a kernel that never ends
/// takes seconds, or a minute if each of its instructions is a race.
const FUEL: u64 = 20_000_000;
const BLOCKS: u64 = 100;

/// Maximum number of steps in `--trace`: each takes 100 bytes or more.
const MAX_STEPS: usize = 1_000_000;

/// Run a kernel of a PTX or CUDA file in the simulator, without a GPU: lists its faults and its costs
#[derive(Debug, Clone, Args)]
#[command(after_help = format!("{NO_ASSEMBLER}\n\nExample:\n  {EXAMPLE}"))]
pub struct SimArgs {
    /// A .ptx file, or a .cu file if NVRTC is installed
    #[arg(value_name = "FILE.ptx|FILE.cu")]
    file: Option<PathBuf>,
    /// Name of the kernel; may be omitted if the file has only one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Number of blocks
    #[arg(
        long,
        value_name = "X,Y,Z",
        default_value = "1",
        allow_negative_numbers = true
    )]
    pub grid: String,
    /// Threads per block
    #[arg(
        long,
        value_name = "X,Y,Z",
        default_value = "32",
        allow_negative_numbers = true
    )]
    pub block: String,
    /// Blocks per cluster; may be omitted if the kernel has .reqnctapercluster
    #[arg(long, value_name = "X,Y,Z", allow_negative_numbers = true)]
    pub cluster: Option<String>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub smem: u32,
    /// One per parameter, such as i32:64, null, f32:4096:random, f32:64x64:FILE.npy (--help lists all forms)
    #[arg(
        long = "arg",
        value_name = "ARGUMENT",
        long_help = "One per parameter, in order:\n\
            \x20 i32:64, f32:1e-5, u64:0xff  a number (u8 to u64, i8 to i64, f16, bf16, f32, f64)\n\
            \x20 f32:4096:random             a buffer with that many elements; or 64x64:random\n\
            \x20     random or random:N      floats in [-1, 1) or [-N, N); any integers, or 0..N\n\
            \x20     zeros, iota, a number   0 everywhere; 0, 1, 2, …; that number everywhere\n\
            \x20     poison                  uninitialised: reading it before it is written is a fault\n\
            \x20     FILE.npy                the array in that file\n\
            \x20 u32:[0,3,5], f32:FILE.npy   a buffer of exactly these elements\n\
            \x20 f32:4096:zeros@16           an address inside a buffer: that of its element 16\n\
            \x20 same:0, same:0@16           an address in the buffer of argument 0\n\
            \x20 null, hex:0a0b0c0d          the null pointer; a struct given by its bytes"
    )]
    pub args: Vec<String>,
    /// After the launch, save the buffer of argument K, counted from 0
    #[arg(long, value_name = "K:FILE.npy")]
    pub dump: Vec<String>,
    /// Write the full report as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write each step of one warp
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Block of the warp in --trace
    #[arg(
        long,
        value_name = "X,Y,Z",
        default_value = "0,0,0",
        requires = "trace",
        allow_negative_numbers = true
    )]
    pub trace_block: String,
    /// Number of the warp within its block
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace")]
    pub trace_warp: u32,
    /// Maximum number of steps, counted from the start; at most 1,000,000
    #[arg(long, value_name = "N", default_value_t = 4096, requires = "trace", value_parser = whole::<usize>)]
    pub trace_steps: usize,
    /// Print only faults and outputs with unwritten elements, no costs
    #[arg(long, short, conflicts_with = "lines")]
    pub quiet: bool,
    /// Also print the cost of each line
    #[arg(long)]
    pub lines: bool,
    /// Schedule of diverged lanes; a correct kernel gives the same result under all of them
    #[arg(long, value_enum, default_value_t)]
    pub schedule: Order,
    /// Seed of random inputs and of the random schedule
    #[arg(long, default_value_t = 0, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Maximum number of warp instructions per block before the kernel is stopped as endless
    #[arg(long, value_name = "N", default_value_t = FUEL, value_parser = whole::<u64>)]
    pub fuel: u64,
    /// Seconds after which the simulation ends with an error, whatever the fuel
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = whole::<u64>)]
    pub limit: u64,
    /// Run blocks one after the other, not in parallel
    #[arg(long)]
    pub serial: bool,
    /// Target to compile CUDA for, such as sm_80 [default: the first of sm_75, sm_80 and sm_90a that has what the kernel needs]
    #[arg(long, value_name = "NAME")]
    pub arch: Option<String>,
}

/// [`Schedule`] on a command line.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum Order {
    /// Each side of a branch runs until both sides meet again
    #[default]
    PostDominator,
    /// The lanes with the lowest program counter run first
    MinPc,
    /// The lanes with the highest program counter run first
    MaxPc,
    /// Random, reproducible with --seed
    Random,
}

impl From<Order> for Schedule {
    fn from(order: Order) -> Self {
        match order {
            Order::PostDominator => Self::PostDominator,
            Order::MinPc => Self::MinPc,
            Order::MaxPc => Self::MaxPc,
            Order::Random => Self::Random,
        }
    }
}

impl SimArgs {
    /// Returns the file with the kernel.
    ///
    /// # Errors
    /// [`BadInput`] with an example if there is none.
    pub fn file(&self) -> Result<&Path, BadInput> {
        let missing = || {
            let expected = format!("a .ptx or .cu file (example: {EXAMPLE})");
            BadInput::new("sim", expected, "none")
        };
        self.file.as_deref().ok_or_else(missing)
    }

    /// Returns the launch that the options describe.
    pub fn case(&self) -> Result<Case, BadInput> {
        let args = self.args.iter().map(|text| text.parse::<Argument>());
        Ok(Case {
            entry: self.entry.clone(),
            dim: Dim {
                grid: dims("--grid", &self.grid, 1)?,
                block: dims("--block", &self.block, 1)?,
                smem: self.smem,
            },
            args: args.collect::<Result<_, _>>().map_err(bad_input)?,
        })
    }

    /// Blocks of a cluster, if the options say so.
    pub fn clusters(&self) -> Result<Option<[u32; 3]>, BadInput> {
        let given = self.cluster.as_deref();
        given.map(|text| dims("--cluster", text, 1)).transpose()
    }

    /// How much is said of the costs.
    pub fn costs(&self) -> Costs {
        match (self.quiet, self.lines) {
            (true, _) => Costs::Nothing,
            (_, true) => Costs::Lines,
            _ => Costs::Totals,
        }
    }

    /// Returns the settings of the launch `dim`, which begins now.
    pub fn options(&self, dim: &Dim) -> Result<Options, BadInput> {
        Ok(Options {
            fuel: self.fuel,
            launch_fuel: self.fuel.saturating_mul(BLOCKS),
            until: Instant::now().checked_add(Duration::from_secs(self.limit)),
            schedule: self.schedule.into(),
            seed: self.seed,
            parallel: !self.serial,
            trace: self.trace.is_some().then(|| self.watch(dim)).transpose()?,
            ..Options::default()
        })
    }

    /// Refuses the report of a launch that reached its time limit, because it is one of half a launch.
    pub fn in_time(&self, options: &Options) -> Result<(), BadInput> {
        if options.until.is_none_or(|end| Instant::now() < end) {
            return Ok(());
        }
        let limit = counted(self.limit, "second");
        let expected = format!("a launch that ends within {limit} (or a longer --limit)");
        Err(BadInput::new("--limit", expected, "it still running"))
    }

    /// Returns the warp to trace, which must be in the launch.
    fn watch(&self, dim: &Dim) -> Result<Watch, BadInput> {
        let block = dims("--trace-block", &self.trace_block, 0)?;
        if (0..3).any(|i| block[i] >= dim.grid[i]) {
            let expected = format!("a block of the grid {:?}, from 0,0,0", dim.grid);
            return Err(BadInput::new("--trace-block", expected, &self.trace_block));
        }
        let threads: u64 = dim.block.iter().map(|&n| u64::from(n)).product();
        let warps = threads.div_ceil(32);
        if u64::from(self.trace_warp) >= warps {
            let expected = format!("a number below {warps}, the warps of a block");
            return Err(BadInput::new("--trace-warp", expected, self.trace_warp));
        }
        if self.trace_steps > MAX_STEPS {
            let expected = format!("at most {MAX_STEPS}");
            return Err(BadInput::new("--trace-steps", expected, self.trace_steps));
        }
        Ok(Watch {
            block,
            warp: self.trace_warp,
            steps: self.trace_steps,
        })
    }
}

fn dims(flag: &str, text: &str, rest: u32) -> Result<[u32; 3], BadInput> {
    triple(text, rest).map_err(|expected| BadInput::new(flag, expected, format!("\"{text}\"")))
}
