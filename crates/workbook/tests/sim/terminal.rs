//! Draws a terminal as an image for static pages: the source with the faulty line marked, the command and its
//! output.

use svg::Document;
use svg::node::element::{Rectangle, Text};

/// Maximum characters per line; longer lines wrap.
const COLUMNS: usize = 92;
const CHARACTER: f64 = 8.0;
const LINE: f64 = 20.0;
const MARGIN: f64 = 16.0;

/// Colour of a line, on the dark background of terminals in both themes.
#[derive(Clone, Copy, PartialEq)]
pub enum Ink {
    /// Source and output.
    Plain,
    /// The command.
    Command,
    /// The faulty line, and its finding.
    Fault,
}

impl Ink {
    fn colour(self) -> &'static str {
        match self {
            Ink::Plain => "#d7dce4",
            Ink::Command => "#8fd694",
            Ink::Fault => "#ff9d7a",
        }
    }
}

/// Draws these lines.
pub fn draw(lines: &[(String, Ink)]) -> String {
    let lines: Vec<(String, Ink)> = lines
        .iter()
        .flat_map(|(line, ink)| folded(line).into_iter().map(|part| (part, *ink)))
        .collect();
    let width = COLUMNS as f64 * CHARACTER + 2. * MARGIN;
    let height = lines.len() as f64 * LINE + 2. * MARGIN;
    let ground = Rectangle::new()
        .set("width", width)
        .set("height", height)
        .set("rx", 8)
        .set("fill", "#1c2128");
    let document = Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .set("font-family", "ui-monospace, Menlo, Consolas, monospace")
        .set("font-size", 13)
        .add(ground);
    let drawn = lines.iter().enumerate().fold(document, |page, (n, line)| {
        let (text, ink) = line;
        let node = Text::new(text.as_str())
            .set("x", MARGIN)
            .set("y", MARGIN + (n as f64 + 0.75) * LINE)
            .set("xml:space", "preserve")
            .set("fill", ink.colour());
        page.add(node)
    });
    drawn.to_string() + "\n"
}

/// Wraps a line at [`COLUMNS`] characters, at spaces; continuation lines are indented.
fn folded(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let current = parts.last().map_or(0, |part| part.chars().count());
        if current + word.trim_end().chars().count() > COLUMNS && current > 0 {
            parts.push("    ".into());
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(word);
        }
    }
    parts
}

#[test]
fn long_lines_are_broken_at_spaces() {
    let line = "word ".repeat(40);
    let parts = folded(line.trim_end());
    assert!(parts.len() > 2, "{parts:?}");
    assert!(parts.iter().all(|p| p.trim_end().len() <= COLUMNS + 4));
    assert_eq!(parts.concat().split_whitespace().count(), 40);
}
