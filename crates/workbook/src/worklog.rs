//! `workbook worklog`: times each step of a worklog on a GPU, in turns with a library or a copy.

mod attention;
mod chart;
mod matmul;
mod softmax;

use anyhow::{Result, bail, ensure};
use benches::machine;
use benches::ops::Timed;
use benches::timer::Timer;
use candle_core::{Device, Tensor};
use clap::{Args, ValueEnum};
use cli::device::Choice;
use data::BadInput;
use results::{Kind, OpResults, OpRow};

use crate::compare::root;
use crate::ops::timed_row;
use crate::record::folder::{figures, save};
use crate::record::{Records, Run, written};
pub use chart::redraw;

/// Worklogs to time, the device, the number of samples, and whether to record them.
#[derive(Debug, Args)]
pub struct WorklogArgs {
    /// Which worklogs
    #[arg(required = true, value_name = "matmul|matmul_sizes|softmax|attention")]
    worklogs: Vec<Name>,
    /// Where to run: auto (a GPU if there is one), cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Choice,
    /// Number of samples for each step; the steps take turns
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: u32,
    /// Also record the results in benches/results/worklogs/NAME.json, and draw them
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// The worklogs.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    /// C = A·B in nine steps
    Matmul,
    /// The same nine steps at several sizes
    #[value(name = "matmul_sizes")]
    MatmulSizes,
    /// Softmax of rows in four steps
    Softmax,
    /// Attention in six steps
    Attention,
}

impl Name {
    /// Worklogs of a name; attention has two, one with many queries and one with a single query.
    fn worklogs(self) -> Vec<&'static Worklog> {
        match self {
            Self::Matmul => vec![&matmul::WORKLOG],
            Self::MatmulSizes => vec![&matmul::BY_SIZE],
            Self::Softmax => vec![&softmax::WORKLOG],
            Self::Attention => vec![&attention::PROMPT, &attention::DECODE],
        }
    }
}

/// A worklog: what its steps compute, and what they are compared with.
struct Worklog {
    /// Name of the op in the record.
    op: &'static str,
    /// Sizes at which the steps are timed: rows of matrices, or queries.
    sizes: &'static [usize],
    /// `4096x4096x4096`, from a size.
    shape: fn(usize) -> String,
    /// Title of the chart without the device.
    title: &'static str,
    /// Operands of a size on a device.
    operands: fn(&Device, usize) -> candle_core::Result<Vec<Tensor>>,
    /// Number and idea of each step.
    steps: fn() -> Vec<(usize, &'static str)>,
    /// Runs a step.
    step: fn(usize, &[Tensor]) -> candle_core::Result<Tensor>,
    /// References that steps are compared with: names of rows, and calls.
    references: &'static [(&'static str, Call)],
    /// The row that a step is compared with, and how people call it.
    reference_of: fn(usize) -> (&'static str, &'static str),
    /// The largest difference of a step's result from the expected one, relative to a bound of the rounding errors.
    difference: fn(usize, &[Tensor]) -> candle_core::Result<f32>,
    /// The FLOPs of a compute-bound op or the minimum bytes of a memory-bound one, from a size.
    cost: fn(usize) -> OpRow,
}

/// All that can be recorded.
const WORKLOGS: [&Worklog; 5] = [
    &matmul::WORKLOG,
    &matmul::BY_SIZE,
    &softmax::WORKLOG,
    &attention::PROMPT,
    &attention::DECODE,
];

type Call = fn(&[Tensor]) -> candle_core::Result<Tensor>;

/// Measures, prints one line per step, and writes the files that `args` asks for.
pub fn run(args: &WorklogArgs) -> Result<()> {
    let root = root()?;
    let device = args.device.open()?;
    if !device.is_cuda() {
        let found = "a CPU (without a GPU, `cargo run --release -p kernels --example worklog -- matmul` counts the steps \
                     in the simulator)";
        bail!(BadInput::new("--device", "a GPU", found));
    }
    let mut results = OpResults::new(machine::describe(&device, &root)?).of_kind(Kind::Worklogs);
    let record = Records::named(&root, args.record.as_deref(), &Run::Ops(results.clone()))?;
    let figures = figures(&root, results.kind)?;
    data::println!("{}", results.machine);
    for worklog in args.worklogs.iter().flat_map(|name| name.worklogs()) {
        worklog.check(&device)?;
        results
            .rows
            .extend(worklog.rows(&device, args.samples as usize)?);
        data::print!("{}", worklog.tables(&results)?);
    }
    save(&figures, &results)?;
    data::println!("figures  {}", figures.display());
    written(record, Run::Ops(results))
}

