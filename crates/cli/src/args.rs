//! Options that all programs share.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command, Parser, ValueEnum};
use data::BadInput;
use kernels::dispatch::Op;
use kernels::without::Idea;
use models::Ops;

use crate::device;
use crate::files::Output;

/// The model and its device.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// A folder with config.json and model.safetensors, a model of the Hugging Face Hub, the name of a preset, or tiny
    #[arg(long, value_name = "DIR|hf:ORG/NAME|PRESET", default_value = "tiny")]
    pub model: String,
    /// dtype of weights and activations
    #[arg(long, value_enum, default_value_t)]
    pub dtype: Precision,
    /// Where to run: auto (a GPU if there is one), cpu, cuda, cuda:N, or sim (simulate each GPU kernel and list its costs and faults)
    #[arg(long, default_value = "auto")]
    pub device: device::Choice,
    /// Seed of random weights and of sampling
    #[arg(long, default_value_t = 0, value_parser = whole::<u64>)]
    pub seed: u64,
}

/// Files for tensors, swapped ops, and tracing.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Read input tensors from this file and write the results to --output; print nothing
    #[arg(long, value_name = "FILE.safetensors", requires = "output")]
    pub input: Option<PathBuf>,
    /// Write the output tensors to this file
    #[arg(long, value_name = "FILE.safetensors", requires = "input")]
    pub output: Option<PathBuf>,
    /// Run these ops at other levels, such as norm_linear=2,linear_residual=4; Ctrl-C ends one of your own that loops
    #[arg(long, value_name = "OP=LEVEL,…")]
    pub swap: Option<String>,
    /// Leave out ideas of level 5, such as overlap or dispatch, to see what they bring; a wrong name lists all
    #[arg(long, value_name = "IDEA,…", value_delimiter = ',')]
    pub without: Vec<Idea>,
    /// After the run, list the kernels that ran: calls, time, and the bytes and FLOPs that each op needs
    #[arg(long)]
    pub trace: bool,
    /// With --device sim: draw a roofline chart of the kernels [default roofline: an H200 in f32]
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub roofline: Option<PathBuf>,
    /// Memory bandwidth of the GPU in --roofline
    #[arg(long, value_name = "TB/S", requires = "roofline")]
    pub bandwidth: Option<f64>,
    /// Peak arithmetic throughput of the GPU in --roofline, in --dtype
    #[arg(long, value_name = "TFLOP/S", requires = "roofline")]
    pub peak: Option<f64>,
}

impl RunArgs {
    /// Returns `--input` and `--output` if they are given; the paths are checked before any work. All outputs, with
    /// `more` of the program's own, are different files, and none of them is `--input` or one of `inputs`.
    pub fn files(
        &self,
        more: Option<&Output>,
        inputs: &[PathBuf],
    ) -> Result<Option<(&Path, Output)>, BadInput> {
        let new = |path: &Option<PathBuf>| path.as_deref().map(Output::new).transpose();
        let (output, roofline) = (new(&self.output)?, new(&self.roofline)?);
        let outputs = output.iter().chain(&roofline).chain(more);
        let inputs = inputs.iter().chain(&self.input).map(PathBuf::as_path);
        Output::distinct(outputs, &inputs.collect::<Vec<_>>())?;
        match (&self.input, output) {
            (Some(input), Some(output)) => Ok(Some((input, output))),
            (None, None) => Ok(None),
            // clap does not require --input next to an option that excludes it.
            (None, Some(_)) => Err(BadInput::new("--output", "`--input` as well", "none")),
            (Some(_), None) => Err(BadInput::new("--input", "`--output` as well", "none")),
        }
    }
}

/// `on` or `off`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// The device to tune, and the file for the table.
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// Device to tune: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: device::Choice,
    /// Write the table to this file [default: your cache folder, where level 5 finds it]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// With --json: write a table for all GPUs, or all CPUs, that have no table of their own
    #[arg(long, requires = "json")]
    pub any: bool,
    /// Tune only these operations, such as matmul or rms_norm, and replace only their rules in the table
    #[arg(long = "op", value_name = "OP", value_delimiter = ',')]
    pub ops: Vec<Op>,
}

