//! `workbook sim`: runs a kernel of a PTX or CUDA file without a GPU, and reports its defects and costs.

mod args;
mod findings;
mod left;
mod outputs;
mod show;
pub mod text;

use std::path::Path;

use anyhow::Result;
pub use cli::nvrtc;
use cli::progress::Waiting;
use console::Term;
use data::BadInput;
use simt::case::{Element, Operands};
use simt::{Case, Kernel, Launch, Module};

pub use args::SimArgs;
use outputs::Outputs;
use text::{Text, bad_input};

/// Targets that CUDA is compiled for by default, one after the other.
const TARGETS: [&str; 3] = ["sm_75", "sm_80", "sm_90a"];

/// Reads a file and the kernel in it. CUDA is compiled for `target`, by default for the first of [`TARGETS`] that has what the
/// kernel needs.
fn kernel(file: &Path, target: Option<&str>, case: &Case) -> Result<(Text, Kernel), BadInput> {
    let read = |target: &str| {
        let text = Text::read(file, &target.replace("sm_", "compute_"))?;
        let module = Module::parse(&text.ptx).map_err(|e| text.bad_input(e))?;
        if module.entries().next().is_none() {
            return Err(BadInput::new(&text.name, "PTX with a kernel", "none"));
        }
        let kernel = case.kernel(&module).map_err(|e| text.bad_input(e))?;
        Ok((text, kernel))
    };
    let (first, others) = match target {
        Some(target) => (target, &[][..]),
        None if text::is_cuda(file) => (TARGETS[0], &TARGETS[1..]),
        None => (TARGETS[0], &[][..]),
    };
    others
        .iter()
        .fold(read(first), |found, target| match found {
            Err(bad) if !nvrtc::is_missing(&bad) => read(target),
            found => found,
        })
}

/// Maximum bytes of all buffers: each takes four while the kernel runs.
const MAX_BYTES: u64 = 1 << 28;

/// Runs the kernel, prints what came of it and writes what `args` asks for; whether nothing is wrong.
pub fn run(args: &SimArgs) -> Result<bool> {
    let file = args.file()?;
    let case = args.case()?;
    let outputs = Outputs::new(args, &case)?;
    let (text, kernel) = kernel(file, args.arch.as_deref(), &case)?;
    let mut operands = case.operands(args.seed, "".as_ref()).map_err(bad_input)?;
    fits(&operands.layouts)?;
    outputs.check(&operands)?;
    operands.name_buffers(&kernel, &text.parameters(kernel.name()));
    let options = args.options(&operands.dim)?;
    let clusters = args.clusters()?;
    let given = operands.clone();
    let Operands {
        dim,
        buffers,
        args: arguments,
        ..
    } = &mut operands;
    let simulating = Waiting::new(format!("simulating {}", text.name));
    let launch = Launch::new(&kernel, *dim, arguments);
    let launch = clusters.map_or(launch, |size| launch.in_clusters(size));
    let report = launch
        .run(buffers, &options)
        .map_err(|e| text.bad_input(e))?;
    let left = left::all(
        &kernel,
        clusters,
        &given,
        &operands,
        &options,
        report.is_clean(),
        args.costs() == show::Costs::Nothing,
    )?;
    drop(simulating);
    args.in_time(&options)?;
    let wrote = outputs.write(&report, &operands, options.trace, &text.ptx)?;
    let size = Term::stdout().size_checked();
    let width = size.map(|(_, columns)| columns.into());
    let shown = show::all(&report, &text, args.costs(), &(left + &wrote), width);
    // Escapes in the kernel's output and in its names must not act on a terminal.
    data::print!("{}", data::plain(&shown));
    Ok(report.is_clean())
}

fn fits(layouts: &[(Element, Vec<u64>)]) -> Result<(), BadInput> {
    let bytes = |(element, shape): &(Element, Vec<u64>)| {
        element.bytes() as u64 * shape.iter().product::<u64>()
    };
    match layouts.iter().map(bytes).sum::<u64>() {
        ..=MAX_BYTES => Ok(()),
        found => {
            let expected = format!("at most {MAX_BYTES} bytes in all buffers");
            Err(BadInput::new("arguments", expected, found))
        }
    }
}

#[test]
fn buffers_together_are_bounded() {
    let buffers = |n| fits(&[(Element::F32, vec![1 << 25]), (Element::F32, vec![2, n])]);
    assert_eq!(buffers(1 << 24), Ok(()));
    assert_eq!(buffers(1 + (1 << 24)).unwrap_err().found, "268435464");
}
