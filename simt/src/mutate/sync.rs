//! Mutations of synchronisation.

use super::{Change, Site};

/// Deletes `bar.sync`, `bar.warp.sync`, `membar`, `fence`, `cp.async.wait_group` …
///
/// `bar.red` stays, because its result would be missing, too, which is another defect.
pub fn drop(site: &Site) -> Vec<Change> {
    let opcode = site.instruction.opcode.as_str();
    let orders = matches!(opcode, "bar" | "barrier" | "membar" | "fence") && !site.has("red");
    let waits = ["wait_group", "wait_all", "commit_group"];
    if orders || waits.iter().any(|step| is_copy(site, step)) {
        vec![Change::Dropped]
    } else {
        vec![]
    }
}

/// Whether the instruction is `cp.async.<step>`.
fn is_copy(site: &Site, step: &str) -> bool {
    site.instruction.opcode == "cp" && site.has("async") && site.has(step)
}

/// `cp.async.wait_group n` → `n + 1`
pub fn wait_less(site: &Site) -> Vec<Change> {
    match site.integer(0) {
        Some(groups) if is_copy(site, "wait_group") => {
            vec![site.with_integer(0, groups + 1).into()]
        }
        _ => vec![],
    }
}

/// Removes the last lane from a constant member mask.
///
/// The operators of the instructions that compute a mask cover the other masks.
pub fn shrink_mask(site: &Site) -> Vec<Change> {
    let operands = site.instruction.operands.len();
    let index = match site.instruction.opcode.as_str() {
        "bar" if site.has("warp") => 0,
        "shfl" | "vote" | "match" | "redux" if site.has("sync") => operands - 1,
        _ => return vec![],
    };
    let mask = site.integer(index).map(|mask| mask as u32);
    let shrunken = |mask: u32| Some(mask & !(1 << mask.checked_ilog2()?));
    let changed = |mask: u32| site.with_integer(index, mask.into()).into();
    mask.and_then(shrunken).map(changed).into_iter().collect()
}