/// The choice of CUDA graphs.
#[derive(Debug, Clone, Copy, Args)]
pub struct CudaGraphArgs {
    /// Record a forward pass as a CUDA graph and replay it [default: on at level 5 on a GPU, off with --trace]
    #[arg(long, value_enum, value_name = "on|off", conflicts_with = "trace")]
    pub cuda_graph: Option<Switch>,
}

impl CudaGraphArgs {
    /// Whether forward passes of `ops` on `device` are recorded and replayed.
    ///
    /// # Errors
    /// [`BadInput`] if recording is asked for and `device` is no GPU.
    pub fn records(self, ops: &dyn Ops, device: &Device, trace: bool) -> Result<bool, BadInput> {
        match self.cuda_graph {
            Some(Switch::Off) => Ok(false),
            Some(Switch::On) if !device.is_cuda() => {
                let found = device::name(device);
                let expected = "a GPU, which a CUDA graph needs";
                Err(BadInput::new("--cuda-graph on", expected, found))
            }
            Some(Switch::On) => Ok(true),
            None => {
                let is_used = !trace && !Idea::CudaGraph.is_left_out();
                Ok(device.is_cuda() && ops.level() == 5 && is_used)
            }
        }
    }
}

/// The dtypes of the programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// 32 bits
    #[default]
    F32,
    /// bfloat16: the range of f32 with 8 bits of precision
    Bf16,
}

impl From<Precision> for DType {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::F32 => DType::F32,
            Precision::Bf16 => DType::BF16,
        }
    }
}

// Options of a program, without subcommands. (Not a doc comment, because clap would print it.)
#[derive(Parser)]
struct Program<T: Args> {
    #[command(flatten)]
    args: T,
}

/// Parses the options of this process.
///
/// # Errors
/// [`clap::Error`], which [`crate::run`] prints as one line; `--help` is one of them.
pub fn parse<T: Args>() -> Result<T, clap::Error> {
    let texts: Vec<OsString> = std::env::args_os().collect();
    Ok(options_of::<Program<T>>(&texts)
        .map_err(|error| without_level(error, &texts))?
        .args)
}

/// A program of one level has no `--level`; says which command has it.
fn without_level(error: clap::Error, texts: &[OsString]) -> clap::Error {
    let is_level = |value: &ContextValue| match value {
        ContextValue::String(option) => option.split('=').next() == Some("--level"),
        _ => false,
    };
    let option = error.get(ContextKind::InvalidArg);
    if error.kind() != ErrorKind::UnknownArgument || !option.is_some_and(is_level) {
        return error;
    }
    let name = texts.first().map(Path::new).and_then(Path::file_stem);
    let name = name.unwrap_or_default().to_string_lossy();
    if !["lm", "vit", "gnn"].contains(&&*name) {
        return error;
    }
    let level = texts.iter().filter_map(|text| text.to_str());
    let level = level.skip_while(|text| text.split('=').next() != Some("--level"));
    let level: Vec<&str> = level.flat_map(|text| text.split('=')).collect();
    let level = level.get(1).filter(|text| !text.starts_with('-'));
    let level = level.unwrap_or(&"LEVEL");
    let line = format!(
        "--level: expected none, because this example runs the level of its folder, found {level}; type \
         `cargo run --release -- {name} --level {level}`, or `--swap OP={level}` here for one method"
    );
    clap::Error::raw(ErrorKind::UnknownArgument, line)
}

/// Parses the options of this process. A negative number after an option that takes numbers counts as its
/// value, so the option can accept it or reject it by name; by default clap would look for an option of that
/// name.
///
/// # Errors
/// See [`parse`].
pub fn options<P: Parser>() -> Result<P, clap::Error> {
    options_of(std::env::args_os())
}

