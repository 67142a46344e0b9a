//! The machine: a grid of blocks of warps that run a kernel's code.

mod access;
mod atomics;
mod barriers;
mod block;
mod bounds;
mod coalesce;
mod collective;
mod copies;
mod costs;
mod findings;
mod global;
mod global_access;
mod known;
mod launch;
mod matrix;
mod meetings;
mod members;
mod pages;
mod print;
mod race;
mod shadow;
mod shared;
mod shared_access;
mod step;
mod warp;
mod watch;

use rayon::prelude::*;

use crate::code::Kernel;
use crate::error::Result;
use crate::report::{Counts, Finding, Line, Report, Step};

use block::{Block, Grid};
pub use global::Buffer;
use global::Global;
use known::Board;
pub use launch::{Arg, Dim};
use launch::{check, parameters};
use warp::Shape;
pub use watch::Watch;

/// How lanes that part take turns. A right kernel gives the same result under all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Each side of a branch runs to where the sides meet: what hardware mostly does.
    #[default]
    PostDominator,
    /// The lanes that are furthest behind first.
    MinPc,
    /// The lanes that are furthest ahead first, and the last warp before the others.
    MaxPc,
    /// By chance, the same for the same seed.
    Random,
}

/// What a launch may do and how it goes about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Instructions of a block (a warp's counts one) before it is called endless.
    pub fuel: u64,
    /// How lanes take turns.
    pub schedule: Schedule,
    /// Of the random schedule.
    pub seed: u64,
    /// Whether accesses are checked for races.
    pub races: bool,
    /// Whether blocks run side by side; one after the other, a report is the same each time.
    pub parallel: bool,
    /// Bytes of `printf` that are kept, a block.
    pub printed: usize,
    /// A warp whose steps are kept; none by default, and then it costs nothing.
    pub trace: Option<Watch>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fuel: 100_000_000,
            schedule: Schedule::default(),
            seed: 0,
            races: true,
            parallel: true,
            printed: 1 << 16,
            trace: None,
        }
    }
}

/// Runs a kernel over `buffers`, which it leaves changed.
///
/// # Errors
/// When the launch is one that no GPU takes: see [`Error::Launch`].
pub fn launch(
    kernel: &Kernel,
    variables: &[Buffer],
    dim: Dim,
    buffers: &mut [Buffer],
    args: &[Arg],
    options: &Options,
) -> Result<Report> {
    check(kernel, &dim, buffers, args)?;
    let shared = kernel.shared_bytes.next_multiple_of(16) + dim.smem;
    let all = || buffers.iter().chain(variables);
    let address = |(_, name, offset): &(u32, String, i64)| {
        let known = all()
            .position(|b| b.name == *name)
            .unwrap_or(usize::MAX >> 32);
        Global::address(known).wrapping_add(*offset as u64)
    };
    let grid = Grid {
        kernel,
        shape: Shape {
            grid: dim.grid,
            block: dim.block,
            dynamic_smem: dim.smem,
            total_smem: shared,
        },
        params: parameters(kernel, args),
        global: Global::new(all()),
        board: Board::default(),
        addresses: kernel.global_addresses.iter().map(address).collect(),
        options: options.clone(),
    };
    let report = run(&grid, dim);
    for (buffer, range) in buffers.iter_mut().zip(&grid.global.ranges) {
        buffer.bytes = range.to_bytes();
    }
    Ok(report)
}

/// What came of one block.
struct Done {
    counts: Vec<Counts>,
    findings: Vec<(u32, Finding)>,
    printed: Vec<(u32, String)>,
    trace: Vec<Step>,
}

fn run(grid: &Grid, dim: Dim) -> Report {
    let [x, y, z] = dim.grid;
    let one = |number: u32| {
        let id = [number % x, number / x % y, number / (x * y)];
        let mut block = Block::new(grid, id, number);
        block.run();
        Done {
            counts: block.counts,
            findings: block.findings,
            printed: match block.printed.is_empty() {
                true => vec![],
                false => vec![(number, block.printed)],
            },
            trace: block.trace,
        }
    };
    let nothing = || Done {
        counts: vec![Counts::default(); grid.kernel.code.len()],
        findings: vec![],
        printed: vec![],
        trace: vec![],
    };
    let numbers = 0..x * y * z;
    let done = match grid.options.parallel {
        true => numbers.into_par_iter().map(one).reduce(nothing, join),
        false => numbers.map(one).fold(nothing(), join),
    };
    report(grid, dim, done)
}

/// Two blocks' as one.
fn join(mut a: Done, b: Done) -> Done {
    for (a, b) in a.counts.iter_mut().zip(&b.counts) {
        a.add(b);
    }
    for (pc, finding) in b.findings {
        let same = (a.findings.iter_mut()).find(|(at, f)| *at == pc && f.class == finding.class);
        match same {
            Some((_, known)) => known.count += finding.count,
            None => a.findings.push((pc, finding)),
        }
    }
    a.printed.extend(b.printed);
    a.trace.extend(b.trace);
    a
}

fn report(grid: &Grid, dim: Dim, mut done: Done) -> Report {
    done.findings.sort_by_key(|(pc, f)| (*pc, f.class));
    done.printed.sort();
    let mut total = Counts::default();
    for counts in &done.counts {
        total.add(counts);
    }
    let steps = grid.kernel.code.iter().zip(&done.counts);
    let lines = steps
        .filter(|(_, c)| c.warps != 0)
        .map(|(step, counts)| Line {
            line: step.place.line,
            source: step.place.source.clone(),
            form: step.form.clone(),
            counts: *counts,
        });
    Report {
        entry: grid.kernel.name.clone(),
        grid: dim.grid,
        block: dim.block,
        lines: lines.collect(),
        findings: done.findings.into_iter().map(|(_, f)| f).collect(),
        total,
        printed: done.printed.into_iter().map(|(_, text)| text).collect(),
        trace: done.trace,
    }
}