/// Checks that a record has what its steps are compared with; `from` names it.
pub fn check(recorded: &OpResults, from: &str) -> Result<(), BadInput> {
    let shares = |worklog: &&Worklog| {
        let mut sizes = worklog.sizes.iter();
        sizes.try_for_each(|&size| worklog.shares(recorded, size).map(drop))
    };
    let checked = WORKLOGS.iter().try_for_each(shares);
    checked.map_err(|error| BadInput {
        what: format!("{from}: {}", error.what),
        ..error
    })
}

impl Worklog {
    /// Compares the result of each step with the expected one, before anything is timed.
    fn check(&self, device: &Device) -> Result<()> {
        for &size in self.sizes {
            let operands = (self.operands)(device, size)?;
            for (number, _) in (self.steps)() {
                let difference = (self.difference)(number, &operands)?;
                ensure!(
                    difference <= 1.,
                    "{} {} step {number}: expected a difference within the rounding errors, found {difference} times \
                     as much",
                    self.op,
                    (self.shape)(size)
                );
            }
        }
        Ok(())
    }

    /// The rows of all sizes.
    fn rows(&self, device: &Device, samples: usize) -> Result<Vec<OpRow>> {
        let mut rows = vec![];
        for &size in self.sizes {
            rows.extend(self.rows_of(size, device, samples)?);
        }
        Ok(rows)
    }

    /// The rows of all steps and of what they are compared with at a size, in turns.
    fn rows_of(&self, size: usize, device: &Device, samples: usize) -> Result<Vec<OpRow>> {
        let operands = (self.operands)(device, size)?;
        let operands = &operands[..];
        let mut calls: Vec<(String, Box<dyn Timed + '_>)> = vec![];
        for (number, _) in (self.steps)() {
            let call = move || (self.step)(number, operands);
            calls.push((step_name(number), Box::new(call)));
        }
        for &(name, call) in self.references {
            calls.push((name.into(), Box::new(move || call(operands))));
        }
        let (levels, mut calls): (Vec<String>, Vec<_>) = calls.into_iter().unzip();
        let mut timed: Vec<&mut dyn Timed> = vec![];
        for call in &mut calls {
            timed.push(&mut **call);
        }
        let times = Timer::new(device)?.in_turns(&mut timed, samples)?;
        let cost = (self.cost)(size);
        let row = |(level, times)| OpRow {
            op: self.op.into(),
            shape: (self.shape)(size),
            level,
            dtype: "f32".into(),
            flops: cost.flops,
            bytes: cost.bytes,
            ..timed_row(times, None)
        };
        Ok(levels.into_iter().zip(&times).map(row).collect())
    }

    /// A recorded row of a size.
    fn recorded<'r>(&self, results: &'r OpResults, size: usize, level: &str) -> Option<&'r OpRow> {
        let shape = (self.shape)(size);
        let mut rows = results.rows.iter();
        rows.find(|row| row.op == self.op && row.shape == shape && row.level == level)
    }

    /// The steps that a record has at a size, each compared with its reference.
    fn shares<'r>(&self, results: &'r OpResults, size: usize) -> Result<Vec<Share<'r>>, BadInput> {
        let find = |level: &str| self.recorded(results, size, level);
        let mut shares = vec![];
        for (number, idea) in (self.steps)() {
            let Some(row) = find(&step_name(number)) else {
                continue;
            };
            let (level, reference) = (self.reference_of)(number);
            let what = || format!("{} {} {level}", self.op, (self.shape)(size));
            let other =
                find(level).ok_or_else(|| BadInput::new(what(), "a recorded row", "none"))?;
            shares.push(Share {
                number,
                idea,
                row,
                reference,
                share: other.us() / row.us(),
            });
        }
        Ok(shares)
    }

    /// The tables of all sizes.
    fn tables(&self, results: &OpResults) -> Result<String> {
        let tables = self.sizes.iter().map(|&size| self.table(results, size));
        tables.collect()
    }

    fn table(&self, results: &OpResults, size: usize) -> Result<String> {
        let mut text = format!(
            "\n{} {}\nstep  idea                                 µs\n",
            self.op,
            (self.shape)(size)
        );
        for step in self.shares(results, size)? {
            text += &format!(
                "{:>4}  {:<30} {:>9.0}  {:>14}  {:>5.1}% of {}\n",
                step.number,
                step.idea,
                step.row.us(),
                step.rate(),
                100. * step.share,
                step.reference,
            );
        }
        Ok(text)
    }
}

fn step_name(number: usize) -> String {
    format!("step{number}")
}

/// A recorded step.
struct Share<'r> {
    number: usize,
    idea: &'static str,
    row: &'r OpRow,
    /// Row that it is compared with.
    reference: &'static str,
    /// The throughput of that = 1.
    share: f64,
}

