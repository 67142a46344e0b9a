//! Buffers after a launch: how many elements it wrote, and the first values.

use simt::case::{Element, Operands};
use simt::{Error, Kernel, Launch, Options};

/// How many values of a buffer are shown.
const SHOWN: usize = 8;

/// `y: 32 of 33 elements written, first missing 32; 0.000 0.841 …`, for each `poison` buffer and each other one that
/// changed; if `quiet`, only for a `poison` buffer with unwritten elements after a launch without findings.
///
/// # Errors
/// Those of [`Launch::run`].
pub fn all(
    kernel: &Kernel,
    clusters: Option<[u32; 3]>,
    given: &Operands,
    left: &Operands,
    options: &Options,
    is_clean: bool,
    quiet: bool,
) -> Result<String, Error> {
    let mut same: Vec<Vec<bool>> = (0..left.buffers.len())
        .map(|b| unchanged(given, left, b))
        .collect();
    let is_missing = |b: usize, same: &[bool]| is_poison(given, b) && same.contains(&true);
    // A kernel may write the bits of the poison: then it writes them over other bits as well.
    if is_clean && (0..same.len()).any(|b| is_missing(b, &same[b])) {
        let mut other = given.clone();
        let poison = other
            .buffers
            .iter_mut()
            .filter(|buffer| !buffer.initialised);
        poison.for_each(|buffer| buffer.bytes.fill(0));
        let options = Options {
            trace: None,
            ..options.clone()
        };
        let launch = Launch::new(kernel, other.dim, &other.args);
        let launch = clusters.map_or(launch, |size| launch.in_clusters(size));
        launch.run(&mut other.buffers, &options)?;
        for (b, same) in same
            .iter_mut()
            .enumerate()
            .filter(|(b, _)| is_poison(given, *b))
        {
            let again = elements(&other, b).1.map(|bits| bits == 0);
            same.iter_mut()
                .zip(again)
                .for_each(|(same, again)| *same &= again);
        }
    }
    let lines = (0..same.len())
        .filter(|&b| {
            if quiet {
                is_clean && is_missing(b, &same[b])
            } else {
                is_poison(given, b) || same[b].contains(&false)
            }
        })
        .map(|b| line(left.name(b), is_poison(given, b), &same[b], left, b));
    Ok(lines.collect())
}

/// Whether the host left a buffer unwritten.
fn is_poison(given: &Operands, b: usize) -> bool {
    !given.buffers[b].initialised
}

/// The elements of a buffer, as bits.
fn elements(operands: &Operands, b: usize) -> (Element, impl Iterator<Item = u64>) {
    let element = operands.layouts[b].0;
    let bits = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |bits, &byte| bits << 8 | u64::from(byte))
    };
    (
        element,
        operands.buffers[b]
            .bytes
            .chunks_exact(element.bytes())
            .map(bits),
    )
}

/// Element by element, whether it has the bits that it had.
fn unchanged(given: &Operands, left: &Operands, b: usize) -> Vec<bool> {
    let (given, left) = (elements(given, b).1, elements(left, b).1);
    given.zip(left).map(|(given, left)| given == left).collect()
}

fn line(name: &str, is_poison: bool, same: &[bool], left: &Operands, b: usize) -> String {
    let (all, written) = (same.len(), same.iter().filter(|same| !**same).count());
    let done = if is_poison { "written" } else { "changed" };
    // An element that kept its bits may have been written with them.
    let first = same.iter().position(|same| *same && is_poison);
    let first = first.map_or(String::new(), |first| format!(", first missing {first}"));
    let (element, bits) = elements(left, b);
    let values = bits.zip(same).take(SHOWN).map(|(bits, same)| match same {
        true if is_poison => "?".into(),
        _ => number(element, bits),
    });
    let values: Vec<String> = values.collect();
    let more = if all > SHOWN { " …" } else { "" };
    let values = match written {
        0 => String::new(),
        _ => format!("; {}{more}", values.join(" ")),
    };
    format!("  {name}: {written} of {all} elements {done}{first}{values}\n")
}

/// `0.841`, `1.50e-7` or an integer.
fn number(element: Element, bits: u64) -> String {
    if !element.is_float() {
        return element.text(bits);
    }
    match element.to_f64(bits) {
        x if x == 0. || (1e-3..1e5).contains(&x.abs()) => format!("{x:.3}"),
        x if x.is_finite() => format!("{x:.2e}"),
        x => x.to_string(),
    }
}
