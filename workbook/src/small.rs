//! `workbook small`: small products by level 5 against candle and gemm, with what picking costs.

mod map;

use anyhow::{Context, Result};
use candle_core::Device;
use clap::Args;
use cli::device::Choice;
use kernels::dispatch::tune::{Measured, PICKED};
use level5::tuning;
use results::{OpResults, OpRow};

use crate::compare::{machine, record, root};
use crate::ops::peers::Peers;
pub use map::redraw;

/// On which device, how often, and whether to note it.
#[derive(Debug, Args)]
pub struct SmallArgs {
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Choice,
    /// Samples of each kernel and shape, taken in turns
    #[arg(long, value_name = "N", default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Time the same in PyTorch too, with this Python; it needs torch and safetensors
    #[arg(long, value_name = "PYTHON")]
    peers: Option<String>,
    /// Also write benches/results/small/NAME.json
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// How much slower than a library's the picked kernel may be.
const LOSS: f64 = 1.05;

/// What the table and the record show besides [`PICKED`].
const LIBRARIES: [&str; 2] = ["candle", "gemm_one_thread"];

/// Measures, prints a line a shape, with the losses marked, and writes what `args` asks for.
pub fn run(args: &SmallArgs) -> Result<()> {
    let root = root()?;
    let record = args.record.as_deref().map(record::checked).transpose()?;
    let device = args.device.open()?;
    let peers = Peers::new(args.peers.as_deref(), &device, args.samples)?;
    let mut results = OpResults::new(machine::describe(&device, &root)?);
    println!("{}", results.machine);
    println!(
        "{:<16} {:>9} {:>9} {:>9} {:>9}  picked, fastest",
        "µs", "candle", "gemm 1", "level 5", "fastest"
    );
    let mut lost = 0;
    let shapes = tuning::shapes();
    for problem in &shapes {
        let measured = Measured::with_picked(*problem, &device, args.samples as usize)?;
        lost += usize::from(print(&measured, &device)?);
        results.rows.extend(rows(&measured, &device));
    }
    println!(
        "{lost} of {} more than 5% behind the faster library",
        shapes.len()
    );
    if let Some(peers) = peers {
        peers.measure(&root, &mut results)?;
    }
    match record {
        Some(name) => {
            let path = root.join(format!("benches/results/small/{name}.json"));
            let folder = path.parent().unwrap_or(&root);
            std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
            record::save(&path, &results.json()?)?;
            map::redraw(&root)?
                .iter()
                .for_each(|path| println!("recorded {}", path.display()));
            Ok(())
        }
        None => Ok(()),
    }
}

/// `8x64x64x64`: the batch first where there is one.
fn shape(measured: &Measured) -> String {
    let p = &measured.problem;
    match p.batch {
        1 => format!("{}x{}x{}", p.m, p.n, p.k),
        batch => format!("{batch}x{}x{}x{}", p.m, p.n, p.k),
    }
}

/// A line; whether level 5 lost.
fn print(measured: &Measured, device: &Device) -> Result<bool> {
    let us = |name: &str| measured.us(name);
    let cell = |name: &str| us(name).map_or("–".into(), |us| format!("{us:.2}"));
    let level5 = us(PICKED).context("level 5 was not measured")?;
    let best = LIBRARIES
        .iter()
        .filter_map(|name| us(name))
        .fold(f64::INFINITY, f64::min);
    let lost = level5 > LOSS * best;
    let fastest = measured.times.iter().filter(|(name, _)| *name != PICKED);
    let (least, fastest) = fastest
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or((f64::NAN, ""), |&(name, us)| (us, name));
    println!(
        "{:<16} {:>9} {:>9} {level5:>9.2} {least:>9.2}  {}, {fastest}{}",
        shape(measured),
        cell("candle"),
        cell("gemm_one_thread"),
        tuning::picked(&measured.problem, device)?,
        if lost { ": lost" } else { "" }
    );
    Ok(lost)
}

fn rows(measured: &Measured, device: &Device) -> Vec<OpRow> {
    let shown = |name: &&(&str, f64)| name.0 == PICKED || LIBRARIES.contains(&name.0);
    let p = measured.problem;
    let row = |&(name, us): &(&str, f64)| OpRow {
        op: "matmul".into(),
        shape: shape(measured),
        level: name.into(),
        dtype: p.dtype.as_str().into(),
        host_us: us,
        device_us: (!device.is_cpu()).then_some(us),
        flops: Some(2 * (p.batch * p.m * p.n * p.k) as u64),
        ..OpRow::default()
    };
    measured.times.iter().filter(shown).map(row).collect()
}
