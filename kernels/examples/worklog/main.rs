//! Counts what each step of a worklog costs, in the simulator, and times it on a GPU:
//!
//! ```text
//! cargo run --release -p kernels --example worklog -- matmul
//! cargo run --release -p kernels --example worklog -- softmax
//! cargo run --release -p kernels --example worklog -- attention
//! cargo run --release -p kernels --example worklog -- matmul --write    also records the counts
//! ```
//!
//! With the feature `cuda` it times the steps on the first GPU, next to the recorded times. `workbook worklog`
//! times them in turns with a library, and records the times.

mod recorded;
#[cfg(feature = "cuda")]
mod times;

use std::ops::RangeInclusive;
use std::process::ExitCode;

use kernels::worklogs::{Counts, attention, matmul, softmax};
use recorded::Times;

/// A worklog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worklog {
    /// C = A·B
    Matmul,
    /// Softmax of rows.
    Softmax,
    /// Attention of one sequence.
    Attention,
}

impl Worklog {
    fn of(name: &str) -> Option<Self> {
        match name {
            "matmul" => Some(Self::Matmul),
            "softmax" => Some(Self::Softmax),
            "attention" => Some(Self::Attention),
            _ => None,
        }
    }

    /// Its name on the command line, and its folder.
    fn name(self) -> &'static str {
        match self {
            Self::Matmul => "matmul",
            Self::Softmax => "softmax",
            Self::Attention => "attention",
        }
    }

    fn counts(self) -> candle_core::Result<Vec<Counts>> {
        match self {
            Self::Matmul => matmul::STEPS.iter().map(matmul::Step::counts).collect(),
            Self::Softmax => softmax::STEPS.iter().map(softmax::Step::counts).collect(),
            Self::Attention => attention::STEPS
                .iter()
                .map(attention::Step::counts)
                .collect(),
        }
    }

    fn title(self) -> String {
        let (what, unit) = match self {
            Self::Matmul => {
                let n = matmul::COUNTED;
                (
                    format!("C = A·B in f32, simulated at M = N = K = {n}"),
                    "multiply-adds",
                )
            }
            Self::Attention => {
                let [heads, queries, keys] = attention::COUNTED;
                let what = format!(
                    "Attention of {heads} heads, {queries} queries and {keys} keys in f32, simulated"
                );
                (what, "multiply-adds")
            }
            Self::Softmax => {
                let [m, n] = softmax::COUNTED;
                (
                    format!("Softmax of {m} rows of {n} in f32, simulated"),
                    "elements",
                )
            }
        };
        format!(
            "{what}. For 32 {unit}: instructions of a warp,\n32-byte sectors of global memory, and wavefronts of shared \
             memory; bank conflicts\ncause those in parentheses.\n\n\
             step  idea                           instructions  sectors  wavefronts"
        )
    }

    /// How its steps are timed; attention twice, for a prompt and for one query.
    fn timings(self) -> &'static [Timing] {
        match self {
            Self::Matmul => &[Timing {
                op: "matmul",
                steps: 1..=9,
                reference: |step| if step == 9 { "candle_tf32" } else { "candle" },
                title: "TFLOP/s, and percent of cuBLAS in the same arithmetic",
            }],
            Self::Softmax => &[Timing {
                op: "softmax",
                steps: 1..=4,
                reference: |_| "copy",
                title: "GB/s, each element read and written once, and percent of a copy's",
            }],
            Self::Attention => &[
                Timing {
                    op: "attention",
                    steps: 1..=5,
                    reference: |_| "level5",
                    title: "As many queries as keys, a prompt: TFLOP/s, and percent of level 5's",
                },
                Timing {
                    op: "attention_decode",
                    steps: 3..=6,
                    reference: |_| "copy",
                    title: "One query, a decode step: GB/s, keys and values read once, and percent of a copy's",
                },
            ],
        }
    }
}

/// Sizes at which steps of a worklog are timed, and what they are compared with.
pub struct Timing {
    /// Name in the records.
    pub op: &'static str,
    /// Numbers of the steps.
    pub steps: RangeInclusive<usize>,
    /// The record's row that a step is compared with.
    pub reference: fn(usize) -> &'static str,
    /// Title of the table, with its unit.
    title: &'static str,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (worklog, write) = match args[..] {
        [name] => (Worklog::of(name), false),
        [name, "--write"] => (Worklog::of(name), true),
        _ => (None, false),
    };
    let Some(worklog) = worklog else {
        eprintln!(
            "error: arguments: expected `matmul`, `softmax` or `attention`, and `--write` or nothing, found {args:?}"
        );
        return ExitCode::from(2);
    };
    match print(worklog, write) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn print(worklog: Worklog, write: bool) -> anyhow::Result<()> {
    println!("{}", worklog.title());
    let all = worklog.counts()?;
    for counts in &all {
        println!("{}", row(counts));
    }
    if write {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/generated/worklogs");
        let path = format!("{folder}/{}/counts.json", worklog.name());
        std::fs::write(&path, serde_json::to_string_pretty(&all)? + "\n")?;
        println!("\nwritten  {path}");
    }
    for timing in worklog.timings() {
        let mut columns = recorded::all(timing.op)?;
        columns.extend(here(timing)?);
        if !columns.is_empty() {
            println!("\n{}", throughputs(timing, &columns));
        }
    }
    Ok(())
}

fn row(counts: &Counts) -> String {
    format!(
        "{:>4}  {:<29}  {:>12.2}  {:>7.2}  {:>10.2} ({:.2})",
        counts.step,
        counts.idea,
        counts.instructions,
        counts.sectors,
        counts.wavefronts,
        counts.conflicts,
    )
}

/// Returns the times of a GPU of this machine.
#[cfg(feature = "cuda")]
fn here(timing: &Timing) -> anyhow::Result<Option<Times>> {
    Ok(Some(times::here(timing)?))
}

#[cfg(not(feature = "cuda"))]
fn here(_: &Timing) -> anyhow::Result<Option<Times>> {
    Ok(None)
}

/// The throughput of each step on each GPU; the line below the GPUs' names has the sizes at which it was timed.
fn throughputs(timing: &Timing, columns: &[Times]) -> String {
    let mut text = format!("{}:\n\nstep", timing.title);
    for column in columns {
        text += &format!("  {:>20}", column.name);
    }
    text += "\n    ";
    for column in columns {
        text += &format!("  {:>20}", column.shape());
    }
    for step in timing.steps.clone() {
        text += &format!("\n{step:>4}");
        for column in columns {
            let cell = column.cell(step, (timing.reference)(step));
            text += &format!("  {:>20}", cell.unwrap_or_else(|| "–".into()));
        }
    }
    text
}