fn options_of<P: Parser>(
    texts: impl IntoIterator<Item: Into<OsString> + Clone>,
) -> Result<P, clap::Error> {
    let mut command = as_read(P::command());
    let matches = command
        .try_get_matches_from_mut(texts)
        .map_err(|error| command_line::with_requirer(error, &P::command()))?;
    P::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// Changes a command and all its subcommands: numbers below 0 are values, and a missing subcommand is named in one line like
/// any other mistake, where clap would print the help.
fn as_read(command: Command) -> Command {
    let allow = |arg: Arg| {
        if takes_numbers(&arg) {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    };
    command
        .arg_required_else_help(false)
        .mut_args(allow)
        .mut_subcommands(as_read)
}

fn takes_numbers(arg: &Arg) -> bool {
    let of = arg.get_value_parser().type_id();
    let is = |number: TypeId| arg.get_action().takes_values() && of == number;
    is(TypeId::of::<u8>())
        || is(TypeId::of::<u16>())
        || is(TypeId::of::<u32>())
        || is(TypeId::of::<u64>())
        || is(TypeId::of::<usize>())
        || is(TypeId::of::<levels::Name>())
        || is(TypeId::of::<f32>())
        || is(TypeId::of::<f64>())
}

/// Parses a count or a seed. (clap's own parser reports `invalid digit` for negative numbers.)
///
/// # Errors
/// The expected number; the maximum only if the number is too large.
pub fn whole<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.parse::<u64>().ok().and_then(|n| n.try_into().ok());
    let too_large = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.ok_or_else(|| {
        if too_large {
            // All ones in as many bits as the type has.
            format!("expected at most {}", u64::MAX >> (64 - 8 * size_of::<N>()))
        } else {
            "expected a whole number from 0 up".into()
        }
    })
}

/// The long help of a program's options, on one line.
#[cfg(test)]
pub(crate) fn help_of<T: Args>() -> String {
    let mut command = T::augment_args(clap::Command::new(""));
    let help = command.render_long_help().to_string();
    let words: Vec<&str> = help.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Parser)]
    struct Numbers {
        #[arg(long)]
        level: Option<u8>,
        #[arg(long, value_parser = whole::<usize>)]
        count: Option<usize>,
        #[arg(long, allow_negative_numbers = true)]
        grid: Option<String>,
        #[arg(long)]
        name: Option<String>,
        #[arg(short)]
        x: bool,
        #[command(subcommand)]
        below: Option<Below>,
    }

    #[derive(Debug, PartialEq, clap::Subcommand)]
    enum Below {
        Draw {
            #[arg(long)]
            heat: f64,
        },
    }

    fn read(texts: &[&str]) -> Result<Numbers, String> {
        let texts = ["program"].iter().chain(texts);
        options_of(texts).map_err(|e| command_line::mistake(&e))
    }

    #[test]
    fn a_negative_number_is_the_value_of_the_option_before_it() {
        let error = |texts: &[&str]| read(texts).unwrap_err();
        let level = error(&["--level", "-1"]);
        assert!(
            level.contains("--level: expected a whole number from 0 to 255, found -1"),
            "{level}"
        );
        let count = error(&["--count", "-1"]);
        let expected = "--count: expected a whole number from 0 up, found -1";
        assert!(count.contains(expected), "{count}");
        let large = error(&["--count", "18446744073709551616"]);
        assert!(large.contains("expected at most 1844"), "{large}");
        let said = whole::<u32>("4294967296").unwrap_err();
        assert_eq!(said, "expected at most 4294967295");
        let below = read(&["draw", "--heat", "-0.5"]).unwrap().below;
        assert_eq!(below, Some(Below::Draw { heat: -0.5 }));
        let grid = read(&["--grid", "-1", "-x"]).unwrap();
        assert_eq!((grid.grid.as_deref(), grid.x), (Some("-1"), true));
    }

    #[test]
    fn a_program_of_one_level_says_which_command_takes_a_level() {
        #[derive(Debug, Args)]
        struct Options {
            #[arg(long)]
            model: Option<String>,
        }
        let error = |texts: &[&str]| {
            let texts: Vec<OsString> = texts.iter().map(OsString::from).collect();
            let read = options_of::<Program<Options>>(&texts);
            let read = read.map(|program| program.args.model);
            command_line::mistake(&without_level(read.unwrap_err(), &texts))
        };
        let expected = "--level: expected none, because this example runs the level of its folder, found mine; type \
                        `cargo run --release -- lm --level mine`, or `--swap OP=mine` here for one method";
        assert_eq!(
            error(&["target/release/examples/lm", "--level", "mine"]),
            expected
        );
        assert_eq!(error(&["lm", "--model", "tiny", "--level=mine"]), expected);
        let other = error(&["lm", "--levels", "mine"]);
        assert!(
            other.contains("expected one of its options, found --levels"),
            "{other}"
        );
    }

    #[test]
    fn elsewhere_a_negative_number_is_no_value() {
        for texts in [&["--name", "-1"][..], &["-1"], &["--level", "-x"]] {
            assert!(read(texts).is_err(), "{texts:?}");
        }
    }
}
