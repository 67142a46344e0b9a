//! Figures of exercises: a terminal shows them as characters, and the book draws them.
//!
//! `+--+`, `|`, `│` and `─` become lines, `->`, `<-` and a `v` below a line become arrows, `##` becomes a bar. All else is text
//! and stays where it stands.

use anyhow::{Context, Result};

/// Width and height of a character, in CSS pixels.
const CELL: [f64; 2] = [8.4, 18.];
/// A phone may shrink a figure to this part of its width before it scrolls.
const SMALLEST: f64 = 0.65;

/// The page of an exercise with a drawing in place of the block that begins with `` ```text,figure ``.
///
/// # Errors
/// There is no such block, or it has no end.
pub fn draw(page: &str, title: &str) -> Result<String> {
    let missing = "expected one block ```text,figure, found none";
    let (before, rest) = page.split_once("```text,figure\n").context(missing)?;
    let (figure, after) = rest.split_once("\n```\n").context(missing)?;
    Ok(format!("{before}{}{after}", svg(&Grid::new(figure), title)))
}

/// The characters of a figure by row and column.
struct Grid(Vec<Vec<char>>);

impl Grid {
    fn new(text: &str) -> Self {
        Self(text.lines().map(|line| line.chars().collect()).collect())
    }

    /// A space outside of the figure.
    fn at(&self, row: usize, column: usize) -> char {
        let line = self.0.get(row);
        line.and_then(|line| line.get(column))
            .copied()
            .unwrap_or(' ')
    }

    fn left(&self, row: usize, column: usize) -> char {
        column.checked_sub(1).map_or(' ', |c| self.at(row, c))
    }

    fn above(&self, row: usize, column: usize) -> char {
        row.checked_sub(1).map_or(' ', |r| self.at(r, column))
    }

    /// The shape in a cell; none where it has text.
    fn shape(&self, row: usize, column: usize) -> Option<Shape> {
        let [left, right] = [self.left(row, column), self.at(row, column + 1)];
        let [above, below] = [self.above(row, column), self.at(row + 1, column)];
        match self.at(row, column) {
            '─' => Some(Shape::Line),
            '-' if "-+|<".contains(left) || "-+|>".contains(right) => Some(Shape::Line),
            '|' | '│' => Some(Shape::Bar),
            '+' if left == '-' || right == '-' => Some(Shape::Corner {
                left: left == '-',
                right: right == '-',
                up: "|+".contains(above),
                down: "|+".contains(below),
            }),
            '>' if left == '-' => Some(Shape::Right),
            '<' if right == '-' => Some(Shape::Left),
            'v' if "|│".contains(above) && !(left.is_alphanumeric() || right.is_alphanumeric()) => {
                Some(Shape::Down)
            }
            '#' if left == '#' || right == '#' => Some(Shape::Block),
            _ => None,
        }
    }
}

/// A shape that stands in place of a character.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// A line across.
    Line,
    /// A line down.
    Bar,
    /// Lines from the middle to some sides.
    Corner {
        left: bool,
        right: bool,
        up: bool,
        down: bool,
    },
    /// Heads of arrows.
    Right,
    Left,
    Down,
    /// A part of a bar of a chart.
    Block,
}

fn svg(grid: &Grid, title: &str) -> String {
    let (mut lines, mut bars, mut texts) = (String::new(), String::new(), String::new());
    for (row, line) in grid.0.iter().enumerate() {
        let mut column = 0;
        while column < line.len() {
            let end = match grid.shape(row, column) {
                None if line[column] == ' ' => column + 1,
                None => {
                    let end = end_of_text(grid, row, column);
                    text(&mut texts, [row, column, end], &line[column..end]);
                    end
                }
                Some(shape) => {
                    let same = |c: &usize| grid.shape(row, *c) == Some(shape);
                    let end = (column..).find(|c| !same(c)).unwrap_or(line.len());
                    match shape {
                        Shape::Line => across(&mut lines, [row, column, end]),
                        Shape::Block => block(&mut bars, [row, column, end]),
                        _ => (column..end).for_each(|c| single(&mut lines, grid, shape, [row, c])),
                    }
                    end
                }
            };
            column = end;
        }
    }
    let columns = grid.0.iter().map(Vec::len).max().unwrap_or(1);
    let [width, height] = [columns as f64 * CELL[0], grid.0.len() as f64 * CELL[1]];
    let title = escaped(title);
    format!(
        "<figure class=\"drawing sketch\">\n<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\" \
         style=\"max-width:{width:.0}px;min-width:{:.0}px\">\n<path class=\"stroke\" d=\"{lines}\"/>\n{bars}{texts}</svg>\n</figure>\n",
        width * SMALLEST
    )
}