impl Share<'_> {
    /// `45.2 TFLOP/s` or `3050 GB/s`.
    fn rate(&self) -> String {
        let us = self.row.us();
        match (self.row.flops, self.row.bytes) {
            (Some(flops), _) => format!("{:.1} TFLOP/s", flops as f64 / us / 1e6),
            (None, bytes) => format!("{:.0} GB/s", bytes.unwrap_or_default() as f64 / us / 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use results::Machine;

    use super::*;

    /// Rows of `op size level`.
    pub(super) fn recorded(rows: &[(&str, usize, &str, f64)]) -> OpResults {
        let row = |&(op, size, level, us): &(&str, usize, &str, f64)| OpRow {
            op: op.into(),
            shape: format!("{size}x{size}x{size}"),
            level: level.into(),
            dtype: "f32".into(),
            host_us: us,
            flops: Some(2 * (size as u64).pow(3)),
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default()).of_kind(Kind::Worklogs);
        results.rows = rows.iter().map(row).collect();
        results
    }

    #[test]
    fn a_step_is_compared_with_the_library_in_the_same_arithmetic() -> Result<()> {
        let results = recorded(&[
            ("softmax", 4096, "step1", 1.),
            ("matmul", 4096, "step1", 400.),
            ("matmul", 4096, "step9", 20.),
            ("matmul", 4096, "candle", 100.),
            ("matmul", 4096, "candle_tf32", 5.),
        ]);
        let found = matmul::WORKLOG.shares(&results, 4096)?;
        let found: Vec<(usize, f64, &str)> = found
            .iter()
            .map(|s| (s.number, s.share, s.reference))
            .collect();
        assert_eq!(found, [(1, 0.25, "cuBLAS"), (9, 0.25, "cuBLAS with TF32")]);
        let text = matmul::WORKLOG.tables(&results)?;
        assert!(text.contains("25.0% of cuBLAS with TF32"), "{text}");
        Ok(())
    }

    #[test]
    fn a_step_is_compared_with_the_library_at_the_same_size() -> Result<()> {
        let results = recorded(&[
            ("matmul_sizes", 512, "step1", 8.),
            ("matmul_sizes", 512, "candle", 2.),
            ("matmul_sizes", 1024, "step1", 50.),
            ("matmul_sizes", 1024, "candle", 5.),
        ]);
        let share = |size| -> Result<f64> {
            let shares = matmul::BY_SIZE.shares(&results, size)?;
            Ok(shares[0].share)
        };
        assert_eq!([share(512)?, share(1024)?], [0.25, 0.1]);
        assert!(matmul::BY_SIZE.shares(&results, 256)?.is_empty());
        let text = matmul::BY_SIZE.tables(&results)?;
        assert!(text.contains("matmul_sizes 1024x1024x1024\n"), "{text}");
        Ok(())
    }

    #[test]
    fn each_size_needs_the_library() {
        let results = recorded(&[
            ("matmul_sizes", 512, "step1", 8.),
            ("matmul_sizes", 512, "candle", 2.),
            ("matmul_sizes", 1024, "step1", 50.),
        ]);
        let error = check(&results, "part.json").err().map(|e| e.to_string());
        let expected =
            "part.json: matmul_sizes 1024x1024x1024 candle: expected a recorded row, found none";
        assert_eq!(error.as_deref(), Some(expected));
    }

    #[test]
    fn the_command_line_has_the_names_of_the_ops() {
        let names = Name::value_variants().iter().map(|name| {
            let value = name.to_possible_value().expect("a shown value");
            (value.get_name().to_string(), name.worklogs()[0].op)
        });
        for (name, op) in names {
            assert_eq!(name, op);
        }
    }

    #[test]
    fn a_record_without_the_library_is_an_error() {
        let results = recorded(&[("matmul", 4096, "step1", 400.)]);
        let error = matmul::WORKLOG
            .shares(&results, 4096)
            .err()
            .map(|e| e.to_string());
        assert_eq!(
            error.as_deref(),
            Some("matmul 4096x4096x4096 candle: expected a recorded row, found none")
        );
    }

    /// The definitions agree with the kernels' worklogs: steps follow each other, and all have a reference.
    #[test]
    fn every_step_has_a_reference() {
        for worklog in WORKLOGS {
            let first = (worklog.steps)()[0].0;
            for (at, (number, _)) in (worklog.steps)().into_iter().enumerate() {
                assert_eq!(number, at + first, "{}", worklog.op);
                let (level, _) = (worklog.reference_of)(number);
                let known = worklog.references.iter().any(|(name, _)| *name == level);
                assert!(known, "{} {level}", worklog.op);
            }
        }
    }
}
