//! Heat map of small matmuls: speed-up of level 5 over the fastest library, by shape.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use charts::{HeatMap, Panel};
use kernels::dispatch::tune::PICKED;
use results::{OpResults, OpRow, spoken};

use super::{CANDLE, GEMM};
use crate::record::folder::{Drawing, draw};

/// Draws every record of `benches/results/small` as `charts/NAME-small`. A record without a library next to
/// level 5 is skipped by name.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        if cells(recorded).is_empty() {
            data::note(format_args!(
                "skipped: no map of small/{name}.json: it has no library next to level 5"
            ));
            continue;
        }
        drawn.push(draw(root, name, "small", &map(recorded))?);
    }
    Ok(drawn)
}

/// A batch of matmuls (M × K)·(K × N), and the speed-up of level 5.
#[derive(Debug, Clone, Copy)]
struct Cell {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    ratio: f64,
}

impl Cell {
    fn is_square(&self) -> bool {
        self.m == self.n && self.n == self.k
    }
}

/// Panels for squares by side, batches of squares, and other shapes by rows and weight.
fn map(results: &OpResults) -> HeatMap {
    let cells = cells(results);
    let of = |wanted: &dyn Fn(&Cell) -> bool| -> Vec<Cell> {
        cells.iter().copied().filter(|cell| wanted(cell)).collect()
    };
    let squares = of(&|cell| cell.is_square());
    let others = of(&|cell| !cell.is_square());
    let side = |n: &usize| n.to_string();
    let panels = [
        panel(
            "square, n × n by n × n: one row per n, one column per batch size",
            &squares,
            |cell| (cell.n, cell.batch),
            side,
            side,
        ),
        panel(
            "M × K by K × N: one column per M, one row per N × K (the weight of a layer)",
            &others,
            |cell| ((cell.n, cell.k), cell.m),
            |(n, k)| format!("{n} × {k}"),
            side,
        ),
    ];
    HeatMap {
        title: format!("Small matmuls on {}", results.machine.name),
        note: format!(
            "f32: time of the fastest library ({}) / time of {}; above 1, level 5 is faster",
            libraries(results).join(", "),
            results.machine.label(PICKED)
        ),
        panels: panels
            .into_iter()
            .filter(|panel| !panel.rows.is_empty())
            .collect(),
    }
}

/// A panel of `cells`; `place` returns a cell's row and column, which are sorted.
fn panel<R: Ord + Copy, C: Ord + Copy>(
    title: &str,
    cells: &[Cell],
    place: impl Fn(&Cell) -> (R, C),
    row_name: impl Fn(&R) -> String,
    column_name: impl Fn(&C) -> String,
) -> Panel {
    let rows: BTreeSet<R> = cells.iter().map(|cell| place(cell).0).collect();
    let columns: BTreeSet<C> = cells.iter().map(|cell| place(cell).1).collect();
    let ratio = |row: R, column: C| {
        let found = cells.iter().find(|cell| place(cell) == (row, column));
        found.map(|cell| cell.ratio)
    };
    let ratios = |row: &R| columns.iter().map(|column| ratio(*row, *column)).collect();
    Panel {
        title: title.into(),
        columns: columns.iter().map(column_name).collect(),
        rows: rows
            .iter()
            .map(|row| (row_name(row), ratios(row)))
            .collect(),
    }
}

/// Lists the systems that level 5 is compared with.
fn libraries(results: &OpResults) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for row in results.rows.iter().filter(|row| row.is_other()) {
        let name = match row.level.as_str() {
            CANDLE if results.machine.device == "cuda" => "cuBLAS by candle".into(),
            GEMM => "gemm".into(),
            level => spoken(level),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Lists the shapes measured for both a library and level 5.
fn cells(results: &OpResults) -> Vec<Cell> {
    results.cases().filter_map(cell).collect()
}

fn cell(rows: &[OpRow]) -> Option<Cell> {
    let picked = rows.iter().find(|row| row.level == PICKED)?;
    let ratio = |other: &OpRow| {
        let (own, other) = picked.beside(other);
        other / own
    };
    let others = rows.iter().filter(|row| row.is_other()).map(ratio);
    let sizes: Option<Vec<usize>> = picked.shape.split('x').map(|n| n.parse().ok()).collect();
    let (batch, m, n, k) = match sizes?[..] {
        [m, n, k] => (1, m, n, k),
        [batch, m, n, k] => (batch, m, n, k),
        _ => return None,
    };
    Some(Cell {
        batch,
        m,
        n,
        k,
        ratio: others.min_by(f64::total_cmp)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Machine;

    fn row(shape: &str, level: &str, us: f64) -> OpRow {
        OpRow {
            op: "matmul".into(),
            shape: shape.into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: us,
            ..OpRow::default()
        }
    }

    #[test]
    fn shapes_have_their_cell_and_the_fastest_library_counts() {
        let mut results = OpResults::new(Machine::default());
        for (shape, candle, gemm, level5, pytorch) in [
            ("16x16x16", 3., 2., 1., 4.),
            ("64x16x16x16", 8., 9., 4., 10.),
            ("1x128x64", 6., 5., 6., 3.),
            ("4x128x64", 6., 3., 3., 5.),
        ] {
            let of = [
                (CANDLE, candle),
                (GEMM, gemm),
                (PICKED, level5),
                ("pytorch", pytorch),
            ];
            results
                .rows
                .extend(of.map(|(level, us)| row(shape, level, us)));
        }
        let HeatMap { panels, note, .. } = map(&results);
        let [squares, others] = &panels[..] else {
            panic!("expected two panels, found {}", panels.len());
        };
        assert_eq!(squares.columns, ["1", "64"]);
        let expected = [("16".into(), vec![Some(2.), Some(2.)])];
        assert_eq!(squares.rows, expected);
        assert_eq!(others.columns, ["1", "4"]);
        assert_eq!(
            others.rows,
            [("128 × 64".into(), vec![Some(0.5), Some(1.)])]
        );
        assert!(
            note.contains("the fastest library (candle, gemm, PyTorch)"),
            "{note}"
        );
    }
}
