//! `--device sim`: the simulator runs every kernel's PTX on tensors of the host. After the answer, the
//! program prints the findings and each kernel's cost.

mod cost;
mod place;
mod roofline;

use data::BadInput;
use kernels::launch;
use simt::{Finding, Options, Report, in_all};

use crate::args::{ModelArgs, RunArgs};
use crate::device::Choice;
use cost::{Cost, LEGEND};
use roofline::Roofline;
pub use roofline::h200;

/// Runs `program`, and with `--device sim` simulates every kernel that it launches.
///
/// # Errors
/// The errors of the program; [`BadInput`] for conflicting options; an error after the list of findings if
/// there are any.
pub fn simulated(
    model: &ModelArgs,
    run: &RunArgs,
    program: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let roofline = Roofline::new(model, run)?;
    if model.device != Choice::Sim {
        return program();
    }
    if run.trace {
        let expected = "--device cpu or cuda (the simulator measures no time)";
        return Err(BadInput::new("--trace", expected, "--device sim").into());
    }
    let (ended, reports) = launch::simulated(Options::default(), program);
    let findings = findings(&reports);
    if let Err(error) = ended {
        if !findings.is_empty() {
            let count = data::counted(findings.len(), "finding");
            data::println!(
                "{}{count}, and then an error, which they may have caused",
                listed(&findings)
            );
        }
        return Err(error);
    }
    let costs = Cost::by_kernel(&reports);
    print(&costs, &findings);
    if let Some(roofline) = roofline {
        roofline.write(&costs)?;
        data::println!("roofline  {}", roofline.path().display());
    }
    match findings.len() {
        0 => Ok(()),
        n => anyhow::bail!("simulated: expected no findings, found {n}"),
    }
}

/// Merges equal findings of all launches: the kernel, and the finding with its count.
fn findings(reports: &[Report]) -> Vec<(&str, Finding)> {
    let mut all: Vec<(&str, Finding)> = vec![];
    for report in reports {
        for finding in &report.findings {
            let same = |(kernel, known): &&mut (&str, Finding)| {
                *kernel == report.entry
                    && (known.line, known.class) == (finding.line, finding.class)
            };
            match all.iter_mut().find(same) {
                Some((_, known)) => known.count += finding.count,
                None => all.push((&report.entry, finding.clone())),
            }
        }
    }
    all
}

fn print(costs: &[Cost], findings: &[(&str, Finding)]) {
    data::print!("\n{}{LEGEND}{}", cost::table(costs), listed(findings));
    if findings.is_empty() {
        data::println!("no findings");
    }
}

/// A line for each finding, with the file and its line where the kernel's text has lines of its own.
fn listed(findings: &[(&str, Finding)]) -> String {
    let line = |(kernel, finding): &(&str, Finding)| match place::of(kernel, finding) {
        Some((place, code)) => {
            let Finding {
                class,
                thread,
                what,
                count,
                ..
            } = finding;
            let times = in_all(*count, 1);
            format!("{place}: {class}: {thread}: {what}{times} | {code}\n")
        }
        None => format!("{kernel}: {finding}\n"),
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::{Class, Thread};

    fn report(entry: &str, line: u32, class: Class) -> Report {
        let thread = Thread {
            block: [0; 3],
            thread: [7, 0, 0],
            flat: [true; 2],
        };
        Report {
            entry: entry.into(),
            findings: vec![Finding {
                class,
                line,
                source: None,
                called: None,
                form: "st.global.f32".into(),
                thread,
                what: "4 bytes behind y".into(),
                count: 2,
                within_warp: false,
            }],
            ..Report::default()
        }
    }

    #[test]
    fn equal_findings_of_several_launches_are_one_line() {
        let reports = [
            report("norm", 9, Class::OutOfBounds),
            report("norm", 9, Class::OutOfBounds),
            report("norm", 9, Class::Race),
            report("gelu", 9, Class::OutOfBounds),
        ];
        let found = findings(&reports);
        let counts: Vec<_> = found.iter().map(|(k, f)| (*k, f.class, f.count)).collect();
        let expected = [
            ("norm", Class::OutOfBounds, 4),
            ("norm", Class::Race, 2),
            ("gelu", Class::OutOfBounds, 2),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_finding_of_hand_written_ptx_has_its_file_and_others_their_kernel() {
        let reports = [
            report("rms_norm_f32_level3", 1, Class::Race),
            report("mine", 9, Class::Race),
        ];
        let listed = listed(&findings(&reports));
        let lines: Vec<&str> = listed.lines().collect();
        let [first, second] = lines[..] else {
            panic!("{listed}")
        };
        let place = "kernels/src/rms_norm/level3.ptx:1: race: thread 7 of block 0: 4 bytes behind y (2 such faults in all) | //";
        assert!(first.contains(place), "{first}");
        assert!(
            second.starts_with("mine: line 9: `st.global.f32`: "),
            "{second}"
        );
    }
}
