//! The program of the language model.

mod generation;
mod prompt;
mod steps;
mod tensors;
mod text;

use std::process::ExitCode;

use candle_core::{Device, Tensor};
use clap::Args;
use data::BadInput;
use levels::Name;
use models::Sampling;

use crate::args::{CudaGraphArgs, ModelArgs, RunArgs, parse, whole};
use crate::load::{self, Request};
use crate::own::{self, Program};
use crate::simulation::simulated;
use crate::trace::traced;

/// Continues a text.
#[derive(Debug, Clone, Args)]
pub struct LmArgs {
    /// Which model, and on what.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Tensors from a file and into one.
    #[command(flatten)]
    pub run: RunArgs,
    /// Launch by launch, or recorded.
    #[command(flatten)]
    pub cuda_graph: CudaGraphArgs,
    /// Text to continue; for the text of a file: --prompt "$(cat FILE)"
    #[arg(long, value_name = "TEXT", conflicts_with = "input")]
    pub prompt: Option<String>,
    /// Maximum number of new tokens [default: 120, or 16 with --device sim]
    #[arg(long, value_name = "N", conflicts_with = "input", value_parser = whole::<usize>)]
    pub max_tokens: Option<usize>,
    /// Sampling temperature; 0 always takes the most probable token [default: 0, or 1
    /// with --top-k or --top-p]
    #[arg(long, value_name = "X", conflicts_with = "input")]
    pub temperature: Option<f64>,
    /// Sample from the K most probable tokens
    #[arg(long, value_name = "K", conflicts_with = "input", value_parser = whole::<usize>)]
    pub top_k: Option<usize>,
    /// Sample from the smallest set of tokens whose total probability reaches P
    #[arg(long, value_name = "P", conflicts_with = "input")]
    pub top_p: Option<f64>,
    /// With --input: continue each row greedily by exactly N tokens, and also write `tokens`
    #[arg(long, value_name = "N", requires = "input", value_parser = whole::<usize>)]
    pub generate: Option<usize>,
    /// Text that was given without `--prompt`.
    #[arg(hide = true)]
    pub text: Option<String>,
}

impl LmArgs {
    fn sampling(&self) -> Result<Sampling, BadInput> {
        let check = |ok: bool, option: &str, expected: &str, found: String| {
            if ok {
                Ok(())
            } else {
                Err(BadInput::new(option, expected, found))
            }
        };
        if let Some(x) = self.temperature {
            // Below this, a logit divided by it may overflow f32.
            let ok = x == 0. || x.is_finite() && x >= 1e-6;
            let expected = "0, or a finite number of at least 0.000001";
            check(ok, "--temperature", expected, format!("{x:?}"))?;
        }
        if let Some(k) = self.top_k {
            check(k > 0, "--top-k", "at least 1", k.to_string())?;
        }
        if let Some(p) = self.top_p {
            let ok = p > 0. && p <= 1.;
            check(
                ok,
                "--top-p",
                "a number above 0 and at most 1",
                p.to_string(),
            )?;
        }
        let draws = self.top_k.is_some() || self.top_p.is_some();
        let temperature = self.temperature.unwrap_or(if draws { 1. } else { 0. });
        let seed = self.model.seed;
        Ok(Sampling::new(temperature, self.top_k, self.top_p, seed))
    }
}

/// Runs the whole program at `level`, with the options of this process.
pub fn main(level: u8) -> ExitCode {
    crate::run(|| {
        let args: LmArgs = parse()?;
        let program = Program::Example { model: "lm", level };
        own::run_with(program, &own::names_in(args.run.swap.as_deref()))?;
        run(&args, &Name::Number(level))
    })
}

/// Continues the prompt of `args`, or runs on its tensors.
pub fn run(args: &LmArgs, level: &Name) -> anyhow::Result<()> {
    if let Some(text) = &args.text {
        let expected = "the text in quotes after an option: `--prompt \"TEXT\"`";
        return Err(BadInput::new("lm", expected, format!("{:?}", data::short(text))).into());
    }
    let files = args.run.files(None, &load::files(&args.model, "lm", &[]))?;
    if let (Some(n), None) = (args.generate, &files) {
        return Err(BadInput::new(format!("--generate {n}"), "`--input` as well", "none").into());
    }
    let sampling = args.sampling()?;
    simulated(&args.model, &args.run, || {
        let request = Request::new(&args.model)?;
        let ops = &*args.run.ops(&request, models::lm::OPS, level)?;
        let loaded = load::lm(&request)?;
        let trace = args.run.trace;
        let recorded = args.cuda_graph.records(ops, &request.device, trace)?;
        traced(trace, &request.device, || match files {
            Some((input, output)) => {
                let scores = args.run.scores(level, &request.device);
                tensors::run(args, ops, scores, &loaded.model, recorded, input, &output)
            }
            None => prompt::run(args, sampling, ops, level, &loaded, recorded),
        })
    })
}

/// Converts equally long rows of tokens to ids (B, T).
fn ids(rows: &[Vec<u32>], device: &Device) -> candle_core::Result<Tensor> {
    let length = rows.first().map_or(0, Vec::len);
    Tensor::from_vec(rows.concat(), (rows.len(), length), device)
}
