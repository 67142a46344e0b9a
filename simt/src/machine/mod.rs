//! The machine: a grid of blocks of warps that run a kernel's code.

mod access;
mod atomics;
mod barriers;
mod block;
mod bounds;
mod coalesce;
mod collective;
mod copies;
mod findings;
mod global;
mod global_access;
mod known;
mod matrix;
mod meetings;
mod print;
mod race;
mod shadow;
mod shared;
mod shared_access;
mod step;
mod warp;

use rayon::prelude::*;

use crate::code::Kernel;
use crate::error::{Error, Result};
use crate::report::{Counts, Finding, Line, Report};

use block::{Block, Grid};
pub use global::Buffer;
use global::Global;
use known::Board;
use warp::Shape;

/// Shared memory of a block, static and dynamic, at most: what an H100 grants.
const MAX_SHARED: u64 = 227 << 10;
/// Threads of a block at most.
const MAX_THREADS: u64 = 1024;

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
        }
    }
}

/// What a kernel is given for a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// 4 bytes.
    U32(u32),
    /// 4 bytes.
    I32(i32),
    /// 8 bytes.
    U64(u64),
    /// 4 bytes.
    F32(f32),
    /// 8 bytes.
    F64(f64),
    /// The address of a buffer of the launch, by number.
    Buffer(usize),
    /// An address inside a buffer: its number, and bytes from its start.
    Inside(usize, u64),
    /// The null pointer.
    Null,
    /// A struct, or whatever else has these bytes.
    Bytes(Vec<u8>),
}

impl Arg {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(x) => x.to_le_bytes().to_vec(),
            Self::I32(x) => x.to_le_bytes().to_vec(),
            Self::U64(x) => x.to_le_bytes().to_vec(),
            Self::F32(x) => x.to_le_bytes().to_vec(),
            Self::F64(x) => x.to_le_bytes().to_vec(),
            Self::Buffer(i) => Global::address(*i).to_le_bytes().to_vec(),
            Self::Inside(i, at) => (Global::address(*i) + at).to_le_bytes().to_vec(),
            Self::Null => vec![0; 8],
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// How many blocks of how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub smem: u32,
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
    let all: Vec<Buffer> = buffers.iter().chain(variables).cloned().collect();
    let address = |(_, name, offset): &(u32, String, i64)| {
        let known = all.iter().position(|b| b.name == *name).unwrap_or(usize::MAX >> 32);
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
        global: Global::new(&all, options.races),
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

fn check(kernel: &Kernel, dim: &Dim, buffers: &[Buffer], args: &[Arg]) -> Result<()> {
    let wrong = |what: &str, expected: String, found: String| {
        Err(Error::Launch {
            what: format!("{}: {what}", kernel.name),
            expected,
            found,
        })
    };
    let count = |[x, y, z]: [u32; 3]| u64::from(x) * u64::from(y) * u64::from(z);
    let threads = dim.block.iter().map(|&n| u64::from(n)).product::<u64>();
    if threads == 0 || threads > MAX_THREADS {
        return wrong("block", format!("1 to {MAX_THREADS} threads"), threads.to_string());
    }
    if count(dim.grid) == 0 || count(dim.grid) > u64::from(u32::MAX >> 10) {
        return wrong("grid", "1 to 4194303 blocks".into(), count(dim.grid).to_string());
    }
    if let Some((most, exactly)) = kernel.max_threads {
        let most = most.iter().map(|&n| u64::from(n)).product::<u64>();
        if threads > most || exactly && threads != most {
            let expected = format!("{} {most} threads", if exactly { "exactly" } else { "at most" });
            return wrong("block", expected, threads.to_string());
        }
    }
    let shared = u64::from(kernel.shared_bytes.next_multiple_of(16)) + u64::from(dim.smem);
    if shared > MAX_SHARED {
        return wrong("shared memory", format!("at most {MAX_SHARED} bytes"), shared.to_string());
    }
    if args.len() != kernel.params.len() {
        return wrong("arguments", kernel.params.len().to_string(), args.len().to_string());
    }
    for (param, arg) in kernel.params.iter().zip(args) {
        let bytes = arg.to_bytes().len();
        if bytes != param.bytes as usize {
            return wrong(&param.name, format!("{} bytes", param.bytes), format!("{bytes} bytes"));
        }
        if let Arg::Buffer(i) | Arg::Inside(i, _) = arg
            && *i >= buffers.len()
        {
            return wrong(&param.name, format!("one of {} buffers", buffers.len()), format!("number {i}"));
        }
    }
    Ok(())
}

fn parameters(kernel: &Kernel, args: &[Arg]) -> Vec<u8> {
    let mut params = vec![0; kernel.param_bytes as usize];
    for (param, arg) in kernel.params.iter().zip(args) {
        let bytes = arg.to_bytes();
        params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    params
}

/// What came of one block.
struct Done {
    counts: Vec<Counts>,
    findings: Vec<(u32, Finding)>,
    printed: Vec<(u32, String)>,
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
        }
    };
    let nothing = || Done {
        counts: vec![Counts::default(); grid.kernel.code.len()],
        findings: vec![],
        printed: vec![],
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
    let lines = steps.filter(|(_, c)| c.warps != 0).map(|(step, counts)| Line {
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
    }
}
