//! Shapes that figures are drawn with, in the colours of the page's theme.
//!
//! A shape has classes and no colour. `theme/book.css` gives each class one, for light and for dark pages.

use svg::Document;
use svg::node::element::{Circle, Description, Line, Path, Rectangle, Text, Title};

/// Width of every figure, in units that are CSS pixels on a desktop.
pub const WIDTH: f64 = 740.;

/// A figure that grows.
pub struct Canvas {
    name: String,
    document: Document,
    /// Where a phone may cut it: see [`crate::parts`].
    cuts: Option<u32>,
}

impl Canvas {
    /// `name` is one in the book; `title` and `description` are what a screen reader says.
    pub fn new(name: &str, height: f64, title: &str, description: &str) -> Self {
        let ids = format!("{name}-title {name}-description");
        let document = Document::new()
            .set("viewBox", (0, 0, WIDTH, height))
            .set("role", "img")
            .set("aria-labelledby", ids)
            .add(Title::new(title).set("id", format!("{name}-title")))
            .add(
                Description::new()
                    .set("id", format!("{name}-description"))
                    .add(svg::node::Text::new(description)),
            );
        let name = name.to_string();
        Self {
            name,
            document,
            cuts: None,
        }
    }

    /// The same figure. A phone shows its part to the left of x above the one to the right.
    pub fn cut_at(self, x: u32) -> Self {
        Self {
            cuts: Some(x),
            ..self
        }
    }

    /// A rectangle by its upper left corner and its size.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], class: &str) {
        self.add(
            Rectangle::new()
                .set("x", short(x))
                .set("y", short(y))
                .set("width", short(width))
                .set("height", short(height))
                .set("class", class),
        );
    }

    /// A line from one point to another.
    pub fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], class: &str) {
        self.add(
            Line::new()
                .set("x1", short(x1))
                .set("y1", short(y1))
                .set("x2", short(x2))
                .set("y2", short(y2))
                .set("class", class),
        );
    }

    /// A line with a head at its end.
    pub fn arrow(&mut self, from: [f64; 2], to: [f64; 2], class: &str) {
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let [dx, dy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
        let wing = |side: f64| [to[0] - 8. * dx - side * dy, to[1] - 8. * dy + side * dx];
        self.line(from, to, class);
        self.path(&[wing(4.), to, wing(-4.)], class);
    }

    /// A line through points.
    pub fn path(&mut self, points: &[[f64; 2]], class: &str) {
        let points = points
            .iter()
            .map(|[x, y]| format!("{} {}", short(*x), short(*y)));
        let d = format!("M {}", points.collect::<Vec<_>>().join(" L "));
        self.add(Path::new().set("d", d).set("class", class));
    }

    /// A circle.
    pub fn circle(&mut self, [x, y]: [f64; 2], radius: f64, class: &str) {
        self.add(
            Circle::new()
                .set("cx", short(x))
                .set("cy", short(y))
                .set("r", short(radius))
                .set("class", class),
        );
    }

    /// A line of text; the classes `middle` and `end` say which of its points stands at x.
    pub fn text(&mut self, [x, y]: [f64; 2], class: &str, text: impl Into<String>) {
        self.add(
            Text::new(text)
                .set("x", short(x))
                .set("y", short(y))
                .set("class", class),
        );
    }

    fn add(&mut self, node: impl svg::Node) {
        svg::Node::append(&mut self.document, node);
    }

    /// As a block of HTML for Markdown, which would end it at an empty line.
    pub fn figure(&self) -> String {
        let text = self.document.to_string();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let cuts = self
            .cuts
            .map_or(String::new(), |x| format!(" data-cuts=\"{x}\""));
        format!(
            "<figure class=\"drawing {}\"{cuts}>\n{}\n</figure>\n",
            self.name,
            lines.join("\n")
        )
    }
}

/// A tenth of a pixel is enough.
fn short(x: f64) -> f64 {
    (x * 10.).round() / 10.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_one_block_that_a_screen_reader_can_name() {
        let mut canvas = Canvas::new("test", 10., "A < B", "Two letters.");
        canvas.rect([0., 0., 1.26, 2.], "a");
        canvas.text([1., 2.], "small", "x & y");
        let figure = canvas.figure();
        assert!(
            figure.starts_with("<figure class=\"drawing test\">\n<svg"),
            "{figure}"
        );
        assert!(
            !figure.contains("\n\n") && figure.contains("1.3"),
            "{figure}"
        );
        assert!(
            figure.contains("aria-labelledby=\"test-title test-description\""),
            "{figure}"
        );
        assert!(
            figure.contains("A &lt; B") && figure.contains("x &amp; y"),
            "{figure}"
        );
    }
}
