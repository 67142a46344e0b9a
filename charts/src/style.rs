//! The house style: colours, sizes, and the only place that knows of a font.

use std::sync::LazyLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle, register_font};

/// Width of every chart in CSS pixels: that of a page of the book.
pub const WIDTH: u32 = 740;
/// Left edge of titles and legends.
pub const MARGIN: i32 = 14;
/// Opaque, so that dark text is legible on a dark page too.
pub const PAPER: RGBColor = RGBColor(255, 255, 255);
/// Text and whiskers.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Axes.
pub const LINE: RGBColor = RGBColor(85, 85, 85);
/// Grid.
pub const GRID: RGBColor = RGBColor(224, 224, 224);

/// Told apart with any kind of colour vision (Okabe and Ito, "Color universal design", 2008).
/// Their yellow is left out: on white it is too faint.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),   // blue
    RGBColor(230, 159, 0),   // orange
    RGBColor(0, 158, 115),   // bluish green
    RGBColor(213, 94, 0),    // vermillion
    RGBColor(204, 121, 167), // reddish purple
    RGBColor(86, 180, 233),  // sky blue
    RGBColor(0, 0, 0),
];

/// The colour of the i-th series.
pub fn colour(i: usize) -> RGBColor {
    PALETTE[i % PALETTE.len()]
}

/// The generic family, so that an SVG takes the reader's own font and a PNG the one that ships.
const FAMILY: &str = "sans-serif";

static FONT: LazyLock<()> = LazyLock::new(|| {
    let bytes = include_bytes!("../fonts/OpenSans-Regular.ttf");
    // Not a font only if the file in the repository is damaged; then plotters names the family.
    let _ = register_font(FAMILY, FontStyle::Normal, bytes);
});

/// How large a CSS pixel is: 1 in an SVG, 2 in a PNG, which is sharp on any screen.
#[derive(Debug, Clone, Copy)]
pub struct Zoom(pub u32);

impl Zoom {
    /// CSS pixels → pixels.
    pub fn px(self, css: i32) -> i32 {
        css * self.0 as i32
    }

    /// Text of a size in CSS pixels, anchored as `h` and `v` say.
    pub fn text(self, size: i32, h: HPos, v: VPos) -> TextStyle<'static> {
        LazyLock::force(&FONT);
        TextStyle::from((FAMILY, self.px(size)).into_font())
            .color(&INK)
            .pos(Pos::new(h, v))
    }

    /// A line of a width in CSS pixels.
    pub fn stroke(self, colour: RGBColor, width: u32) -> ShapeStyle {
        colour.stroke_width(width * self.0)
    }
}

/// A drawing area that speaks pixels.
pub type Area<DB> = DrawingArea<DB, Shift>;
/// What drawing on it returns.
pub type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// CSS pixels that [`header`] takes.
pub fn header_height(names: &[&str]) -> i32 {
    if names.len() > 1 { 64 } else { 42 }
}

/// The title and, for more than one series, their names beside their colours.
pub fn header<DB: DrawingBackend>(
    area: &Area<DB>,
    zoom: Zoom,
    title: &str,
    names: &[&str],
) -> Drawn<DB> {
    let left = zoom.px(MARGIN);
    let style = zoom.text(20, HPos::Left, VPos::Top);
    area.draw_text(title, &style, (left, zoom.px(11)))?;
    if names.len() < 2 {
        return Ok(());
    }
    let style = zoom.text(15, HPos::Left, VPos::Center);
    let (mut x, y, side) = (left, zoom.px(47), zoom.px(6));
    for (i, name) in names.iter().enumerate() {
        let corners = [(x, y - side), (x + 2 * side, y + side)];
        area.draw(&Rectangle::new(corners, colour(i).filled()))?;
        x += 3 * side;
        area.draw_text(name, &style, (x, y))?;
        x += area.estimate_text_size(name, &style)?.0 as i32 + zoom.px(18);
    }
    Ok(())
}
