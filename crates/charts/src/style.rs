//! The common style: sizes, legends, and the font, which only this file knows.

use std::sync::LazyLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle, register_font};

use crate::paint::paints;

/// Width of every chart in CSS pixels, as wide as a page of the book.
pub const WIDTH: u32 = 740;
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
const FAMILY: &str = "sans-serif";

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

/// Height of [`header`] in CSS pixels.
pub fn header_height(names: &[&str]) -> i32 {
    match names.len() {
        0 | 1 => 42,
        _ => 42 + LEGEND * places(names).last().map_or(1, |(_, line)| line + 1),
    }
}

/// Positions of a legend's names: CSS pixels from the left, and line. Widths are estimated per character,
/// because the chart's height must be known before drawing.
fn places(names: &[&str]) -> Vec<(i32, i32)> {
    let (mut x, mut line) = (MARGIN, 0);
    let mut places = vec![];
    for name in names {
        let width = 36 + (7.7 * name.chars().count() as f64) as i32;
        if x > MARGIN && x + width > WIDTH as i32 - MARGIN {
            (x, line) = (MARGIN, line + 1);
        }
        places.push((x, line));
        x += width;
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

/// Draws the title and, for several series, a legend.
pub fn header<DB: DrawingBackend>(
    area: &Area<DB>,
    zoom: Zoom,
    title: &str,
    names: &[&str],
    key: Key,
) -> Drawn<DB> {
    let style = zoom.text(20, HPos::Left, VPos::Top);
    area.draw_text(title, &style, (zoom.px(MARGIN), zoom.px(11)))?;
    if names.len() < 2 {
        return Ok(());
    }
    let style = zoom.text(15, HPos::Left, VPos::Center);
    let side = zoom.px(6);
    for ((name, paint), (x, line)) in names.iter().zip(paints(names)).zip(places(names)) {
        let (x, y) = (zoom.px(x), zoom.px(47 + LEGEND * line));
        match key {
            Key::Bar => paint.bar(area, zoom, [(x, y - side), (x + 2 * side, y + side)])?,
            Key::Point => paint.point(area, zoom, (x + side, y))?,
        }
        area.draw_text(name, &style, (x + 3 * side, y))?;
    }
    Ok(())
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
        assert!(places(&names).iter().all(|(_, line)| *line == 0));
        let many = [names, names].concat();
        let places = places(&many);
        assert_eq!(places.last().map(|(_, line)| *line), Some(1));
        assert!(places.iter().all(|(x, _)| *x < WIDTH as i32 - 150));
        assert_eq!(header_height(&many), header_height(&names) + LEGEND);
    }
}
