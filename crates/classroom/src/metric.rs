//! Costs of a launch, as formulas of its counters: `global_load_sectors / global_load_requests`.
//!
//! A formula consists of terms joined by ` / ` and ` * `, evaluated from the left. A term is
//!
//! - a counter of [`simt::Counts`], by its name; an atomic counts as a load and as a store, because it reads and writes;
//! - `op:bar.sync`, the number of warp executions of instructions that start with it, or are another spelling of it, as
//!   `mad.rn.f32` is of `fma`;
//! - a size of the launch, `rows`;
//! - a number.

use data::BadInput;
use serde_json::Value;
use simt::{Counts, Report};

use crate::spec::Sizes;

/// Evaluates `formula` for a launch.
///
/// # Errors
/// A term is invalid.
pub fn value(formula: &str, report: &Report, sizes: &Sizes) -> Result<f64, BadInput> {
    let mut words = formula.split_whitespace();
    let mut value = term(words.next().unwrap_or_default(), report, sizes)?;
    while let Some(operator) = words.next() {
        let with = term(words.next().unwrap_or_default(), report, sizes)?;
        value = match operator {
            // Without requests there are no sectors.
            "/" if value == 0. => 0.,
            "/" => value / with,
            "*" => value * with,
            _ => {
                return Err(BadInput::new(
                    formula,
                    "` / ` or ` * ` between terms",
                    operator,
                ));
            }
        };
    }
    Ok(value)
}

fn term(term: &str, report: &Report, sizes: &Sizes) -> Result<f64, BadInput> {
    if let Some(form) = term.strip_prefix("op:") {
        let lines = report.lines.iter().filter(|line| is_of(&line.form, form));
        return Ok(lines.map(|line| line.counts.warps).sum::<u64>() as f64);
    }
    let size = sizes.get(term).map(|&n| n as f64);
    let found = size
        .or_else(|| counter(term, &report.total))
        .or_else(|| term.parse().ok());
    found.ok_or_else(|| BadInput::new("a formula", "a counter, op:, a size or a number", term))
}

/// Whether an instruction is one of a form that a limit names. A barrier of the block has several spellings, with `.red` it
/// also reduces, and who waits for a cluster waits for its block.
fn is_of(found: &str, form: &str) -> bool {
    found.starts_with(form)
        || form == "bar.sync" && is_barrier(found)
        || form == "fma" && found.starts_with("mad.") && found.contains(".f")
}

fn is_barrier(form: &str) -> bool {
    let mut parts = form.split('.');
    if !matches!(parts.next(), Some("bar" | "barrier")) {
        return false;
    }
    let kind = parts.find(|part| !matches!(*part, "cta" | "cluster"));
    matches!(kind, Some("sync" | "red" | "wait"))
}

/// Returns a counter by name; those of loads and stores include atomics, so that no limit is kept by an atomic in the place
/// of a load.
fn counter(name: &str, counts: &Counts) -> Option<f64> {
    let values = serde_json::to_value(counts).ok()?;
    let atomics = match name {
        "global_load_requests" | "global_store_requests" => counts.global_atomic_requests,
        "global_load_sectors" | "global_store_sectors" => counts.global_atomic_sectors,
        "global_load_ideal" | "global_store_ideal" => counts.global_atomic_ideal,
        "shared_load_wavefronts" | "shared_store_wavefronts" => counts.shared_atomic_wavefronts,
        "shared_load_requests"
        | "shared_load_ideal"
        | "shared_store_requests"
        | "shared_store_ideal" => counts.shared_atomic_requests,
        _ => 0,
    };
    let value = values.get(name).and_then(Value::as_f64)?;
    Some(value + atomics as f64)
}

/// Returns the first instruction that copies in bulk. No counter has the requests or sectors of such copies.
pub fn bulk_copy(report: &Report) -> Option<&simt::Line> {
    let mut lines = report.lines.iter();
    lines.find(|line| line.form.starts_with("cp.async.bulk"))
}

/// Returns the first instruction whose costs `formula` does not count: bulk copies, what waits for an `mbarrier`, and accesses
/// to another block of the cluster. The wavefronts of shared atomics are counted as a lower bound alone, and no counter of
/// barriers has the accesses by which warps can wait for each other without one.
pub fn uncounted<'r>(formula: &str, report: &'r Report) -> Option<&'r simt::Line> {
    let of_wavefronts = formula.contains("_wavefronts");
    let of_barriers = formula.contains("op:bar.sync");
    let is_uncounted = |line: &&simt::Line| {
        let mut begins = ["cp.async.bulk", "mbarrier", "mapa"].iter();
        let counts = &line.counts;
        begins.any(|begin| line.form.starts_with(begin))
            || counts.cluster_load_requests + counts.cluster_store_requests > 0
            || of_wavefronts && counts.shared_atomic_requests > 0
            || of_barriers && is_of_own_barrier(&line.form)
    };
    report.lines.iter().find(is_uncounted)
}

