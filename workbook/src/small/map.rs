//! The small products as a map: how many times as fast level 5 is as the faster library, shape by shape.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use charts::{HeatMap, Panel};
use kernels::dispatch::tune::PICKED;
use results::OpResults;

use crate::compare::record::{charts_of, files, stem};

use super::LIBRARIES;

/// Draws every record of `benches/results/small` as `charts/NAME-small`; returns the paths.
pub fn redraw(root: &Path) -> Result<Vec<PathBuf>> {
    let results = root.join("benches/results");
    let mut paths = vec![];
    for json in files(&results.join("small"))? {
        let map = map(&OpResults::load(&json)?);
        let name = format!("{}-small", stem(&json));
        paths.extend(charts::heat_map(&charts_of(&results)?.join(name), &map)?);
    }
    Ok(paths)
}

/// A batch of products (M × K)·(K × N), and how many times as fast level 5 is.
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

/// Squares by their side, batches of squares, and all others by their rows and weight.
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
            "squares, n × n by n × n: columns are n, rows the size of the batch",
            &squares,
            |cell| (cell.batch, cell.n),
            side,
            side,
        ),
        panel(
            "M × K by K × N: columns are M, rows N × K (a layer's weight)",
            &others,
            |cell| ((cell.n, cell.k), cell.m),
            |(n, k)| format!("{n} × {k}"),
            side,
        ),
    ];
    let gpu = results.machine.device == "cuda";
    let library = if gpu {
        "cuBLAS"
    } else {
        "the faster of candle and gemm"
    };
    HeatMap {
        title: format!("Small products on {}", results.machine.name),
        note: format!("time of {library} / time of level 5, f32: above 1, level 5 is faster"),
        panels: panels
            .into_iter()
            .filter(|panel| !panel.rows.is_empty())
            .collect(),
    }
}

/// A panel of `cells`, each where `place` says: row, then column, both in their order.
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

/// The shapes for which both a library and level 5 were measured.
fn cells(results: &OpResults) -> Vec<Cell> {
    let rows = &results.rows;
    let picked = rows.iter().filter(|row| row.level == PICKED);
    let cell = |row: &results::OpRow| {
        let same = |other: &&results::OpRow| other.shape == row.shape && other.dtype == row.dtype;
        let libraries = rows
            .iter()
            .filter(same)
            .filter(|r| LIBRARIES.contains(&r.level.as_str()));
        let best = libraries.map(|r| r.us()).fold(f64::INFINITY, f64::min);
        let sizes: Option<Vec<usize>> = row.shape.split('x').map(|n| n.parse().ok()).collect();
        let (batch, m, n, k) = match sizes?[..] {
            [m, n, k] => (1, m, n, k),
            [batch, m, n, k] => (batch, m, n, k),
            _ => return None,
        };
        let ratio = best / row.us();
        Some(Cell {
            batch,
            m,
            n,
            k,
            ratio,
        })
    };
    picked.filter_map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{Machine, OpRow};

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
    fn shapes_have_their_place_and_the_faster_library_counts() {
        let mut results = OpResults::new(Machine::default());
        for (shape, candle, gemm, level5) in [
            ("16x16x16", 3., 2., 1.),
            ("64x16x16x16", 8., 9., 4.),
            ("1x128x64", 6., 3., 6.),
            ("4x128x64", 6., 3., 3.),
        ] {
            let of = [
                ("candle", candle),
                ("gemm_one_thread", gemm),
                (PICKED, level5),
            ];
            results
                .rows
                .extend(of.map(|(level, us)| row(shape, level, us)));
        }
        let HeatMap { panels, note, .. } = map(&results);
        let [squares, others] = &panels[..] else {
            panic!("expected two panels, found {}", panels.len());
        };
        assert_eq!(squares.columns, ["16"]);
        let expected = [("1".into(), vec![Some(2.)]), ("64".into(), vec![Some(2.)])];
        assert_eq!(squares.rows, expected);
        assert_eq!(others.columns, ["1", "4"]);
        assert_eq!(
            others.rows,
            [("128 × 64".into(), vec![Some(0.5), Some(1.)])]
        );
        assert!(note.contains("the faster of candle and gemm"));
    }
}
