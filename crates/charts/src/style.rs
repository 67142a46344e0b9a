//! The common style: sizes, legends, and the font, which only this file knows.

use std::sync::LazyLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle, register_font};

use crate::paint::paints;

/// Width of a chart of many panels in CSS pixels, as wide as a page of the book.
pub const WIDTH: u32 = 740;
/// Width of a chart whose smallest text, of size 13, is 9 pixels high on a phone, which shows it 335 pixels wide.
pub const NARROW: u32 = 380;
/// Left edge of titles and legends.
pub const MARGIN: i32 = 14;
/// Opaque background, so that dark text is legible on a dark page.
pub const PAPER: RGBColor = RGBColor(255, 255, 255);
/// Colour of text and whiskers.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Colour of axes.
pub const LINE: RGBColor = RGBColor(85, 85, 85);
/// Colour of the grid.
pub const GRID: RGBColor = RGBColor(224, 224, 224);

/// The generic family: an SVG uses the reader's font, a PNG the included one.
pub const FAMILY: &str = "sans-serif";

static FONT: LazyLock<()> = LazyLock::new(|| {
    let bytes = include_bytes!("../fonts/OpenSans-Regular.ttf");
    // Registration fails only if the font file is damaged; plotters then names the family in its error.
    let _ = register_font(FAMILY, FontStyle::Normal, bytes);
});

/// Pixels per CSS pixel: 1 for SVG, 2 for PNG, which is then sharp on any screen.
#[derive(Debug, Clone, Copy)]
pub struct Zoom(pub u32);

impl Zoom {
    /// Converts CSS pixels to pixels.
    pub fn px(self, css: i32) -> i32 {
        css * self.0 as i32
    }

    /// The style of text with a size in CSS pixels and the anchors `h` and `v`.
    pub fn text(self, size: i32, h: HPos, v: VPos) -> TextStyle<'static> {
        LazyLock::force(&FONT);
        TextStyle::from((FAMILY, self.px(size)).into_font())
            .color(&INK)
            .pos(Pos::new(h, v))
    }

    /// The style of a line with a width in CSS pixels.
    pub fn stroke(self, colour: RGBColor, width: u32) -> ShapeStyle {
        colour.stroke_width(width * self.0)
    }
}

/// A drawing area in pixels.
pub type Area<DB> = DrawingArea<DB, Shift>;
/// The result of drawing.
pub type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Width of a text in pixels, with a reserve: an SVG uses the reader's sans-serif font, which can be a fifth
/// wider than the included one.
pub fn text_room<DB: DrawingBackend>(
    area: &Area<DB>,
    text: &str,
    style: &TextStyle,
) -> Result<i32, DrawingAreaErrorKind<DB::ErrorType>> {
    let (width, _) = area.estimate_text_size(text, style)?;
    Ok(width as i32 * 6 / 5)
}

/// Height of a line of the legend.
const LEGEND: i32 = 22;

/// Height of a line of the title.
const TITLE: i32 = 24;

/// Title and legend above a chart of a width in CSS pixels.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    title: &'a str,
    /// Names of the series; one alone has no legend.
    names: &'a [&'a str],
    width: u32,
}

impl<'a> Header<'a> {
    pub fn new(title: &'a str, names: &'a [&'a str], width: u32) -> Self {
        Self {
            title,
            names,
            width,
        }
    }

    fn title_lines(&self) -> Vec<String> {
        wrapped(self.title, 20, self.width)
    }

    /// Height of the title with the gap below it.
    fn below_title(&self) -> i32 {
        18 + TITLE * self.title_lines().len() as i32
    }

    /// Height in CSS pixels.
    pub fn height(&self) -> i32 {
        let legend = match self.names.len() {
            0 | 1 => 0,
            _ => places(self.names, self.width)
                .last()
                .map_or(1, |(_, line)| line + 1),
        };
        self.below_title() + LEGEND * legend
    }

    /// Draws the title and, for several series, a legend.
    pub fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom, key: Key) -> Drawn<DB> {
        let style = zoom.text(20, HPos::Left, VPos::Top);
        for (line, i) in self.title_lines().iter().zip(0..) {
            area.draw_text(line, &style, (zoom.px(MARGIN), zoom.px(11 + TITLE * i)))?;
        }
        if self.names.len() < 2 {
            return Ok(());
        }
        let style = zoom.text(15, HPos::Left, VPos::Center);
        let side = zoom.px(6);
        let top = self.below_title() + 5;
        let places = places(self.names, self.width);
        for ((name, paint), (x, line)) in self.names.iter().zip(paints(self.names)).zip(places) {
            let (x, y) = (zoom.px(x), zoom.px(top + LEGEND * line));
            match key {
                Key::Bar => paint.bar(area, zoom, [(x, y - side), (x + 2 * side, y + side)])?,
                Key::Point => paint.point(area, zoom, (x + side, y))?,
            }
            area.draw_text(name, &style, (x + 3 * side, y))?;
        }
        Ok(())
    }
}

/// Width of a character of a text of this size, in CSS pixels. It is estimated, because the chart's height must be known
/// before drawing.
pub fn character(size: i32) -> f64 {
    7.7 * f64::from(size) / 15.
}

/// Breaks a text of this size into lines between the margins of a chart of this width.
pub fn wrapped(text: &str, size: i32, width: u32) -> Vec<String> {
    let most = (f64::from(width as i32 - 2 * MARGIN) / (0.43 * f64::from(size))) as usize;
    let mut lines: Vec<String> = vec![];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < most => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Positions of a legend's names: CSS pixels from the left, and line.
fn places(names: &[&str], width: u32) -> Vec<(i32, i32)> {
    let (mut x, mut line) = (MARGIN, 0);
    let mut places = vec![];
    for name in names {
        let room = 36 + (character(15) * name.chars().count() as f64) as i32;
        if x > MARGIN && x + room > width as i32 - MARGIN {
            (x, line) = (MARGIN, line + 1);
        }
        places.push((x, line));
        x += room;
    }
    places
}

/// The symbol of a legend entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A short bar.
    Bar,
    /// A point.
    Point,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_legend_wraps() {
        let names = [
            "level 1",
            "level 2",
            "level 5 in a graph",
            "PyTorch eager in a graph",
        ];
        assert!(places(&names, WIDTH).iter().all(|(_, line)| *line == 0));
        let many = [names, names].concat();
        let places = places(&many, WIDTH);
        assert_eq!(places.last().map(|(_, line)| *line), Some(1));
        assert!(places.iter().all(|(x, _)| *x < WIDTH as i32 - 150));
        let height = |names| Header::new("a", names, WIDTH).height();
        assert_eq!(height(&many), height(&names) + LEGEND);
    }

    #[test]
    fn a_text_keeps_its_words_and_its_width() {
        let text =
            "vit s16 by batch in f32 on NVIDIA H200 (slopes: of the upper half of the sizes)";
        let lines = wrapped(text, 20, NARROW);
        assert_eq!(lines.join(" "), text);
        let style = Zoom(1).text(20, HPos::Left, VPos::Top);
        for line in &lines {
            let (width, _) = style.font.box_size(line).unwrap();
            assert!((width as i32) < NARROW as i32 - MARGIN, "{line}: {width}");
        }
        assert_eq!(wrapped(text, 8, WIDTH), [text]);
    }
}
