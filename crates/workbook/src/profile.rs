//! `workbook profile`: the time of each op in a forward pass, compared with the device's limits.

mod files;
mod which;

use std::path::{Path, PathBuf};

use anyhow::Result;
use benches::{Workload, job, limits, machine};
use candle_core::{DType, Device};
use charts::Format;
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
use cli::files::Output;
use cli::load::Request;
use cli::note_tables;
use cli::own;
use cli::progress::Waiting;
use data::BadInput;
use kernels::launch::noted;
use levels::Name;
use levels::Selection;
use models::trace::Launched;
use models::trace::profile::{Limits, NOISY, Op, Profile, Profiler};

use crate::compare::memory::Peak;
use crate::compare::root;
use files::Subject;

/// Help text: the same names on NVIDIA's timeline.
const TIMELINE: &str = "\
In a build with the feature `cuda`, Nsight Systems shows the blocks of the model and the ops by name:
  nsys profile --trace cuda,nvtx target/release/workbook profile --model lm --samples 3
It needs the library libnvtx3interop.so.1 of the CUDA toolkit on the loader's path.";

/// Show where the time of a forward pass goes, op by op, compared with the limits of the device
#[derive(Debug, Clone, Args)]
#[command(after_help = TIMELINE)]
pub struct ProfileArgs {
    /// lm, vit or gnn as trained, the name of a preset, a folder with config.json and model.safetensors, or a model of
    /// the Hugging Face Hub
    #[arg(
        long,
        value_name = "lm|vit|gnn|PRESET|DIR|hf:ORG/NAME",
        default_value = "lm"
    )]
    pub model: String,
    /// Optimization level, or the name of your own, which Ctrl-C ends if it loops [default: the highest]
    #[arg(long, value_name = "N|NAME")]
    pub level: Option<Name>,
    /// Run these ops at other levels, such as norm_linear=2,linear_residual=4; Ctrl-C ends one of your own that loops
    #[arg(long, value_name = "OP=LEVEL,…")]
    pub swap: Option<String>,
    /// Only this workload of the model, such as prefill or decode
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// dtype of weights and activations
    #[arg(long, value_enum, default_value_t)]
    pub dtype: Precision,
    /// Where to run: auto (a GPU if there is one), cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Choice,
    /// Number of profiled runs of each workload, and of runs without the profiler
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Also write a table with one row per workload and op
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
    /// Also draw a chart of the time share of each op
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub svg: Option<PathBuf>,
}

impl ProfileArgs {
    fn level(&self) -> Name {
        let highest = || Name::Number(levels::highest());
        self.level.clone().unwrap_or_else(highest)
    }

    /// The level, and those of `--swap`.
    pub fn names(&self) -> Vec<Name> {
        let mut names = own::names_in(self.swap.as_deref());
        names.push(self.level());
        names
    }
}

/// A profiled workload.
pub struct Profiled {
    /// `prefill`
    pub workload: String,
    /// Profile of one forward pass, without the ops in `simulated`.
    pub profile: Profile,
    /// Ops with kernels of a learner, which a CPU only simulates, so that they have no time.
    pub simulated: Vec<Op>,
    /// Peak memory of a forward pass in bytes, without the weights.
    pub peak_bytes: u64,
}

/// Profiles, prints one table per workload, and writes the files that `args` asks for.
pub fn run(args: &ProfileArgs) -> Result<()> {
    let csv = args.csv.as_deref().map(|path| output("--csv", path, "csv"));
    let csv = csv.transpose()?;
    let chart = args.svg.as_deref().map(picture).transpose()?;
    let (model, name) = which::of(&args.model)?;
    let device = args.device.open()?;
    let machine = machine::describe(&device, &root()?)?;
    let name_of_level = args.level();
    let selection = Selection {
        level: &name_of_level,
        swap: args.swap.as_deref(),
        model_ops: model.ops(),
    };
    let (level, levels) = selection.ops(args.dtype.into(), &device, true)?;
    let subject = Subject {
        model: model.name(),
        name: &name,
        level: &name_of_level,
        dtype: DType::from(args.dtype).as_str(),
        on_gpu: device.is_cuda(),
    };
    let title = subject.title();
    let request = Request {
        model: name.clone(),
        dtype: args.dtype.into(),
        device: device.clone(),
        seed: 0,
    };
    let workloads = wanted(job::load(model, &request, &level, false)?, args)?;
    if levels.contains(&5) {
        note_tables(&device)?;
    }
    let measuring = Waiting::new("measuring the limits of the device");
    let limits = limits::measure(&device, request.dtype)?;
    drop(measuring);
    data::println!("{machine}");
    data::println!("limits, measured in this run: {limits}");
    data::println!("{}", legend(&device));

    let mut all = vec![];
    for workload in workloads {
        let which = match workload.job.forwards() {
            1 => "",
            _ => ", measured at the middle position",
        };
        data::println!("\n{title}, {}: {}{which}", workload.name, workload.input);
        let timing = Waiting::new(format!("timing {}", workload.name));
        let profiled = profile(workload, &device, args.samples as usize)?;
        drop(timing);
        data::print!("{}", table(&profiled, &limits));
        data::println!(
            "peak memory {}, beyond the weights",
            mib(profiled.peak_bytes)
        );
        all.push(profiled);
    }
    if let Some(output) = csv {
        output.write(&files::csv(subject, &all, &limits)?)?;
    }
    if let Some((output, format)) = chart {
        let title = format!("{title}, {}", subject.dtype);
        output.write(&files::chart(title, &all, &limits, format)?)?;
    }
    Ok(())
}

