//! The line of a kernel that moves the most bytes.

use std::collections::{BTreeMap, BTreeSet};

use classroom::metric;
use simt::Report;

use super::check::Right;
use super::child::Found;
use super::milestones::State;

/// Instructions of one form at one line of a kernel's text: in CUDA C++, copies of a loop's body that the compiler unrolled.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place<'r> {
    entry: &'r str,
    source: Option<&'r (String, u32)>,
    /// Line of the PTX, if the text is PTX.
    line: Option<u32>,
    form: &'r str,
}

/// The line that moves the most bytes in all launches of its kernel, with all copies of it that a compiler made.
pub fn most(reports: &[Report]) -> Option<Found> {
    let mut bytes: BTreeMap<Place, (u64, BTreeSet<u32>)> = BTreeMap::new();
    for report in reports {
        for line in &report.lines {
            let place = Place {
                entry: &report.entry,
                source: line.source.as_ref(),
                line: line.source.is_none().then_some(line.line),
                form: &line.form,
            };
            let (sum, lines) = bytes.entry(place).or_default();
            let moved = 32 * line.counts.global_sectors();
            *sum += moved;
            if moved > 0 {
                lines.insert(line.line);
            }
        }
    }
    // If several have the same bytes, it is the first.
    let most = bytes.into_iter().rev().max_by_key(|(_, (sum, _))| *sum);
    let (place, (sum, lines)) = most?;
    let first = *lines.first()?;
    let all = match lines.len() {
        1 => "moves".to_owned(),
        n => format!("in {n} copies moves"),
    };
    Some(Found {
        entry: place.entry.to_owned(),
        source: place.source.cloned(),
        called: None,
        line: first,
        what: format!("`{}` {all} {sum} bytes", place.form),
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
    fn copies_of_a_line_of_cuda_count_together() {
        let of = |place, number, form: &str, sectors| Line {
            source: Some(("k.cu".into(), place)),
            ..line(number, form, sectors)
        };
        let report = Report {
            entry: "a".into(),
            lines: vec![
                of(7, 20, "ld.global.f32", 3),
                of(7, 21, "ld.global.f32", 3),
                of(7, 22, "ld.global.f32", 3),
                of(7, 23, "ld.global.f32", 0),
                of(7, 24, "st.global.f32", 8),
                of(9, 25, "st.global.f32", 8),
            ],
            ..Report::default()
        };
        let found = most(&[report]).map(|found| (found.source, found.line, found.what));
        let what = "`ld.global.f32` in 3 copies moves 288 bytes".to_owned();
        assert_eq!(found, Some((Some(("k.cu".into(), 7)), 20, what)));
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
