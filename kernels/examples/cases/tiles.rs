//! Small launches of what only large sizes choose.
//!
//! A product takes its large tiles where there are hundreds of blocks, and attention its tall ones. A tile is
//! right or wrong in a few blocks too, so the launches of the small tiles are given to the large ones. And a
//! graph is split into many parts where it has many thousand nodes; the join does not depend on them.

use kernels::launch::Recorded;
use simt::Case;
use simt::case::{Argument, Fill};

/// Blocks beyond which a launch is one that was made large to choose a tile.
const LARGE: u32 = 200;

/// Heads of attention that are kept: blocks along x.
const HEADS: u32 = 2;

/// With each large launch replaced by small ones.
pub fn smaller(launches: Vec<Recorded>) -> Vec<Recorded> {
    let (large, small): (Vec<_>, Vec<_>) = launches.into_iter().partition(is_large);
    let mut all: Vec<Recorded> = small.iter().map(fewer_heads).collect();
    for large in &large {
        let like = small
            .iter()
            .filter(|s| std::ptr::eq(s.module, large.module));
        all.extend(like.filter_map(|small| retiled(large, small)));
    }
    let split: Vec<Recorded> = all.iter().filter_map(more_splits).collect();
    all.extend(split);
    all
}

/// Parts of a graph, more than a block has rows of threads for.
const SPLITS: u64 = 41;

/// The join of as many sums, random ones as those of `launch` are.
fn more_splits(launch: &Recorded) -> Option<Recorded> {
    if !entry(launch).starts_with("segment_mean_join") {
        return None;
    }
    let mut launch = launch.clone();
    let [
        Argument::Buffer { contents, .. },
        _,
        _,
        Argument::Scalar(_, splits),
        ..,
    ] = &mut launch.case.args[..]
    else {
        return None;
    };
    let (Fill::Random(_), Some(shape)) = (&contents.fill, &mut contents.shape) else {
        return None;
    };
    shape
        .iter_mut()
        .for_each(|len| *len = *len / *splits * SPLITS);
    *splits = SPLITS;
    Some(launch)
}

fn is_large(launch: &Recorded) -> bool {
    launch.case.dim.grid[0] > LARGE && tile(entry(launch)).is_some()
}

fn entry(launch: &Recorded) -> &str {
    launch.case.entry.as_deref().unwrap_or_default()
}

/// `linear_gelu_f32_level4_64x64` → (`linear_gelu_f32_level4`, 64, 64); none of attention, whose names begin
/// with sizes.
fn tile(entry: &str) -> Option<(&str, u32, u32)> {
    let (op, sizes) = entry.rsplit_once('_')?;
    let (m, n) = sizes.split_once('x')?;
    Some((op, m.parse().ok()?, n.parse().ok()?))
}

/// The arguments of `small` for the entry of `large`, if they are two tiles of one op.
fn retiled(large: &Recorded, small: &Recorded) -> Option<Recorded> {
    let (op, bm, bn) = tile(entry(large))?;
    let (other, ..) = tile(entry(small))?;
    if op != other {
        return None;
    }
    // Where an op has its number of rows of x, and how many rows of w make a column of y.
    let (first, each) = match op {
        op if op.starts_with("patch_embed") => (6, 1),
        op if op.starts_with("linear_swiglu") => (4, 2),
        op if op.starts_with("linear_gelu") => (4, 1),
        _ => (5, 1), // linear has a residual, too
    };
    let size = |index: usize| match small.case.args.get(index) {
        Some(Argument::Scalar(_, bits)) => u32::try_from(*bits).ok(),
        _ => None,
    };
    let mut dim = large.case.dim;
    dim.grid[0] = size(first)?.div_ceil(bm) * (each * size(first + 1)?).div_ceil(bn);
    Some(Recorded {
        module: large.module,
        case: Case {
            entry: large.case.entry.clone(),
            dim,
            args: small.case.args.clone(),
        },
    })
}

/// Attention's heads do not know of each other.
fn fewer_heads(launch: &Recorded) -> Recorded {
    let mut launch = launch.clone();
    if entry(&launch).starts_with("attention_d") && !entry(&launch).contains("decode") {
        let heads = &mut launch.case.dim.grid[0];
        if *heads > 8 {
            *heads = HEADS;
        }
    }
    launch
}
