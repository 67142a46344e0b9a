// Against two passes in f64; in one piece, and merged from pieces as the lanes of a warp would. And that no row is kept.

use crate::submission::{NOTHING, Stats, merge, stats};
use exercise::{Fresh, Verdict, allocated, close, expect};

/// Numbers of a row: in f32 they are 16 MiB, more than the stack of a thread.
const MANY: u32 = 1 << 22;

/// Bytes that `stats` may ask for, however long the row.
const KEPT: usize = 10_000;

pub fn check(fresh: &mut Fresh) -> Verdict {
    let of_none = stats(std::iter::empty());
    expect(of_none == NOTHING, "stats of no number", format!("NOTHING, {NOTHING:?}"), format!("{of_none:?}"))?;
    for len in [1, 2, 31, 1000] {
        // Far apart, so that a sum of differences from another maximum overflows or vanishes.
        let shift = 200. * (fresh.below(5) as f32 - 2.);
        let row: Vec<f32> = fresh.numbers(len, 100.).iter().map(|x| x + shift).collect();
        held(&format!("stats of {len} numbers"), stats(row.iter().copied()), &row)?;
        merged(&format!("{len} numbers"), &row)?;
        // Of a row with some masked scores at its beginning, as many as a part may have.
        let masked = 1 + fresh.below(len);
        let row = [vec![f32::NEG_INFINITY; masked], row].concat();
        let what = format!("{len} numbers behind {masked} of −∞");
        held(&format!("stats of {what}"), stats(row.iter().copied()), &row)?;
        merged(&what, &row)?;
    }
    // Made one after the other: only who keeps them needs memory for them.
    let many = (0..MANY).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 65536. - 128.);
    let (_, bytes) = allocated(|| stats(many));
    let what = format!("bytes that stats of {MANY} numbers, seen once, allocates");
    expect(bytes < KEPT, what, format!("fewer than {KEPT}: the numbers are not kept"), bytes)?;
    let nothing = merge(NOTHING, NOTHING);
    expect(nothing == NOTHING, "NOTHING merged with NOTHING", format!("{NOTHING:?}"), format!("{nothing:?}"))
}

/// The parts of a row, merged in either order.
fn merged(what: &str, row: &[f32]) -> Verdict {
    let lanes = row.chunks(row.len().div_ceil(4)).map(|part| stats(part.iter().copied()));
    held(&format!("{what}, merged from parts"), lanes.fold(NOTHING, merge), row)?;
    let turned = row.chunks(3).rev().map(|part| stats(part.iter().copied()));
    held(&format!("{what}, merged backwards"), turned.fold(NOTHING, |a, b| merge(b, a)), row)
}

fn held(what: &str, found: Stats, row: &[f32]) -> Verdict {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|&x| f64::from(x - max).exp()).sum();
    let found = [found.max, found.sum].map(f64::from);
    close(format!("{what} (max, then sum)"), &found, &[f64::from(max), sum], 1e-4)
}
