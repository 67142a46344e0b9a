//! Which of many launches are kept.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use kernels::launch::Recorded;
use simt::case::{Argument, Fill};
use simt::{Case, Dim, Module, Options, Report};

/// Something that a launch does and another may not.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    /// An instruction is executed; more than once by a warp; by a part of a warp; by one whose lanes part there.
    Line(u32),
    Again(u32),
    Partly(u32),
    Divergent(u32),
    /// More than one block along x, y or z.
    Blocks(usize),
    /// A buffer has numbers of another size, or listed ones.
    Numbers(usize, String),
}

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
        ensure!(!candidates.is_empty(), "no launch of {entry}");
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
    let lines = report.lines.iter().flat_map(|line| {
        let again = line.counts.warps > warps;
        let partly = line.counts.threads < 32 * line.counts.warps;
        let divergent = line.counts.divergent > 0;
        [
            Some(Feature::Line(line.line)),
            again.then_some(Feature::Again(line.line)),
            partly.then_some(Feature::Partly(line.line)),
            divergent.then_some(Feature::Divergent(line.line)),
        ]
    });
    let numbers = case.args.iter().enumerate().map(|(place, arg)| match arg {
        Argument::Buffer { contents, .. } => match &contents.fill {
            Fill::Random(bound) if contents.element.is_float() => {
                let large = bound.is_some_and(|bound| bound > 2.);
                Some(Feature::Numbers(place, format!("large: {large}")))
            }
            Fill::List(_) if contents.element.is_float() => {
                Some(Feature::Numbers(place, "listed".into()))
            }
            _ => None,
        },
        _ => None,
    });
    let blocks = (0..3).map(|axis| (grid[axis] > 1).then_some(Feature::Blocks(axis)));
    lines.chain(numbers).chain(blocks).flatten().collect()
}
