//! `workbook sim`: runs a kernel of a PTX or CUDA file on no GPU, and says what is wrong with it and what it
//! costs.

mod nvrtc;
mod show;
mod text;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use cli::files::Output;
use data::BadInput;
use simt::case::{Operands, sizes};
use simt::{Argument, Case, Dim, Module, Options, Report, Schedule};

use text::{Text, bad_input};

/// Run a kernel of a PTX or CUDA file without a GPU: what is wrong with it, and what it costs
#[derive(Debug, Clone, Args)]
pub struct SimArgs {
    /// PTX; or CUDA, where NVRTC is found
    #[arg(value_name = "FILE.ptx|FILE.cu")]
    pub file: PathBuf,
    /// The kernel; may be left out when the file has one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Blocks
    #[arg(long, value_name = "X,Y,Z", default_value = "1")]
    pub grid: String,
    /// Threads of a block
    #[arg(long, value_name = "X,Y,Z", default_value = "32")]
    pub block: String,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub smem: u32,
    /// One a parameter: i32:64, null, f32:4096:random, f32:64x64:FILE.npy, u32:[0,3,5] …
    #[arg(
        long = "arg",
        value_name = "ARGUMENT",
        long_help = "One a parameter, in their order:\n\
            \x20 i32:64, f32:1e-5, u64:0xff  a number (u8 to u64, i8 to i64, f16, bf16, f32, f64)\n\
            \x20 f32:4096:random             a buffer of that many; or 64x64:random\n\
            \x20     random or random:N      floats in [-1, 1) or [-N, N); integers, any or 0..N\n\
            \x20     zeros, iota, a number   0 everywhere; 0, 1, 2, …; that number everywhere\n\
            \x20     poison                  nothing: to read it before it is written is a finding\n\
            \x20     FILE.npy                the array of that file\n\
            \x20 u32:[0,3,5], f32:FILE.npy   a buffer as long as what is in it\n\
            \x20 f32:4096:zeros@16           an address inside a buffer: of its element 16\n\
            \x20 same:0, same:0@16           an address in the buffer of argument 0\n\
            \x20 null, hex:0a0b0c0d          the null pointer; a struct by its bytes"
    )]
    pub args: Vec<String>,
    /// After the launch, save the buffer of argument K, counted from 0
    #[arg(long, value_name = "K:FILE.npy")]
    pub dump: Vec<String>,
    /// Write the whole report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also what each line costs
    #[arg(long)]
    pub lines: bool,
    /// How lanes that part take turns: a right kernel does the same under all
    #[arg(long, value_enum, default_value_t)]
    pub schedule: Order,
    /// Of random numbers, and of the random schedule
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Instructions of a block's warps before it is called endless
    #[arg(long, value_name = "N", default_value_t = Options::default().fuel)]
    pub fuel: u64,
    /// One block after the other: findings are in the same words each time
    #[arg(long)]
    pub serial: bool,
    /// The virtual architecture that CUDA is compiled for
    #[arg(long, value_name = "NAME", default_value = "compute_75")]
    pub arch: String,
}

/// [`Schedule`] on a command line.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum Order {
    /// Each side of a branch runs to where the sides meet
    #[default]
    PostDominator,
    /// The lanes that are furthest behind first
    MinPc,
    /// The lanes that are furthest ahead first
    MaxPc,
    /// By chance, the same for the same seed
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

/// Runs the kernel, prints what came of it and writes what `args` asks for; whether nothing is wrong.
pub fn run(args: &SimArgs) -> Result<bool> {
    let outputs = Outputs::new(args)?;
    let case = args.case()?;
    let text = Text::read(&args.file, &args.arch)?;
    let module = Module::parse(&text.ptx).map_err(|e| text.bad_input(e))?;
    let kernel = case.kernel(&module).map_err(|e| text.bad_input(e))?;
    let mut operands = case.operands(args.seed, "".as_ref()).map_err(bad_input)?;
    outputs.check(&operands)?;
    let options = Options {
        fuel: args.fuel,
        schedule: args.schedule.into(),
        seed: args.seed,
        parallel: !args.serial,
        ..Options::default()
    };
    let Operands {
        dim,
        buffers,
        args: arguments,
        ..
    } = &mut operands;
    let report = kernel
        .launch(*dim, buffers, arguments, &options)
        .map_err(|e| text.bad_input(e))?;
    outputs.write(&report, &operands)?;
    std::io::stdout().write_all(show::all(&report, &text, args.lines).as_bytes())?;
    Ok(report.is_clean())
}

impl SimArgs {
    /// The launch that the options describe.
    fn case(&self) -> Result<Case, BadInput> {
        let dims = |flag: &str, text: &str| {
            sizes(text).map_err(|expected| BadInput::new(flag, expected, format!("\"{text}\"")))
        };
        let args = self.args.iter().map(|text| text.parse::<Argument>());
        Ok(Case {
            entry: self.entry.clone(),
            dim: Dim {
                grid: dims("--grid", &self.grid)?,
                block: dims("--block", &self.block)?,
                smem: self.smem,
            },
            args: args.collect::<Result<_, _>>().map_err(bad_input)?,
        })
    }
}

/// The files that are going to be written, looked at before any work.
struct Outputs {
    json: Option<Output>,
    dumps: Vec<(usize, Output)>,
}

impl Outputs {
    fn new(args: &SimArgs) -> Result<Self, BadInput> {
        let json = args.json.as_deref().map(Output::new).transpose()?;
        let dump = |text: &String| {
            let split = text.split_once(':');
            let parts = split.and_then(|(k, file)| Some((k.parse().ok()?, file)));
            let (argument, file) = parts.ok_or_else(|| {
                BadInput::new("--dump", "K:FILE.npy, K the number of an argument", text)
            })?;
            Ok((argument, Output::new(file.as_ref())?))
        };
        let dumps = args
            .dump
            .iter()
            .map(dump)
            .collect::<Result<_, BadInput>>()?;
        Ok(Self { json, dumps })
    }

    /// Whether the arguments to save are buffers.
    fn check(&self, operands: &Operands) -> Result<(), BadInput> {
        let buffers: Vec<String> = (0..operands.args.len())
            .filter(|&k| operands.buffer(k).is_some())
            .map(|k| k.to_string())
            .collect();
        let expected = match buffers.is_empty() {
            true => "an argument that is a buffer".into(),
            false => format!("the number of a buffer: {}", buffers.join(", ")),
        };
        match self
            .dumps
            .iter()
            .find(|(k, _)| operands.buffer(*k).is_none())
        {
            Some((k, _)) => Err(BadInput::new("--dump", expected, k)),
            None => Ok(()),
        }
    }

    fn write(&self, report: &Report, operands: &Operands) -> Result<()> {
        if let Some(output) = &self.json {
            output.write(serde_json::to_string_pretty(report)?.as_bytes())?;
        }
        for (argument, output) in &self.dumps {
            output.write(&operands.npy(*argument).map_err(bad_input)?)?;
        }
        Ok(())
    }
}