/// The end of a text: two spaces, or a shape.
fn end_of_text(grid: &Grid, row: usize, from: usize) -> usize {
    let is_text = |c: usize| grid.at(row, c) != ' ' && grid.shape(row, c).is_none();
    let mut end = from + 1;
    while is_text(end) || grid.at(row, end) == ' ' && is_text(end + 1) {
        end += 1;
    }
    end
}

/// A text as wide as its cells, whatever the reader's font.
fn text(out: &mut String, [row, from, end]: [usize; 3], chars: &[char]) {
    let [x, y] = [from as f64 * CELL[0], row as f64 * CELL[1] + 13.];
    let width = (end - from) as f64 * CELL[0];
    let text = escaped(&chars.iter().collect::<String>());
    *out += &format!("<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{width:.1}\">{text}</text>\n");
}

/// A bar of a chart.
fn block(out: &mut String, [row, from, end]: [usize; 3]) {
    let [x, y] = [from as f64 * CELL[0], row as f64 * CELL[1] + 3.];
    let width = (end - from) as f64 * CELL[0];
    *out +=
        &format!("<rect class=\"a\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"12\"/>\n");
}

/// A line across cells.
fn across(out: &mut String, [row, from, end]: [usize; 3]) {
    let [x, y] = [from as f64 * CELL[0], (row as f64 + 0.5) * CELL[1]];
    *out += &format!("M{x:.1} {y}h{:.1}", (end - from) as f64 * CELL[0]);
}

/// A shape of one cell.
fn single(out: &mut String, grid: &Grid, shape: Shape, [row, column]: [usize; 2]) {
    let [x, y] = [
        (column as f64 + 0.5) * CELL[0],
        (row as f64 + 0.5) * CELL[1],
    ];
    let is_line = |c: char| "-─".contains(c);
    let path = match shape {
        Shape::Right => "h-4.2m-2 -4l6 4l-6 4".to_owned(),
        Shape::Left => "h4.2m2 -4l-6 4l6 4".to_owned(),
        Shape::Down => "v-9m-4 4l4 6l4 -6".to_owned(),
        Shape::Corner {
            left,
            right,
            up,
            down,
        } => to_sides([left, right, up, down]),
        Shape::Bar => {
            let [left, right] = [grid.left(row, column), grid.at(row, column + 1)];
            to_sides([is_line(left), is_line(right), true, true])
        }
        Shape::Line | Shape::Block => return, // drawn as a whole
    };
    *out += &format!("M{x:.1} {y}{path}");
}

/// From the middle of a cell to some of its sides: left, right, up and down.
fn to_sides(sides: [bool; 4]) -> String {
    let ways = ["h-4.2h4.2", "h4.2h-4.2", "v-9v9", "v9v-9"];
    let drawn = sides
        .into_iter()
        .zip(ways)
        .filter(|(is_drawn, _)| *is_drawn);
    drawn.map(|(_, way)| way).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(figure: &str) -> String {
        draw(&format!("a\n```text,figure\n{figure}\n```\nb\n"), "T").unwrap()
    }

    #[test]
    fn boxes_and_arrows_are_drawn_and_arithmetic_is_text() {
        let page = drawn("+--+\n|a |->  a + b - 1 > c\n+--+");
        assert!(
            page.starts_with("a\n<figure") && page.ends_with("</figure>\nb\n"),
            "{page}"
        );
        assert_eq!(page.matches("<text").count(), 2, "{page}");
        assert!(
            page.contains(">a</text>") && page.contains(">a + b - 1 > c</text>"),
            "{page}"
        );
        // The two long sides, and the head of the arrow.
        assert_eq!(page.matches("h16.8").count(), 2, "{page}");
        assert!(page.contains("l6 4l-6 4"), "{page}");
        assert!(
            !page.contains("\n\n"),
            "Markdown would end the figure: {page}"
        );
    }

    #[test]
    fn bars_of_a_chart_and_a_single_sign() {
        let page = drawn("a # for each\n####  4");
        assert_eq!(page.matches("<rect").count(), 1, "{page}");
        assert!(page.contains("width=\"33.6\""), "{page}");
        assert!(page.contains(">a # for each</text>"), "{page}");
    }

    #[test]
    fn a_page_without_a_figure_is_an_error() {
        assert!(draw("a\n", "T").is_err() && draw("```text,figure\na\n", "T").is_err());
    }
}
