//! Charts of recorded worklogs: one bar per step.

use std::path::Path;

use anyhow::Result;
use charts::{Axis, Bar, BarChart, Group};
use results::OpResults;

use super::{WORKLOGS, Worklog};
use crate::record::folder::{Drawing, draw};

/// Draws every record of `benches/results/worklogs` as `charts/NAME-worklog-OP`.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        for worklog in WORKLOGS {
            let chart = chart(worklog, recorded)?;
            if chart.groups.is_empty() {
                data::note(format_args!(
                    "skipped: no chart of {} in worklogs/{name}.json: not recorded",
                    worklog.op
                ));
                continue;
            }
            drawn.push(draw(
                root,
                name,
                &format!("worklog-{}", worklog.op),
                &chart,
            )?);
        }
    }
    Ok(drawn)
}

fn chart(worklog: &Worklog, results: &OpResults) -> Result<BarChart> {
    let mut groups = vec![];
    for step in worklog.shares(results)? {
        let percent = 100. * step.share;
        groups.push(Group {
            name: format!("{}. {}", step.number, step.idea),
            bars: vec![Bar {
                name: format!("compared with {}", step.reference),
                value: percent,
                spread: (percent, percent),
                label: format!("{percent:.0}%, {}", step.rate()),
            }],
        });
    }
    Ok(BarChart {
        title: format!("{}, {}", worklog.title, results.machine.name),
        axis: Axis::linear("throughput (% of what it is compared with)"),
        mark: Some(100.),
        groups,
    })
}
