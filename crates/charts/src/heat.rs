//! Heat maps of ratios over two sizes.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::Error;
use crate::save::Chart;
use crate::style::{Area, Drawn, Header, INK, Key, LINE, MARGIN, NARROW, Zoom, character, wrapped};

/// A heat map of ratios: above 1 in blue, below in orange, equal in white. These colours are distinct with
/// any kind of colour vision.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// Title of the chart.
    pub title: String,
    /// Meaning of a ratio: `time of the library / time of level 5`.
    pub note: String,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
}

/// A table of cells.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Common property of the cells, and the meaning of rows and columns.
    pub title: String,
    /// Columns from left to right.
    pub columns: Vec<String>,
    /// Rows from top to bottom: a name, and a ratio for each column that has one.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// The ratio with full colour, as for its inverse.
const FULL: f64 = 4.;
/// Heights of a line of text, of a row, and of the gap below a part.
const LINE_OF_TEXT: i32 = 20;
const ROW: i32 = 22;
const GAP: i32 = 14;
/// Size of the texts.
const TEXT: i32 = 13;
/// Minimum width of the rows' names.
const NAME: i32 = 60;
/// Maximum width of a cell, and width of one of the legend.
const CELL: i32 = 74;
const KEY: i32 = 50;
/// Colours of large and small ratios: blue and vermilion of the palette.
const AHEAD: [f64; 3] = [0., 114., 178.];
const BEHIND: [f64; 3] = [213., 94., 0.];

impl HeatMap {
    fn header(&self) -> Header<'_> {
        Header::new(&self.title, &[], NARROW)
    }

    fn note(&self) -> Vec<String> {
        wrapped(&self.note, TEXT, NARROW)
    }

    /// Height of the title, the note and the legend.
    fn above(&self) -> i32 {
        self.header().height() + LINE_OF_TEXT * self.note().len() as i32 + ROW + GAP
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        let rows = self.panels.iter().flat_map(|panel| &panel.rows);
        rows.flat_map(|(_, cells)| cells.iter().copied().flatten())
    }
}

impl Panel {
    /// Width of the rows' names.
    fn name_width(&self) -> i32 {
        let lengths = self.rows.iter().map(|(name, _)| name.chars().count());
        let longest = lengths.max().unwrap_or(0) as f64 * character(TEXT);
        NAME.max(longest as i32 + 8)
    }

    fn title(&self) -> Vec<String> {
        wrapped(&self.title, 15, NARROW)
    }

    /// Height of the title, the columns' names, and the rows.
    fn height(&self) -> i32 {
        LINE_OF_TEXT * self.title().len() as i32 + ROW * (self.rows.len() as i32 + 1) + GAP
    }
}

impl Chart for HeatMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let panels: i32 = self.panels.iter().map(Panel::height).sum();
        (NARROW, (self.above() + panels) as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.ratios()
            .find(|r| shows(*r))
            .map(|_| ())
            .ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        self.header().draw(area, zoom, Key::Bar)?;
        let top = self.header().height();
        let note = self.note();
        lines(area, zoom, &note, (TEXT, top))?;
        legend(area, zoom, top + LINE_OF_TEXT * note.len() as i32)?;
        let mut top = self.above();
        for panel in &self.panels {
            draw(panel, area, zoom, top)?;
            top += panel.height();
        }
        Ok(())
    }
}

/// Draws lines of text of a size below `top`.
fn lines<DB: DrawingBackend>(
    area: &Area<DB>,
    zoom: Zoom,
    lines: &[String],
    (size, top): (i32, i32),
) -> Drawn<DB> {
    let style = zoom.text(size, HPos::Left, VPos::Center);
    for (line, i) in lines.iter().zip(0..) {
        let y = top + LINE_OF_TEXT * i + LINE_OF_TEXT / 2;
        area.draw_text(line, &style, (zoom.px(MARGIN), zoom.px(y)))?;
    }
    Ok(())
}

/// Draws the colours of some ratios below `top`.
fn legend<DB: DrawingBackend>(area: &Area<DB>, zoom: Zoom, top: i32) -> Drawn<DB> {
    for (i, ratio) in [0.25, 0.5, 0.8, 1., 1.25, 2., 4.].into_iter().enumerate() {
        let left = MARGIN + KEY * i as i32;
        cell(area, zoom, (left, top), KEY, ratio, ROW)?;
    }
    Ok(())
}

