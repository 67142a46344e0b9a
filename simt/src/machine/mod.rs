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
mod cluster_barrier;
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
mod touched;
mod turns;
mod warp;
mod watch;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;

use crate::code::Kernel;
use crate::error::Result;
use crate::report::{Counts, Line, Report, Step};

pub use argument::Arg;
use block::Grid;
use findings::Findings;
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

/// Scheduling of diverged lanes. A correct kernel gives the same result under all schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Each side of a branch runs to the reconvergence point, as hardware mostly does.
    #[default]
    PostDominator,
    /// The lanes with the lowest instruction index first.
    MinPc,
    /// The lanes with the highest instruction index first, and the last warp first.
    MaxPc,
    /// Random, but reproducible by seed.
    Random,
}

/// Limits and settings of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Maximum warp instructions of a block before it counts as endless.
    pub fuel: u64,
    /// Maximum warp instructions of all blocks together.
    pub launch_fuel: u64,
    /// Maximum warp instructions of the blocks that have a finding, after which the launch ends without another one; no
    /// limit by default.
    pub faulty_fuel: u64,
    /// Maximum bytes of memory: copies of the buffers, plus registers, local and shared memory of the blocks
    /// that run in parallel. Shadow memory is extra: at most 12 times the accessed pages of 512 bytes.
    pub memory: u64,
    /// When the launch counts as endless; `None` by default, because a clock makes reports differ.
    pub until: Option<Instant>,
    /// How lanes take turns.
    pub schedule: Schedule,
    /// Seed of the random schedule.
    pub seed: u64,
    /// Whether to check for races.
    pub races: bool,
    /// Whether blocks run in parallel. If there is a finding, they run again one after another, so that the
    /// report does not depend on the number of threads.
    pub parallel: bool,
    /// Maximum bytes of `printf` output to keep; the first ones are kept.
    pub printed: usize,
    /// A warp whose steps are recorded; `None` by default, which costs nothing.
    pub trace: Option<Watch>,
    /// Whether the report lists the sectors of each buffer that the launch read and wrote.
    pub touched: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fuel: 100_000_000,
            launch_fuel: 10_000_000_000,
            faulty_fuel: u64::MAX,
            memory: 4 << 30,
            until: None,
            schedule: Schedule::default(),
            seed: 0,
            races: true,
            parallel: true,
            printed: 1 << 16,
            trace: None,
            touched: false,
        }
    }
}

/// A kernel and its launch configuration.
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
    /// Bytes that earlier launches of a sequence wrote to each buffer that the host did not write.
    pub earlier: &'a [Earlier],
}

/// Runs a kernel over `buffers`, which it leaves changed.
///
/// # Errors
/// If no GPU accepts the launch: see [`Error::Launch`].
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
    let touched = grid.global.ranges.iter().filter_map(Range::touched);
    report.touched = touched.take(buffers.len()).collect();
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

/// Builds the state before the first instruction.
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
        global: Global::new(given.clone(), launched.earlier, options.touched),
        board: Board::default(),
        addresses: kernel.global_addresses.iter().map(address).collect(),
        options: options.clone(),
        spent: AtomicU64::new(0),
        spent_faulty: AtomicU64::new(0),
        halted: AtomicBool::new(false),
        recorder: launched.records.then(Recorder::default),
    }
}

/// Results of some blocks.
struct Done {
    counts: Vec<Counts>,
    findings: Findings,
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
        findings: Findings::new(),
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

/// Merges the results of two blocks.
fn join(mut a: Done, b: Done, printed: usize) -> Done {
    for (a, b) in a.counts.iter_mut().zip(&b.counts) {
        a.add(b);
    }
    for ((pc, _), finding) in b.findings {
        findings::join(pc, finding, &mut a.findings);
    }
    // Blocks are merged in order, so the kept text is the start of the whole output.
    if a.printed.len() < printed {
        a.printed.push_str(&b.printed);
    }
    a.trace.extend(b.trace);
    a
}

fn report(grid: &Grid, done: Done) -> Report {
    let mut total = Counts::default();
    for counts in &done.counts {
        total.add(counts);
    }
    let steps = grid.kernel.code.iter().zip(&done.counts);
    let lines = steps
        .filter(|(_, c)| c.warps != 0)
        .map(|(step, counts)| Line {
            line: step.location.line,
            source: step.location.source.clone(),
            form: step.form.clone(),
            counts: *counts,
        });
    Report {
        entry: grid.kernel.name.clone(),
        grid: grid.shape.grid,
        block: grid.shape.block,
        lines: lines.collect(),
        findings: done.findings.into_values().collect(),
        total,
        printed: done.printed,
        trace: done.trace,
        touched: vec![],
    }
}
