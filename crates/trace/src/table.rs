//! Text tables.

/// A line: columns, then words.
#[derive(Default)]
pub struct Line {
    /// Cells; the first is aligned left, the others right.
    pub cells: Vec<String>,
    /// Words, aligned left.
    pub words: Vec<String>,
}

impl Line {
    /// A line without words.
    pub fn of(cells: impl Into<Vec<String>>) -> Self {
        let (cells, words) = (cells.into(), vec![]);
        Self { cells, words }
    }
}

/// Formats with an SI prefix: `1.23 M`.
pub fn si(x: f64) -> String {
    let units = ["", " k", " M", " G", " T"];
    let step = (0..units.len() - 1).find(|&i| x < 999.5 * 1e3f64.powi(i as i32));
    let step = step.unwrap_or(units.len() - 1);
    match step {
        0 => format!("{x}"),
        _ => digits(x / 1e3f64.powi(step as i32)) + units[step],
    }
}

/// Formats with three significant digits, without a fraction from 100 on.
pub fn digits(x: f64) -> String {
    match x {
        x if x < 9.995 => format!("{x:.2}"),
        x if x < 99.95 => format!("{x:.1}"),
        x => format!("{x:.0}"),
    }
}

/// Aligns lines: names left, numbers right, words left.
pub fn aligned(lines: &[Line]) -> String {
    let cells = widths(lines.iter().map(|line| &line.cells[..]));
    // The last words of a line may be a sentence and need no alignment.
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
