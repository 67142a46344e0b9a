//! Grouped bars as small multiples: one panel per group, on one scale.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::Error;
use crate::bar::{Bar, BarChart, Group};
use crate::paint::Paint;
use crate::save::Chart;
use crate::scale::{Scale, label};
use crate::style::text_room;
use crate::style::{Area, Drawn, GRID, INK, Key, LINE, MARGIN, WIDTH, Zoom};

/// A [`BarChart`] with its groups in columns, so that many fit on a page.
pub struct BarGrid<'a>(pub &'a BarChart);

/// Number of columns.
const COLUMNS: usize = 2;
/// Heights of a bar with the gap below it, of a panel's title, of the gap below a panel, and of the axis.
const BAR: i32 = 16;
const TITLE: i32 = 20;
const GAP: i32 = 10;
const AXIS: i32 = 42;
/// Gap between a bar and its label.
const BEFORE_LABEL: i32 = 5;

impl BarGrid<'_> {
    /// Number of groups per column.
    fn per_column(&self) -> usize {
        self.0.groups.len().div_ceil(COLUMNS).max(1)
    }

    fn columns(&self) -> impl Iterator<Item = &[Group]> {
        self.0.groups.chunks(self.per_column())
    }

    /// Pixels to the right of the longest bar, for its label.
    fn label_room<DB: DrawingBackend>(
        &self,
        area: &Area<DB>,
        zoom: Zoom,
    ) -> Result<i32, DrawingAreaErrorKind<DB::ErrorType>> {
        let style = label_style(zoom);
        let bars = self.0.groups.iter().flat_map(|group| &group.bars);
        let mut room = 0;
        for bar in bars {
            room = room.max(text_room(area, &bar.label, &style)?);
        }
        Ok(room + zoom.px(BEFORE_LABEL))
    }

    fn height(&self) -> i32 {
        let of = |groups: &[Group]| groups.iter().map(height).sum();
        self.columns().map(of).max().unwrap_or(0)
    }
}

fn label_style(zoom: Zoom) -> TextStyle<'static> {
    zoom.text(13, HPos::Left, VPos::Center)
}

fn height(group: &Group) -> i32 {
    TITLE + group.bars.len() as i32 * BAR + GAP
}

impl Chart for BarGrid<'_> {
    fn title(&self) -> &str {
        &self.0.title
    }

    fn size(&self) -> (u32, u32) {
        let height = self.0.header(&self.0.names()).height() + self.height() + AXIS;
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        self.0.check()
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let names = self.0.names();
        let header = self.0.header(&names);
        header.draw(area, zoom, Key::Bar)?;
        let room = self.label_room(area, zoom)?;
        let width = (WIDTH as i32 - 2 * MARGIN) / COLUMNS as i32;
        for (i, groups) in self.columns().enumerate() {
            let left = MARGIN + i as i32 * width;
            let column = Column {
                area,
                zoom,
                chart: self.0,
                scale: self.0.scale(),
                left: zoom.px(left),
                right: zoom.px(left + width) - room,
                top: zoom.px(header.height()),
            };
            column.draw(groups)?;
        }
        let style = zoom.text(15, HPos::Center, VPos::Bottom);
        let (_, bottom) = self.size();
        let at = (zoom.px(WIDTH as i32 / 2), zoom.px(bottom as i32 - 6));
        area.draw_text(&self.0.axis.label, &style, at)
    }
}

/// A column of panels, in pixels.
struct Column<'a, DB: DrawingBackend> {
    area: &'a Area<DB>,
    zoom: Zoom,
    chart: &'a BarChart,
    scale: Scale,
    left: i32,
    right: i32,
    top: i32,
}

impl<DB: DrawingBackend> Column<'_, DB> {
    fn x(&self, v: f64) -> i32 {
        self.scale.map(&v, (self.left, self.right))
    }

    fn line(&self, points: [(i32, i32); 2], colour: RGBColor) -> Drawn<DB> {
        self.area
            .draw(&PathElement::new(points, self.zoom.stroke(colour, 1)))
    }

    fn draw(&self, groups: &[Group]) -> Drawn<DB> {
        let px = |css| self.zoom.px(css);
        let mut top = self.top;
        for group in groups {
            let style = self.zoom.text(15, HPos::Left, VPos::Center);
            self.area
                .draw_text(&group.name, &style, (self.left, top + px(TITLE / 2)))?;
            let bars = (top + px(TITLE), top + px(height(group) - GAP));
            self.grid(bars)?;
            for (i, bar) in group.bars.iter().enumerate() {
                self.bar(bar, self.chart.paint(bar), bars.0 + px(i as i32 * BAR))?;
            }
            top += px(height(group));
        }
        self.ticks(top - px(GAP))
    }

    /// Draws lines at the ticks, and the mark, between `top` and `bottom`.
    fn grid(&self, (top, bottom): (i32, i32)) -> Drawn<DB> {
        for tick in self.scale.ticks(5) {
            let x = self.x(tick);
            self.line([(x, top), (x, bottom)], GRID)?;
        }
        match self.chart.mark.map(|v| self.x(v)) {
            Some(x) => self.line([(x, top), (x, bottom)], LINE),
            None => Ok(()),
        }
    }

    fn ticks(&self, y: i32) -> Drawn<DB> {
        let style = self.zoom.text(13, HPos::Center, VPos::Top);
        for tick in self.scale.ticks(5) {
            self.area
                .draw_text(&label(tick), &style, (self.x(tick), y + self.zoom.px(3)))?;
        }
        Ok(())
    }

    /// Draws a bar, its whisker and its label, below `top`.
    fn bar(&self, bar: &Bar, paint: Paint, top: i32) -> Drawn<DB> {
        if !bar.value.is_finite() {
            return Ok(());
        }
        let px = |css| self.zoom.px(css);
        let (end, middle) = (self.x(bar.value), top + px(BAR / 2 - 1));
        let start = match self.chart.mark.filter(|_| self.chart.axis.log) {
            Some(mark) => self.x(mark),
            None => self.left,
        };
        let corners = [
            (start.min(end), top + px(1)),
            (start.max(end), top + px(BAR - 2)),
        ];
        paint.bar(self.area, self.zoom, corners)?;
        let (low, high) = (self.x(bar.spread.0), self.x(bar.spread.1));
        if bar.spread != (bar.value, bar.value) {
            self.line([(low, middle), (high, middle)], INK)?;
            for x in [low, high] {
                self.line([(x, middle - px(3)), (x, middle + px(3))], INK)?;
            }
        }
        let at = (start.max(end).max(high) + px(BEFORE_LABEL), middle);
        self.area.draw_text(&bar.label, &label_style(self.zoom), at)
    }
}
