//! `workbook ops`: every op on the shapes of the models at every level, as a table and JSON.

mod measured;
pub mod peers;
mod recorder;
mod roofline;
mod shapes;
pub mod table;
mod times;

use std::path::{Path, PathBuf};

use anyhow::Result;
use benches::{machine, ops};
use candle_core::DType;
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
use cli::note_tables;
use data::BadInput;
use results::{OpResults, OpRow};

use crate::compare::root;
use crate::record::folder::{Drawing, Named, figures, save};
use crate::record::{Records, Run, written};
use recorder::Recorder;
pub use recorder::timed_row;

/// Time every op at every level, on the shapes of the models
#[derive(Debug, Clone, Args)]
pub struct OpsArgs {
    /// Only ops whose name contains this
    #[arg(value_name = "FILTER", default_value = "")]
    pub filter: String,
    /// dtype of weights and activations; several are measured separately
    #[arg(long, value_enum, num_args = 1.., default_value = "f32")]
    pub dtype: Vec<Precision>,
    /// Where to run: auto (a GPU if there is one), cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Choice,
    /// Number of samples for each op, shape and level
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Also measure PyTorch, with this Python; needs the packages torch and safetensors
    #[arg(long, value_name = "PYTHON")]
    pub peers: Option<String>,
    /// Number of PyTorch processes that compile in parallel before anything is timed
    #[arg(long, value_name = "N", default_value_t = 1, requires = "peers", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub peer_processes: u32,
    /// Also record the results in benches/results/ops/NAME.json, and draw them
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
}

/// Measures, prints a table an op, and writes what `args` asks for.
pub fn run(args: &OpsArgs) -> Result<()> {
    let root = root()?;
    named(&args.filter)?;
    let device = args.device.open()?;
    let python = args.peers.as_deref();
    let peers = peers::Peers::new(python, &device, args.samples, args.peer_processes)?;
    let mut recorder = Recorder::new(&device, args, peers.as_ref())?;
    let mut results = OpResults::new(machine::describe(&device, &root)?);
    let run = Run::Ops(results.clone());
    let record = Records::named(&root, args.record.as_deref(), &run)?;
    let figures = figures(&root, results.kind)?;
    note_tables(&device)?;
    data::println!("{}\n{}", results.machine, table::legend(&device));
    for dtype in &args.dtype {
        recorder.draw(DType::from(*dtype))?;
        ops::all(&mut recorder)?;
    }
    recorder.print();
    results.rows = recorder.rows;
    if let Some(peers) = &peers {
        save(&figures, &results)?; // whatever becomes of the peers
        data::println!();
        peers.measure(&root, &mut results)?;
        data::print!("{}", table::losses(&results, 1.));
    }
    save(&figures, &results)?;
    data::println!("figures  {}", figures.display());
    written(record, Run::Ops(results))
}

/// Whether an op has a name that contains `filter`.
fn named(filter: &str) -> Result<(), BadInput> {
    if ops::ops().any(|op| op.name.contains(filter)) {
        Ok(())
    } else {
        let ops: Vec<&str> = ops::ops().map(|op| op.name).collect();
        let expected = format!("part of one of these names: {}", ops.join(", "));
        Err(BadInput::new("FILTER", expected, format!("{filter:?}")))
    }
}

/// The record whose times [`write_measured`] writes.
const MEASURED: &str = "h200";

/// Draws the recorded ops: times level by level, times by shape, and rooflines.
pub fn redraw(root: &Path, records: &Named<OpRow>) -> Result<Vec<Drawing>> {
    let drawn = [
        times::redraw(root, records)?,
        shapes::redraw(root, records)?,
        roofline::redraw(root, records)?,
    ];
    Ok(drawn.concat())
}

/// Writes the recorded times of the kernels, tables and lines in headers, where the kernels' sources are, and returns the
/// paths of what changed.
pub fn write_measured(root: &Path, records: &Named<OpRow>) -> Result<Vec<PathBuf>> {
    match records.iter().find(|(name, _)| name == MEASURED) {
        Some((_, recorded)) if root.join(measured::KERNELS).exists() => {
            measured::rewrite(root, recorded)
        }
        _ => Ok(vec![]),
    }
}

#[cfg(test)]
mod tests {
    use benches::ops::{Bench, Contenders, Work};
    use candle_core::{Device, Tensor};

    use super::*;

    /// Notes what it is given to time.
    struct Names {
        device: Device,
        cases: Vec<(String, String)>,
    }

    impl Bench for Names {
        fn device(&self) -> &Device {
            &self.device
        }

        fn dtype(&self) -> DType {
            DType::F32
        }

        fn tensor(&self, _name: &str, shape: &[usize]) -> candle_core::Result<Tensor> {
            Tensor::ones(shape, DType::F32, &self.device)
        }

        fn times(
            &mut self,
            op: &str,
            shape: &str,
            _work: Work,
            _all: Contenders,
        ) -> candle_core::Result<()> {
            self.cases.push((op.into(), shape.into()));
            Ok(())
        }
    }

    /// Ops and shapes that `workbook ops` times on a CPU.
    pub fn timed() -> Result<Vec<(String, String)>> {
        let mut names = Names {
            device: Device::Cpu,
            cases: vec![],
        };
        ops::all(&mut names)?;
        Ok(names.cases)
    }

    /// The reference says of these ops that a record without them is older.
    #[test]
    fn ops_that_the_reference_calls_timed_are_timed() -> Result<()> {
        let text = std::fs::read_to_string(root()?.join("book/reference.toml"))?;
        let remarks: toml::Table = toml::from_str(&text)?;
        let about = remarks["about"].as_array().expect("a list of remarks");
        let is_timed = |remark: &&toml::Value| remark.get("timed").is_some();
        let timed: Vec<&toml::Value> = about.iter().filter(is_timed).collect();
        assert!(!timed.is_empty());
        for remark in timed {
            let name = remark["op"].as_str().expect("a name");
            assert!(ops::ops().any(|op| op.name == name), "{name}");
        }
        Ok(())
    }

    #[test]
    fn no_case_is_timed_twice() -> Result<()> {
        let mut timed = timed()?;
        timed.sort();
        for pair in timed.windows(2) {
            assert!(pair[0] != pair[1], "{pair:?}");
        }
        Ok(())
    }
}
