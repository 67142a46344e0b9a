//! The line of a kernel that moves the most bytes.

use std::collections::BTreeMap;

use classroom::metric;
use simt::Report;

use super::check::Right;
use super::child::Found;
use super::milestones::State;

/// The line that moves the most bytes in all launches of its kernel.
pub fn most(reports: &[Report]) -> Option<Found> {
    let mut bytes: BTreeMap<(&str, u32), (u64, &simt::Line)> = BTreeMap::new();
    for report in reports {
        for line in &report.lines {
            let (sum, _) = bytes.entry((&report.entry, line.line)).or_insert((0, line));
            *sum += 32 * line.counts.global_sectors();
        }
    }
    // If several have the same bytes, it is the first.
    let most = bytes.into_iter().rev().max_by_key(|(_, (sum, _))| *sum);
    let ((entry, line), (sum, of)) = most.filter(|(_, (sum, _))| *sum > 0)?;
    Some(Found {
        entry: entry.to_owned(),
        source: of.source.clone(),
        line,
        what: format!("`{}` moves {sum} bytes", of.form),
    })
}

/// The copies in bulk of kernels, whose bytes the simulator does not count.
pub fn uncounted(reports: &[Report]) -> Option<String> {
    let line = reports.iter().find_map(metric::bulk_copy)?;
    let form = &line.form;
    Some(format!(
        "loads and stores, whose bytes are counted, found the bulk copy `{form}`"
    ))
}

/// The state of `traffic`, at the kernel's line if kernels move too many bytes.
pub fn in_kernel(method: &str, right: &Right, state: State) -> State {
    let most = right.most.as_ref().filter(|_| right.left.is_none());
    match most {
        Some(most) if !state.passed => {
            let line = format!(
                "{}: {method}: traffic: {}, most of them here: {}",
                most.place, state.line, most.what
            );
            State { line, ..state }
        }
        _ => state,
    }
}

#[cfg(test)]
mod tests {
    use simt::{Counts, Line};

    use super::super::check::Most;
    use super::super::child;
    use super::super::milestones::traffic;
    use super::*;

    fn line(line: u32, form: &str, sectors: u64) -> Line {
        Line {
            line,
            source: None,
            form: form.into(),
            counts: Counts {
                global_load_sectors: sectors,
                ..Counts::default()
            },
        }
    }

    #[test]
    fn the_line_that_moves_most_counts_all_launches() {
        let report = |entry: &str, lines| Report {
            entry: entry.into(),
            lines,
            ..Report::default()
        };
        let twice = report(
            "a",
            vec![line(3, "ld.global.f32", 5), line(4, "ld.global.u32", 6)],
        );
        let once = report("b", vec![line(9, "ld.global.v4.f32", 11)]);
        let found = most(&[twice.clone(), once, twice]);
        let found = found.map(|found| (found.entry, found.line, found.what));
        let what = "`ld.global.u32` moves 384 bytes".to_owned();
        assert_eq!(found, Some(("a".into(), 4, what)));
        assert!(most(&[report("a", vec![line(3, "add.f32", 0)])]).is_none());
    }

    #[test]
    fn copies_in_bulk_are_named() {
        let report = |form| Report {
            lines: vec![line(3, "ld.global.f32", 5), line(4, form, 0)],
            ..Report::default()
        };
        let form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
        let found = uncounted(&[report("cp.async.ca.shared.global"), report(form)]);
        let expected =
            format!("loads and stores, whose bytes are counted, found the bulk copy `{form}`");
        assert_eq!(found, Some(expected));
        assert_eq!(uncounted(&[report("cp.async.ca.shared.global")]), None);
    }

    #[test]
    fn too_much_traffic_is_at_the_kernels_line() {
        let right = |bytes, left: Option<&str>| Right {
            counts: child::Counts {
                launches: 1,
                bytes,
                ..child::Counts::default()
            },
            left: left.map(str::to_owned),
            most: Some(Most {
                place: "k.ptx:4".into(),
                what: "`ld.global.f32` moves 900 bytes".into(),
            }),
            ..Right::default()
        };
        let of = |right: &Right| in_kernel("linear", right, traffic(right, 1000)).line;
        let over = of(&right(1300, None));
        let expected = "k.ptx:4: linear: traffic: expected at most 1.2 times the minimum of 1000 bytes, \
                        found 1.30 times (1300 bytes), most of them here: `ld.global.f32` moves 900 bytes";
        assert_eq!(over, expected);
        assert!(of(&right(1300, Some("w, found none"))).starts_with("expected w, found none"));
        assert!(of(&right(1000, None)).starts_with("expected at most"));
    }
}
