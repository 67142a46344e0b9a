//! The chart of an op: each level compared with PyTorch.

use super::table::{Case, cases, columns, levels};
use crate::chart::figure;
use anyhow::Result;
use charts::{HeatMap, Panel};
use results::{OpResults, OpRow, spoken};

/// A heat map with a panel per dtype, a row per shape and a column per level; nothing where PyTorch was not recorded.
pub fn heat(recorded: &OpResults, op: &str) -> Result<String> {
    let cases = cases(recorded, op);
    let panels = cases.chunk_by(|a, b| a[0].dtype == b[0].dtype);
    let panels: Vec<Panel> = panels.filter_map(panel).collect();
    if panels.is_empty() {
        return Ok(String::new());
    }
    let title = format!("{op}, compared with PyTorch");
    let map = HeatMap {
        title: title.clone(),
        note: "time of PyTorch's fastest mode / time of the level; above 1, the level is faster"
            .into(),
        panels,
    };
    let svg = charts::svg_text(&map)?;
    Ok(figure("chart", &title, &svg))
}

/// The cases of one dtype that have a time of PyTorch.
fn panel(cases: &[Case]) -> Option<Panel> {
    let columns = columns(cases);
    let rows = cases.iter().filter_map(|case| row(case, &columns));
    let rows: Vec<(String, Vec<Option<f64>>)> = rows.collect();
    let first = cases.first()?.first()?;
    (!rows.is_empty()).then(|| Panel {
        title: first.dtype.clone(),
        columns: columns.iter().map(|level| spoken(level)).collect(),
        rows,
    })
}

fn row(case: &Case, columns: &[&str]) -> Option<(String, Vec<Option<f64>>)> {
    let pytorch: Vec<&&OpRow> = case
        .iter()
        .filter(|row| row.level.starts_with("pytorch"))
        .collect();
    if pytorch.is_empty() {
        return None;
    }
    let levels = levels(case);
    let ratio = |level: &&str| {
        let row = levels.iter().find(|row| row.level == **level)?;
        // By a clock that both have; the fastest mode by each.
        let ratios = pytorch.iter().map(|other| {
            let (own, other) = row.beside(other);
            other / own
        });
        Some(ratios.fold(f64::INFINITY, f64::min))
    };
    let name = case[0].shape.replace('x', "×");
    Some((name, columns.iter().map(ratio).collect()))
}
