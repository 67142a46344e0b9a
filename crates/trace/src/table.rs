//! Columns of text.

/// Columns, and behind them words.
#[derive(Default)]
pub struct Line {
    /// The first to the left, the others to the right.
    pub cells: Vec<String>,
    /// To the left again.
    pub words: Vec<String>,
}

impl Line {
    /// Columns alone.
    pub fn of(cells: impl Into<Vec<String>>) -> Self {
        let (cells, words) = (cells.into(), vec![]);
        Self { cells, words }
    }
}

/// `1.23 M`, in steps of 1000.
pub fn si(x: f64) -> String {
    let units = ["", " k", " M", " G", " T"];
    let step = (0..units.len() - 1).find(|&i| x < 999.5 * 1e3f64.powi(i as i32));
    let step = step.unwrap_or(units.len() - 1);
    match step {
        0 => format!("{x}"),
        _ => digits(x / 1e3f64.powi(step as i32)) + units[step],
    }
}

/// Three digits, and no fraction above 100.
pub fn digits(x: f64) -> String {
    match x {
        x if x < 9.995 => format!("{x:.2}"),
        x if x < 99.95 => format!("{x:.1}"),
        x => format!("{x:.0}"),
    }
}

/// Names to the left, numbers to the right, and words to the left again.
pub fn aligned(lines: &[Line]) -> String {
    let cells = widths(lines.iter().map(|line| &line.cells[..]));
    // The last words of a line may be a sentence: nothing behind them has to line up.
    let words = widths(
        lines
            .iter()
            .map(|line| line.words.split_last().map_or(&[][..], |(_, rest)| rest)),
    );
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (i, (cell, width)) in line.cells.iter().zip(&cells).enumerate() {
            row += &match i {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        for (i, word) in line.words.iter().enumerate() {
            let width = words.get(i).copied().unwrap_or(0);
            row += &format!("  {word:width$}");
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

fn widths<'a>(rows: impl Iterator<Item = &'a [String]>) -> Vec<usize> {
    let mut widths = vec![];
    for row in rows {
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    widths
}