/// Draws a panel below `top`.
fn draw<DB: DrawingBackend>(panel: &Panel, area: &Area<DB>, zoom: Zoom, top: i32) -> Drawn<DB> {
    let px = |css| zoom.px(css);
    let title = panel.title();
    lines(area, zoom, &title, (15, top))?;
    let top = top + LINE_OF_TEXT * title.len() as i32;
    let columns = panel.columns.len().max(1) as i32;
    let name_width = panel.name_width();
    let width = ((NARROW as i32 - 2 * MARGIN - name_width) / columns).min(CELL);
    let left = |i: usize| MARGIN + name_width + i as i32 * width;
    let style = zoom.text(TEXT, HPos::Center, VPos::Center);
    for (i, name) in panel.columns.iter().enumerate() {
        let at = (px(left(i) + width / 2), px(top + ROW / 2));
        area.draw_text(name, &style, at)?;
    }
    let style = zoom.text(TEXT, HPos::Right, VPos::Center);
    for (j, (name, ratios)) in panel.rows.iter().enumerate() {
        let y = top + ROW * (j as i32 + 1);
        area.draw_text(name, &style, (px(MARGIN + name_width - 8), px(y + ROW / 2)))?;
        for (i, ratio) in ratios.iter().enumerate() {
            if let Some(ratio) = ratio.filter(|r| shows(*r)) {
                cell(area, zoom, (left(i), y), width, ratio, ROW)?;
            }
        }
    }
    Ok(())
}

/// Draws a cell with its ratio, `1.25`.
fn cell<DB: DrawingBackend>(
    area: &Area<DB>,
    zoom: Zoom,
    (x, y): (i32, i32),
    width: i32,
    ratio: f64,
    height: i32,
) -> Drawn<DB> {
    let px = |css| zoom.px(css);
    let corners = [(px(x), px(y)), (px(x + width), px(y + height))];
    let paint = paint(ratio);
    area.draw(&Rectangle::new(corners, paint.filled()))?;
    area.draw(&Rectangle::new(corners, zoom.stroke(LINE, 1)))?;
    let ink = if is_dark(paint) { WHITE } else { INK };
    let style = zoom.text(TEXT, HPos::Center, VPos::Center).color(&ink);
    let at = (px(x + width / 2), px(y + height / 2));
    area.draw_text(&number(ratio), &style, at)
}

/// Formats with at most three digits: `0.98`, `1.25`, `12.3`.
fn number(ratio: f64) -> String {
    match ratio {
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

fn shows(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.
}

/// Returns white for 1, and a stronger colour the larger the factor.
fn paint(ratio: f64) -> RGBColor {
    let part = (ratio.ln() / FULL.ln()).clamp(-1., 1.);
    let full = if part > 0. { AHEAD } else { BEHIND };
    let mix = full.map(|channel| (255. + (channel - 255.) * part.abs()).round() as u8);
    RGBColor(mix[0], mix[1], mix[2])
}

/// Whether white text is more legible on this colour (WCAG 2.1, relative luminance).
fn is_dark(RGBColor(r, g, b): RGBColor) -> bool {
    let linear = |v: u8| (f64::from(v) / 255.).powf(2.2);
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) < 0.18
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_factors() {
        assert_eq!(paint(1.), RGBColor(255, 255, 255));
        assert_eq!(paint(4.), RGBColor(0, 114, 178));
        assert_eq!(paint(100.), paint(4.));
        assert_eq!(paint(0.25), RGBColor(213, 94, 0));
        // Twice as fast and half as fast are equally far from white.
        let depth = |RGBColor(r, _, b): RGBColor, full: [f64; 3]| {
            let part = |v: u8, f: f64| (255. - f64::from(v)) / (255. - f);
            (part(r, full[0]), part(b, full[2]))
        };
        let (ahead, behind) = (depth(paint(2.), AHEAD), depth(paint(0.5), BEHIND));
        assert!((ahead.0 - 0.5).abs() < 0.02 && (behind.1 - 0.5).abs() < 0.02);
    }

    #[test]
    fn a_map_without_a_ratio_is_an_error() {
        let map = HeatMap {
            title: "none".into(),
            note: String::new(),
            panels: vec![Panel {
                title: "a".into(),
                columns: vec!["1".into()],
                rows: vec![("1".into(), vec![None])],
            }],
        };
        assert!(matches!(map.check(), Err(Error::Empty(_))));
    }
}