/// Whether a kernel can make a barrier of such instructions: atomics, and accesses that other threads see in an order.
fn is_of_own_barrier(form: &str) -> bool {
    let orders = |part: &str| {
        let all = [
            "acquire", "release", "relaxed", "acq_rel", "volatile", "mmio",
        ];
        all.contains(&part)
    };
    let is_atomic = ["atom", "red", "multimem"].contains(&form.split('.').next().unwrap_or(form));
    is_atomic || form.split('.').any(orders)
}

/// Returns the lines with the maximum of the formula's first term, in source order; empty if all are 0.
pub fn costliest<'a>(formula: &str, report: &'a Report) -> Vec<&'a simt::Line> {
    let name = formula.split_whitespace().next().unwrap_or_default();
    let cost = |line: &simt::Line| match name.strip_prefix("op:") {
        Some(form) if is_of(&line.form, form) => line.counts.warps as f64,
        Some(_) => 0.,
        None => counter(name, &line.counts).unwrap_or(0.),
    };
    let most = report.lines.iter().map(cost).fold(0., f64::max);
    let lines = report.lines.iter();
    lines
        .filter(|&line| most > 0. && cost(line) == most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_of_counters_sizes_and_numbers() {
        let mut report = Report::default();
        report.total.global_load_sectors = 12;
        report.total.global_load_requests = 3;
        let sizes = Sizes::from([("rows".into(), 2)]);
        let value = |formula| value(formula, &report, &sizes);
        assert_eq!(
            value("global_load_sectors / global_load_requests * rows").unwrap(),
            8.
        );
        assert_eq!(value("op:bar.sync / 2").unwrap(), 0.);
        assert_eq!(
            value("shared_load_wavefronts / shared_load_requests").unwrap(),
            0.
        );
        for wrong in ["", "columns", "rows + 1", "rows /"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_atomic_counts_as_a_load_and_as_a_store() {
        let mut report = Report::default();
        report.total.global_load_sectors = 12;
        report.total.global_load_requests = 3;
        report.total.global_atomic_sectors = 4;
        report.total.global_atomic_requests = 2;
        report.total.shared_load_requests = 1;
        report.total.shared_atomic_requests = 5;
        report.total.shared_atomic_wavefronts = 160;
        let value = |formula| value(formula, &report, &Sizes::new()).unwrap();
        assert_eq!(value("global_load_sectors"), 16.);
        assert_eq!(value("global_load_requests"), 5.);
        assert_eq!(value("global_store_sectors"), 4.);
        assert_eq!(value("global_store_requests"), 2.);
        assert_eq!(value("shared_load_requests"), 6.);
        assert_eq!(value("shared_store_requests"), 5.);
        assert_eq!(
            value("shared_store_wavefronts / shared_store_requests"),
            32.
        );
        assert_eq!(value("flops"), 0.);
    }

    #[test]
    fn costs_without_a_counter_are_found() {
        let found_by = |formula: &str, form: &str, cluster_load_requests| {
            let counts = Counts {
                cluster_load_requests,
                ..Counts::default()
            };
            let [other, line] = ["ld.shared.f32", form].map(|form| simt::Line {
                line: 1,
                source: None,
                form: form.into(),
                counts: Counts::default(),
            });
            let report = Report {
                lines: vec![other, simt::Line { counts, ..line }],
                ..Report::default()
            };
            uncounted(formula, &report).map(|line| line.form.clone())
        };
        let found = |form, requests| found_by("flops", form, requests);
        for form in [
            "cp.async.bulk.commit_group",
            "mbarrier.try_wait.shared.b64",
            "mapa.u64",
        ] {
            assert_eq!(found(form, 0).as_deref(), Some(form));
        }
        assert_eq!(found("ld.f32", 1).as_deref(), Some("ld.f32"));
        for form in [
            "ld.f32",
            "cp.async.ca.shared.global",
            "st.shared::cta.f32",
            "atom.shared.or.b32",
        ] {
            assert_eq!(found(form, 0), None, "{form}");
        }
        for form in [
            "ld.volatile.shared.u32",
            "ld.acquire.cta.shared.u32",
            "atom.acq_rel.cta.shared.add.u32",
            "red.shared.add.u32",
            "st.volatile.u32",
        ] {
            assert_eq!(
                found_by("op:bar.sync / rows", form, 0).as_deref(),
                Some(form)
            );
        }
        for form in ["ld.shared.u32", "bar.red.popc.u32"] {
            assert_eq!(found_by("op:bar.sync / rows", form, 0), None);
        }
    }

    #[test]
    fn every_spelling_counts() {
        for form in [
            "bar.sync",
            "bar.cta.sync",
            "barrier.sync",
            "barrier.sync.aligned",
            "barrier.cta.sync.aligned",
            "bar.red.popc.u32",
            "barrier.cluster.wait",
            "barrier.cluster.wait.acquire.aligned",
        ] {
            assert!(is_of(form, "bar.sync"), "{form}");
        }
        for form in [
            "bar.warp.sync",
            "barrier.cluster.arrive",
            "bar.arrive",
            "mul.f32",
        ] {
            assert!(!is_of(form, "bar.sync"), "{form}");
        }
        assert!(is_of("mad.rn.f32", "fma") && is_of("mad.f64", "fma"));
        assert!(!is_of("mad.lo.u32", "fma") && !is_of("mad.wide.s32", "fma"));
    }
}