/// The table of a workload. Where ops were simulated, their time is in none of its figures.
fn table(profiled: &Profiled, limits: &Limits) -> String {
    let table = profiled.profile.table(limits);
    if profiled.simulated.is_empty() {
        return table;
    }
    // The sum and the whole have the simulator's time in them.
    let (ops, _) = table.split_once("ops together ").unwrap_or((&table, ""));
    let line = |op: &Op| format!("{}  –  simulated: {}\n", op.name, op.kernels.join(" + "));
    let lines: String = profiled.simulated.iter().map(line).collect();
    format!(
        "{ops}{lines}simulated: PTX that the simulator ran, whose time is no GPU's and no part of the shares;\n\
         the files leave these ops out.\n"
    )
}

/// Takes the ops with one of these launches out of a profile.
fn take_launched(profile: &mut Profile, launches: &[Launched]) -> Vec<Op> {
    let is_launched = |op: &Op| {
        let mut kernels = op.kernels.iter();
        kernels.any(|kernel| launches.iter().any(|launch| launch.kernel == *kernel))
    };
    let ops = std::mem::take(&mut profile.ops);
    let (launched, others) = ops.into_iter().partition(is_launched);
    profile.ops = others;
    launched
}

/// Explains the columns.
fn legend(device: &Device) -> String {
    let clock = if device.is_cpu() {
        ""
    } else {
        ", on the device's clock, between two events around each op.\n\
             The queue is filled before, so that the device does not wait for the host. Each op's time includes the events"
    };
    format!(
        "ms: median of one forward pass{clock}.\n\
         ~: a noisy time; the slow runs took more than {NOISY}× as long as the fast runs.\n\
         bytes, FLOPs: the minimum that the op needs.\n\
         of limit: the least time that these limits allow, divided by the time taken; by: the limit that counts.\n\
         in cache: faster than memory, because the operands were in the caches. at limit: as fast as the measured limit.\n\
         ran: the kernels of the op. At level 5, the entry that the table picked: one entry serves linear,\n\
         linear_residual, linear_gelu and linear_swiglu."
    )
}

/// Returns the selected workloads.
fn wanted(workloads: Vec<Workload>, args: &ProfileArgs) -> Result<Vec<Workload>, BadInput> {
    let Some(name) = &args.workload else {
        return Ok(workloads);
    };
    let names: Vec<String> = workloads.iter().map(|w| w.name.clone()).collect();
    let found: Vec<Workload> = workloads.into_iter().filter(|w| w.name == *name).collect();
    if found.is_empty() {
        Err(BadInput::new(
            "--workload",
            format!("one of {}", names.join(", ")),
            format!("{name:?}"),
        ))
    } else {
        Ok(found)
    }
}

/// Measures times and memory of one forward pass.
fn profile(workload: Workload, device: &Device, samples: usize) -> Result<Profiled> {
    let Workload { name, mut job, .. } = workload;
    let profiler = Profiler::new(device).repeats(samples);
    // `queue` does not wait for the device as `run` does, because the profiler fills the queue first.
    let mut profile = profiler.run_from(&mut job, |job| job.prepare_pass(), |job| job.queue())?;
    job.reset();
    let peak = Peak::begin(device)?;
    job.prepare()?;
    let (ran, launches) = noted(|| job.run());
    drop(ran?);
    let peak_bytes = peak.end()?;
    let on_cpu = if device.is_cpu() { &launches[..] } else { &[] };
    let simulated = take_launched(&mut profile, on_cpu);
    Ok(Profiled {
        workload: name,
        profile,
        simulated,
        peak_bytes,
    })
}

/// An output file with the right extension, checked before any work.
fn output(option: &str, path: &Path, extension: &str) -> Result<Output, BadInput> {
    if path.extension().is_some_and(|found| found == extension) {
        Output::new(path)
    } else {
        Err(BadInput::new(
            option,
            format!("a file that ends in .{extension}"),
            path.display(),
        ))
    }
}

fn picture(path: &Path) -> Result<(Output, Format), BadInput> {
    let format = Format::of(path);
    let format = format.ok_or_else(|| {
        BadInput::new("--svg", "a file that ends in .svg or .png", path.display())
    })?;
    Ok((Output::new(path)?, format))
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use models::trace::profile::Spread;

    use super::*;

    #[test]
    fn the_time_of_a_simulated_op_is_in_no_figure() {
        let op = |name, kernel: &'static str, ms| Op {
            name,
            kernels: vec![kernel.into()],
            calls: 1.,
            ms: Spread::of(&[ms]),
            needs: None,
        };
        let mut profile = Profile {
            ops: vec![
                op("linear", "linear_level1", 1.),
                op("embedding", "rows", 9.),
            ],
            together: Spread::of(&[10.]),
            whole: Spread::of(&[10.]),
            device: None,
            repeats: 1,
        };
        let launch = Launched {
            kernel: "rows".into(),
            grid: [1; 3],
            block: [32, 1, 1],
            smem: 0,
            registers: None,
        };
        assert!(take_launched(&mut profile, &[]).is_empty());
        let simulated = take_launched(&mut profile, &[launch]);
        let profiled = Profiled {
            workload: "decode".into(),
            profile,
            simulated,
            peak_bytes: 0,
        };
        let limits = Limits {
            bytes_per_s: 1e9,
            flops_per_s: 1e9,
        };
        let text = table(&profiled, &limits);
        assert!(
            text.contains("100.0%") && !text.contains("ops together"),
            "{text}"
        );
        assert!(text.contains("\nembedding  –  simulated: rows\n"), "{text}");
    }
}
