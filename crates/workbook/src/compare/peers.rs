//! The models in PyTorch, measured by `benches/peers/peers.py` in the same run.

mod export;
mod lines;

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use benches::Model;
use candle_core::{Device, DeviceLocation};
use clap::{Args, ValueEnum};
use cli::load::Request;
use cli::memory;
use cli::progress::Waiting;
use data::BadInput;
use tempfile::TempDir;

use lines::Line;
use results::Results;

/// Path of the program, in the repository or in a copy of the files for a measurement.
const PROGRAM: &str = "benches/peers/peers.py";

/// Other frameworks to measure, and their modes.
#[derive(Debug, Clone, Args)]
pub struct PeerArgs {
    /// Also measure PyTorch, with this Python; needs the packages torch and safetensors, and torch_geometric for pyg
    #[arg(long, value_name = "PYTHON")]
    pub peers: Option<String>,
    /// Modes of PyTorch to measure [default: on a CPU all modes it has, on a GPU all but compile]
    #[arg(long, value_enum, value_name = "MODE", num_args = 1.., requires = "peers")]
    pub peer_modes: Vec<Mode>,
    /// Only workloads whose full name, such as lm.readme.decode.f32, contains one of these
    #[arg(long, value_name = "TEXT", num_args = 1.., requires = "peers")]
    pub peer_cases: Vec<String>,
    /// Time limit of each mode for its preparation, mostly compilation, in seconds
    #[arg(long, value_name = "N", default_value_t = 300, requires = "peers", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub peer_limit: u32,
    /// Number of workloads to compile in parallel before any is timed
    #[arg(long, value_name = "N", default_value_t = 1, requires = "peers", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub peer_processes: u32,
}

/// How PyTorch runs a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Op by op.
    Eager,
    /// Op by op, recorded as a CUDA graph.
    Graph,
    /// torch.compile with its defaults.
    Compile,
    /// torch.compile with CUDA graphs.
    ReduceOverhead,
    /// torch.compile with max-autotune, which times kernels to choose them; on a CPU with frozen weights.
    MaxAutotune,
    /// The code of max-autotune in a CUDA graph recorded by hand, without guards before the launch.
    MaxAutotuneGraph,
    /// The same, with kernels that start before the one before has ended: programmatic dependent launch.
    MaxAutotunePdl,
    /// Op by op with the layers of PyTorch Geometric; the graph transformer only.
    Pyg,
}

impl Mode {
    /// Modes on a CPU; the others need CUDA graphs.
    const ON_CPU: [Self; 4] = [Self::Eager, Self::Compile, Self::MaxAutotune, Self::Pyg];

    /// Default modes of a device.
    fn all(device: &Device) -> Vec<Self> {
        if device.is_cpu() {
            Self::ON_CPU.to_vec()
        } else {
            vec![
                Self::Eager,
                Self::Graph,
                Self::ReduceOverhead,
                Self::MaxAutotune,
                Self::MaxAutotuneGraph,
                Self::MaxAutotunePdl,
                Self::Pyg,
            ]
        }
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or(String::new(), |value| value.get_name().to_string())
    }
}

/// Exported workloads, and the program that measures them.
pub struct Peers {
    folder: TempDir,
    command: Command,
    notes: Vec<String>,
}

impl Peers {
    /// Writes every workload of `cases` to a temporary folder: weights, inputs, and the logits of level 1,
    /// which PyTorch's are compared with. `None` if no other framework is asked for.
    ///
    /// # Errors
    /// [`BadInput`] for a mode that the device lacks, a Python without PyTorch, or filters that match no
    /// workload.
    pub fn prepare(
        root: &Path,
        args: &PeerArgs,
        device: &Device,
        samples: u32,
        cases: &[(Model, &Request)],
    ) -> Result<Option<Self>> {
        let Some(python) = &args.peers else {
            return Ok(None);
        };
        let modes = modes(&args.peer_modes, device)?;
        let _preparing = Waiting::new("writing weights and inputs for PyTorch");
        let mut notes = vec![described(&torch(python, device)?, device)];
        if device.is_cpu() && modes.contains(&Mode::MaxAutotune) {
            notes.push("PyTorch compile max-autotune: with frozen weights".into());
        }
        let folder = tempfile::tempdir()?;
        let wanted = |name: &str| {
            args.peer_cases.is_empty() || args.peer_cases.iter().any(|part| name.contains(part))
        };
        let mut written = 0;
        for (model, request) in cases {
            written += export::export(*model, request, folder.path(), &wanted)?;
        }
        if written == 0 {
            let expected = "part of a workload's name, such as lm.tiny.decode.f32";
            return Err(BadInput::new("--peer-cases", expected, args.peer_cases.join(" ")).into());
        }
        let command = command(root, python, args, device, samples, &modes, folder.path());
        Ok(Some(Self {
            folder,
            command,
            notes,
        }))
    }

