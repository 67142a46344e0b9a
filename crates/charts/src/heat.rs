//! Heat maps of ratios over two sizes.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::Error;
use crate::save::Chart;
use crate::style::{Area, Drawn, INK, LINE, MARGIN, WIDTH, Zoom};

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

/// A [`HeatMap`] of few columns, as wide as a phone can show without scrolling.
pub struct NarrowHeatMap<'a>(pub &'a HeatMap);

/// Width of a narrow map in CSS pixels.
const NARROW: u32 = 560;
/// The ratio with full colour, as for its inverse.
const FULL: f64 = 4.;
/// Heights of the header, of a panel's title, of a row, and of the gap below a panel; minimum width of the
/// rows' names, and width of a character.
const HEADER: i32 = 84;
const TITLE: i32 = 24;
const ROW: i32 = 22;
const GAP: i32 = 14;
const NAME: i32 = 96;
const CHARACTER: f64 = 7.6;
/// Maximum width of a cell.
const CELL: i32 = 74;
/// Colours of large and small ratios: blue and vermilion of the palette.
const AHEAD: [f64; 3] = [0., 114., 178.];
const BEHIND: [f64; 3] = [213., 94., 0.];

impl HeatMap {
    fn height(&self) -> u32 {
        let panels: i32 = self.panels.iter().map(Panel::height).sum();
        (HEADER + panels) as u32
    }

    /// Draws the map into this width in CSS pixels.
    fn draw_into<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom, width: u32) -> Drawn<DB> {
        let px = |css| zoom.px(css);
        let title = zoom.text(20, HPos::Left, VPos::Top);
        area.draw_text(&self.title, &title, (px(MARGIN), px(11)))?;
        let style = zoom.text(14, HPos::Left, VPos::Center);
        area.draw_text(&self.note, &style, (px(MARGIN), px(46)))?;
        legend(area, zoom)?;
        let mut top = HEADER;
        for panel in &self.panels {
            draw(panel, area, zoom, (top, width))?;
            top += panel.height();
        }
        Ok(())
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        let rows = self.panels.iter().flat_map(|panel| &panel.rows);
        rows.flat_map(|(_, cells)| cells.iter().copied().flatten())
    }
}

impl Panel {
    /// Width of the rows' names. It is estimated per character, as a legend's.
    fn name_width(&self) -> i32 {
        let lengths = self.rows.iter().map(|(name, _)| name.chars().count());
        let longest = lengths.max().unwrap_or(0) as f64 * CHARACTER;
        NAME.max(longest as i32 + 16)
    }

    /// Height of the title, the columns' names, and the rows.
    fn height(&self) -> i32 {
        TITLE + ROW * (self.rows.len() as i32 + 1) + GAP
    }
}

impl Chart for HeatMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        (WIDTH, self.height())
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.ratios()
            .find(|r| shows(*r))
            .map(|_| ())
            .ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        self.draw_into(area, zoom, WIDTH)
    }
}

impl Chart for NarrowHeatMap<'_> {
    fn title(&self) -> &str {
        &self.0.title
    }

    fn size(&self) -> (u32, u32) {
        (NARROW, self.0.height())
    }

    fn check(&self) -> Result<(), Error> {
        self.0.check()
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        self.0.draw_into(area, zoom, NARROW)
    }
}

/// Draws the colours of some ratios.
fn legend<DB: DrawingBackend>(area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
    for (i, ratio) in [0.25, 0.5, 0.8, 1., 1.25, 2., 4.].into_iter().enumerate() {
        let left = MARGIN + 60 * i as i32;
        cell(area, zoom, (left, 58), 60, ratio, 18)?;
    }
    Ok(())
}

/// Draws a panel below `top` into a map of this width.
fn draw<DB: DrawingBackend>(
    panel: &Panel,
    area: &Area<DB>,
    zoom: Zoom,
    (top, map_width): (i32, u32),
) -> Drawn<DB> {
    let px = |css| zoom.px(css);
    let style = zoom.text(15, HPos::Left, VPos::Center);
    area.draw_text(&panel.title, &style, (px(MARGIN), px(top + TITLE / 2)))?;
    let columns = panel.columns.len().max(1) as i32;
    let name_width = panel.name_width();
    let width = ((map_width as i32 - 2 * MARGIN - name_width) / columns).min(CELL);
    let left = |i: usize| MARGIN + name_width + i as i32 * width;
    let style = zoom.text(13, HPos::Center, VPos::Center);
    for (i, name) in panel.columns.iter().enumerate() {
        let at = (px(left(i) + width / 2), px(top + TITLE + ROW / 2));
        area.draw_text(name, &style, at)?;
    }
    let style = zoom.text(13, HPos::Right, VPos::Center);
    for (j, (name, ratios)) in panel.rows.iter().enumerate() {
        let y = top + TITLE + ROW * (j as i32 + 1);
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
    let style = zoom.text(13, HPos::Center, VPos::Center).color(&ink);
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
