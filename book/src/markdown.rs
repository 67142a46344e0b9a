//! Tables of numbers in Markdown, and the notes below them.

use crate::library::Here;

/// The titles; the columns after the first hold numbers.
pub fn header(first: &str, titles: &[String]) -> String {
    let columns = "---:|".repeat(titles.len());
    format!("| {first} | {} |\n|---|{columns}\n", titles.join(" | "))
}

/// A row; a cell without a number is a dash.
pub fn line(first: &str, cells: impl Iterator<Item = Option<String>>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.unwrap_or("–".into())).collect();
    format!("| {first} | {} |\n", cells.join(" | "))
}

/// A table with its caption: `notes` and where the reader's own times are from; in an element of a class that
/// the theme sets in smaller letters.
pub fn figures(table: &str, notes: &[&str], here: &[&Here]) -> String {
    let places = here.iter().filter_map(|here| here.place());
    let notes = notes.iter().map(|note| note.to_string());
    let sentences: Vec<String> = notes.chain(places).map(|s| format!("{s}.")).collect();
    let below = if sentences.is_empty() {
        String::new()
    } else {
        format!("<p>{}</p>\n", sentences.join(" "))
    };
    format!("<div class=\"figures\">\n\n{table}\n{below}</div>\n")
}

/// `text` folded below `summary`; open on paper.
pub fn folded(summary: &str, text: &str) -> String {
    format!("<details class=\"more\"><summary>{summary}</summary>\n\n{text}\n</details>\n\n")
}

/// Returns the op or workload with whose name a note begins: `linear …`, `PyTorch's linear …`,
/// `linear.1x2x3.f32.pytorch …`.
pub fn subject(note: &str, is_name: impl Fn(&str) -> bool) -> Option<&str> {
    let text = note.strip_prefix("PyTorch's ").unwrap_or(note);
    text.split([' ', '.']).next().filter(|name| is_name(name))
}
