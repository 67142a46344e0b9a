//! Which of many launches are kept.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use kernels::launch::Recorded;
use simt::case::{Argument, Element, Fill};
use simt::{Case, Dim, Module, Options, Report};

/// Something that a launch does and another may not.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    /// An instruction is executed on numbers of this size; more than once by a warp; by a part of a warp; by one
    /// whose lanes part there.
    Line(u32, Numbers),
    Again(u32),
    Partly(u32),
    Divergent(u32),
    /// Fewer threads come here than to the instruction before: what skips it does so for some.
    Skipped(u32),
    /// More than one block along x, y or z.
    Blocks(usize),
    /// An argument is null, or begins inside its buffer.
    Null(usize),
    Inside(usize),
    /// The index of the largest of the floats that are listed.
    Greatest(usize, usize),
    /// A size of so many bits, with this rest by 16, in a launch with an argument that begins inside its buffer or
    /// without one: limits, and tails of vectors and of unrolled loops, lie between such.
    Size(usize, u32, u64, bool),
    /// A size of one digit next to a pair of f64, chances: how far a sum of so many terms goes depends on both.
    Chance(u64, [u64; 2]),
}

/// The largest floats that a launch is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Numbers {
    Small,
    Large,
    /// So large that differences of two overflow an exponential.
    Huge,
    /// Ties, or one that is no number.
    Listed,
}

/// Instructions of warps up to which a launch is kept for its sizes alone, or for where its largest number is: a
/// mutant that survives runs through all launches.
const CHEAP: u64 = 20_000;

/// For each entry those that do something which no cheaper one does.
pub fn cases(ptx: &str, launches: &[&Recorded]) -> Result<Vec<Case>> {
    let module = Module::parse(ptx)?;
    let mut chosen = vec![];
    for entry in module.entries() {
        let of = |launch: &&&Recorded| launch.case.entry.as_deref() == Some(entry);
        let mut candidates = vec![];
        for launch in launches.iter().filter(of) {
            let report = run(&module, &launch.case)?;
            candidates.push((
                report.total.warps,
                features(&launch.case, &report),
                &launch.case,
            ));
        }
        ensure!(
            !candidates.is_empty(),
            "{entry}: expected a call that launches it in `calls.rs` of its folder in kernels/src, found none"
        );
        candidates.sort_by_key(|(cost, ..)| *cost);
        let mut known = BTreeSet::new();
        for (_, features, case) in candidates {
            let before = known.len();
            known.extend(features);
            if known.len() > before {
                chosen.push(case.clone());
            }
        }
    }
    Ok(chosen)
}

/// A launch of the case as it is written, which must be right.
fn run(module: &Module, case: &Case) -> Result<Report> {
    let mut operands = case.operands(1, Path::new(""))?;
    let (dim, args) = (operands.dim, operands.args.clone());
    let kernel = case.kernel(module)?;
    let report = kernel.launch(dim, &mut operands.buffers, &args, &Options::default())?;
    if let Some(finding) = report.findings.first() {
        anyhow::bail!("{case}: {finding}");
    }
    Ok(report)
}

fn features(case: &Case, report: &Report) -> Vec<Feature> {
    let Dim { grid, block, .. } = case.dim;
    let of = |sizes: [u32; 3]| sizes.iter().map(|&n| u64::from(n)).product::<u64>();
    let warps = of(grid) * of(block).div_ceil(32);
    let numbers = case
        .args
        .iter()
        .map(numbers)
        .max()
        .unwrap_or(Numbers::Small);
    let lines = report.lines.iter().flat_map(|line| {
        let again = line.counts.warps > warps;
        let partly = line.counts.threads < 32 * line.counts.warps;
        let divergent = line.counts.divergent > 0;
        [
            Some(Feature::Line(line.line, numbers)),
            again.then_some(Feature::Again(line.line)),
            partly.then_some(Feature::Partly(line.line)),
            divergent.then_some(Feature::Divergent(line.line)),
        ]
    });
    let skipped = skipped(report).map(Some);
    let blocks = (0..3).map(|axis| (grid[axis] > 1).then_some(Feature::Blocks(axis)));
    let args = case.args.iter().enumerate().map(|(index, arg)| match arg {
        Argument::Null => Some(Feature::Null(index)),
        Argument::Buffer { offset: 1.., .. } => Some(Feature::Inside(index)),
        _ => None,
    });
    let inside = |arg: &Argument| matches!(arg, Argument::Buffer { offset: 1.., .. });
    let shifted = case.args.iter().any(inside);
    let sizes = case.args.iter().enumerate().map(|(index, arg)| {
        let Argument::Scalar(Element::U32, size) = arg else {
            return None;
        };
        let bits = u64::BITS - size.leading_zeros();
        Some(Feature::Size(index, bits, size % 16, shifted))
    });
    let greatest = case.args.iter().enumerate().map(|(index, arg)| {
        let (element, list) = listed(arg)?;
        let value = |i: &usize| element.to_f64(list[*i]);
        let greatest = (0..list.len()).max_by(|a, b| value(a).total_cmp(&value(b)));
        Some(Feature::Greatest(index, greatest?))
    });
    let chances = chances(case).map(Some);
    let is_cheap = report.total.warps <= CHEAP;
    let of_numbers = sizes.chain(greatest).chain(chances);
    let of_numbers = of_numbers.filter(|_| is_cheap);
    let rest = skipped.chain(blocks).chain(args).chain(of_numbers);
    lines.chain(rest).flatten().collect()
}

fn skipped(report: &Report) -> impl Iterator<Item = Feature> {
    let threads = |line: &simt::Line| (line.line, line.counts.threads);
    let mut lines: Vec<(u32, u64)> = report.lines.iter().map(threads).collect();
    lines.sort_unstable();
    let pairs: Vec<_> = lines.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let fewer = |((_, before), (line, here))| (here < before).then_some(Feature::Skipped(line));
    pairs.into_iter().filter_map(fewer)
}

fn chances(case: &Case) -> impl Iterator<Item = Feature> {
    let pairs = case.args.iter().filter_map(|arg| match listed(arg)? {
        (Element::F64, &[a, b]) => Some([a, b]),
        _ => None,
    });
    pairs.flat_map(|pair| {
        case.args.iter().filter_map(move |arg| match arg {
            &Argument::Scalar(Element::U32, size @ 0..10) => Some(Feature::Chance(size, pair)),
            _ => None,
        })
    })
}

/// Floats that are listed.
fn listed(arg: &Argument) -> Option<(Element, &[u64])> {
    match arg {
        Argument::Buffer { contents, .. } => match &contents.fill {
            Fill::List(list) if contents.element.is_float() => Some((contents.element, list)),
            _ => None,
        },
        _ => None,
    }
}

fn numbers(arg: &Argument) -> Numbers {
    let Argument::Buffer { contents, .. } = arg else {
        return Numbers::Small;
    };
    match &contents.fill {
        _ if listed(arg).is_some() => Numbers::Listed,
        Fill::Random(Some(20.0..)) => Numbers::Huge,
        Fill::Random(Some(2.0..)) => Numbers::Large,
        _ => Numbers::Small,
    }
}