    /// Measures all workloads and appends the rows to those of the levels; calls `keep` with the results
    /// after each.
    ///
    /// # Errors
    /// If the program cannot be started, fails, or prints invalid lines.
    pub fn measure(
        mut self,
        results: &mut Results,
        keep: impl Fn(&Results) -> Result<()>,
    ) -> Result<()> {
        results.notes.append(&mut self.notes);
        let mut child = Child(self.command.stdout(Stdio::piped()).spawn()?);
        let lines = child.0.stdout.take().map(BufReader::new);
        for line in lines.into_iter().flat_map(BufRead::lines) {
            let line = line?;
            let line: Line = serde_json::from_str(&line)
                .with_context(|| format!("{PROGRAM}: expected a line of JSON, found {line:?}"))?;
            data::println!("{line}");
            line.add_to(results)?;
            keep(results)?;
        }
        ensure!(child.0.wait()?.success(), "{PROGRAM}: it failed");
        Ok(self.folder.close()?)
    }
}

/// Returns the requested modes, or all modes of the device.
fn modes(asked: &[Mode], device: &Device) -> Result<Vec<Mode>, BadInput> {
    let graphs = |mode: &&Mode| !Mode::ON_CPU.contains(mode);
    match (asked, asked.iter().find(graphs)) {
        ([], _) => Ok(Mode::all(device)),
        (_, Some(mode)) if device.is_cpu() => Err(BadInput::new(
            "--peer-modes",
            "eager, compile, max-autotune or pyg on a CPU",
            mode.name(),
        )),
        _ => Ok(asked.to_vec()),
    }
}

/// Returns PyTorch's version; finds an unusable Python before anything is measured.
///
/// # Errors
/// If Python cannot be started, or lacks the packages.
pub fn torch(python: &str, device: &Device) -> Result<String, BadInput> {
    let bad = |found: &str| {
        let expected = "a Python with torch and safetensors";
        Err(BadInput::new(
            "--peers",
            expected,
            format!("{python:?}: {found}"),
        ))
    };
    if cfg!(windows) {
        let expected = "Linux or macOS, whose signals keep the time limits";
        return Err(BadInput::new("--peers", expected, "Windows"));
    }
    let import = format!(
        "import torch, safetensors.torch; torch.zeros(1, device='{}'); print(torch.__version__)",
        device_name(device)
    );
    match Command::new(python).args(["-c", &import]).output() {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
            if version.starts_with(|c: char| c.is_ascii_digit()) {
                Ok(version)
            } else {
                bad("no version of PyTorch")
            }
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            bad(text.lines().last().unwrap_or("it failed without a message"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => bad("no such program"),
        Err(error) => bad(&error.to_string()),
    }
}

/// A child process that is killed on drop.
pub struct Child(pub std::process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        // It has ended, or will; there is nothing to do on failure.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A Python whose allocator keeps memory as ours does.
pub fn interpreter(python: &str) -> Command {
    let mut command = Command::new(python);
    command.envs(memory::environment());
    command
}

/// Describes PyTorch and its settings.
pub fn described(version: &str, device: &Device) -> String {
    if !device.is_cpu() {
        return format!("PyTorch {version}, f32 without TF32");
    }
    let threads = candle_core::utils::get_num_threads();
    let kept: Vec<String> = memory::environment()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let kept = kept.join(", ");
    format!(
        "PyTorch {version}, {threads} threads, freed memory kept as the levels keep it ({kept})"
    )
}

fn command(
    root: &Path,
    python: &str,
    args: &PeerArgs,
    device: &Device,
    samples: u32,
    modes: &[Mode],
    folder: &Path,
) -> Command {
    let program: PathBuf = root.join(PROGRAM);
    let threads = candle_core::utils::get_num_threads();
    let mut command = interpreter(python);
    command.arg(program).arg(folder).arg("--modes");
    command.args(modes.iter().map(|mode| mode.name()));
    command.args(["--device", &device_name(device)]);
    for (option, value) in [
        ("--samples", samples.to_string()),
        ("--threads", threads.to_string()),
        ("--limit", args.peer_limit.to_string()),
        ("--processes", args.peer_processes.to_string()),
    ] {
        command.args([option, &value]);
    }
    command
}

/// PyTorch's name of a device.
pub fn device_name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        _ => "cpu".into(),
    }
}
