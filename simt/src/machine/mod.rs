//! The machine: a grid of blocks of warps that run a kernel's code.

mod access;
mod argument;
mod atomics;
mod barriers;
mod block;
mod bounds;
mod bulk;
mod carry;
mod cluster;
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
mod mbarrier;
mod meetings;
mod members;
mod mixed;
mod overlap;
mod own;
mod pages;
mod print;
mod race;
mod shadow;
mod shared;
mod shared_access;
mod step;
#[cfg(test)]
mod tests;
mod turns;
mod warp;
mod watch;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::code::Kernel;
use crate::error::Result;
use crate::report::{Counts, Finding, Line, Report, Step};

pub use argument::Arg;
use block::Grid;
pub use global::Buffer;
use global::{Global, Range};
use known::Board;
pub use launch::Dim;
use launch::{check, check_memory, cluster_of, parameters};
use overlap::Recorder;
pub use overlap::{Ran, Recorded, check as check_overlap};
pub use pages::Earlier;
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
    /// The same of all blocks together.
    pub launch_fuel: u64,
    /// Bytes that a launch may take: copies of the buffers, and registers, local and shared memory of the
    /// blocks that run side by side. What is known of each byte comes on top: at most 12 times the bytes of
    /// the pages (of 512 bytes) that are accessed.
    pub memory: u64,
    /// How lanes take turns.
    pub schedule: Schedule,
    /// Of the random schedule.
    pub seed: u64,
    /// Whether accesses are checked for races.
    pub races: bool,
    /// Whether blocks run side by side. If anything is found they run once more, one after the other, so that
    /// a report is the same each time, whatever the number of threads.
    pub parallel: bool,
    /// Bytes of `printf` that are kept: those of the first blocks.
    pub printed: usize,
    /// A warp whose steps are kept; none by default, and then it costs nothing.
    pub trace: Option<Watch>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fuel: 100_000_000,
            launch_fuel: 10_000_000_000,
            memory: 4 << 30,
            schedule: Schedule::default(),
            seed: 0,
            races: true,
            parallel: true,
            printed: 1 << 16,
            trace: None,
        }
    }
}

/// What is launched, and how.
#[derive(Clone, Copy)]
pub struct Launched<'a> {
    pub kernel: &'a Kernel,
    /// `.global` variables of its module.
    pub variables: &'a [Buffer],
    pub dim: Dim,
    /// Blocks of a cluster, if the launch says so.
    pub cluster: Option<[u32; 3]>,
    pub args: &'a [Arg],
    /// Whether what it accesses is recorded, for the launches that may be in flight at the same time.
    pub records: bool,
    /// What earlier launches of a row wrote of each buffer that the host did not write.
    pub earlier: &'a [Earlier],
}

/// Runs a kernel over `buffers`, which it leaves changed.
///
/// # Errors
/// When the launch is one that no GPU takes: see [`Error::Launch`].
pub fn launch(
    launched: Launched,
    buffers: &mut [Buffer],
    options: &Options,
) -> Result<(Report, Recorded)> {
    let Launched {
        kernel,
        variables,
        dim,
        args,
        ..
    } = launched;
    check(kernel, &dim, buffers, args)?;
    let cluster = cluster_of(kernel, &dim, launched.cluster)?;
    let given = buffers.iter().chain(variables);
    check_memory(
        kernel,
        &dim,
        cluster,
        given.map(|b| b.bytes.len() as u64),
        options,
    )?;
    let prepared = || prepare(launched, cluster, buffers, options);
    let mut grid = prepared();
    let mut report = run(&grid, options.parallel);
    if options.parallel && !report.is_clean() && dim.grid != cluster {
        drop(grid);
        grid = prepared();
        report = run(&grid, false);
    }
    let bytes: Vec<Vec<u8>> = grid.global.ranges.iter().map(Range::to_bytes).collect();
    let recorder = grid.recorder.take().unwrap_or_default();
    let written = grid.global.ranges.into_iter().map(Range::into_written);
    let mut recorded = recorder.into_inner();
    recorded.written = written.take(buffers.len()).collect();
    for (buffer, bytes) in buffers.iter_mut().zip(bytes) {
        buffer.bytes = bytes;
    }
    Ok((report, recorded))
}

/// Everything as it is before the first instruction.
fn prepare<'a>(
    launched: Launched<'a>,
    cluster: [u32; 3],
    buffers: &[Buffer],
    options: &Options,
) -> Grid<'a> {
    let Launched { kernel, dim, .. } = launched;
    let given = buffers.iter().chain(launched.variables);
    let address = |(_, name, offset): &(u32, String, i64)| {
        let known = given.clone().position(|b| b.name == *name);
        Global::address(known.unwrap_or(usize::MAX >> 32)).wrapping_add(*offset as u64)
    };
    Grid {
        kernel,
        shape: Shape {
            grid: dim.grid,
            block: dim.block,
            cluster,
            explicit: kernel.cluster.or(launched.cluster).is_some(),
            dynamic_smem: dim.smem,
            total_smem: kernel.shared_bytes.next_multiple_of(16) + dim.smem,
        },
        params: parameters(kernel, launched.args),
        global: Global::new(given.clone(), launched.earlier),
        board: Board::default(),
        addresses: kernel.global_addresses.iter().map(address).collect(),
        options: options.clone(),
        spent: AtomicU64::new(0),
        halted: AtomicBool::new(false),
        recorder: launched.records.then(Recorder::default),
    }
}

/// What came of some blocks.
struct Done {
    counts: Vec<Counts>,
    findings: Vec<(u32, Finding)>,
    printed: String,
    trace: Vec<Step>,
}

fn run(grid: &Grid, parallel: bool) -> Report {
    let Shape {
        grid: blocks,
        cluster,
        ..
    } = grid.shape;
    let [x, y, z] = std::array::from_fn(|i| blocks[i] / cluster[i]);
    let nothing = || Done {
        counts: vec![Counts::default(); grid.kernel.code.len()],
        findings: vec![],
        printed: String::new(),
        trace: vec![],
    };
    let join = |a, b| join(a, b, grid.options.printed);
    // A cluster runs as one: its blocks wait for each other.
    let one = |number: u32| {
        if grid.halted.load(Relaxed) {
            return nothing();
        }
        let id = [number % x, number / x % y, number / (x * y)];
        let mut blocks = cluster::blocks(grid, id);
        cluster::run(&mut blocks);
        blocks.iter().for_each(block::Block::note_end);
        let done = blocks.into_iter().map(|block| Done {
            counts: block.counts,
            findings: block.findings,
            printed: block.printed,
            trace: block.trace,
        });
        done.reduce(join).unwrap_or_else(nothing)
    };
    let numbers = 0..x * y * z;
    let done = if parallel {
        numbers.into_par_iter().map(one).reduce(nothing, join)
    } else {
        numbers.map(one).fold(nothing(), join)
    };
    report(grid, done)
}

/// Two blocks' as one.
fn join(mut a: Done, b: Done, printed: usize) -> Done {
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
    // Blocks are joined in their order: what is kept is the beginning of all that they print.
    if a.printed.len() < printed {
        a.printed.push_str(&b.printed);
    }
    a.trace.extend(b.trace);
    a
}

fn report(grid: &Grid, mut done: Done) -> Report {
    done.findings.sort_by_key(|(pc, f)| (*pc, f.class));
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
        grid: grid.shape.grid,
        block: grid.shape.block,
        lines: lines.collect(),
        findings: done.findings.into_iter().map(|(_, f)| f).collect(),
        total,
        printed: done.printed,
        trace: done.trace,
    }
}
