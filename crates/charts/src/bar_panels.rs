//! Bars with a name to the left of each, in stacked panels on one linear scale.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::bar::{Bar, Group};
use crate::paint::{Paint, paints};
use crate::save::Chart;
use crate::scale::{Scale, label};
use crate::style::{Area, Drawn, GRID, Header, Key, LINE, MARGIN, NARROW, PAPER, Zoom, text_room};
use crate::{Axis, Error};

/// A chart that is legible on a phone: it is narrower than the others, and names to the left of the bars
/// replace the legend. Whiskers are not drawn.
#[derive(Debug, Clone)]
pub struct BarPanels {
    /// Title of the chart.
    pub title: String,
    /// The axis along the bars; linear, and shared by all panels.
    pub axis: Axis,
    /// Panels from top to bottom.
    pub panels: Vec<Group>,
}

/// Heights of a bar with the gap below it, of a panel's title, of the gap below a panel, and of the axis.
const BAR: i32 = 23;
const TITLE: i32 = 26;
const GAP: i32 = 12;
const AXIS: i32 = 46;
/// Gap between a bar and the texts on either side.
const BESIDE: i32 = 7;
/// Size of the texts.
const TEXT: i32 = 14;

impl BarPanels {
    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.panels.iter().flat_map(|panel| &panel.bars)
    }

    fn names(&self) -> Vec<&str> {
        self.bars().map(|bar| bar.name.as_str()).collect()
    }

    fn header(&self) -> Header<'_> {
        Header::new(&self.title, &[], NARROW)
    }

    fn highest(&self) -> f64 {
        self.bars().map(|bar| bar.value).fold(0., f64::max)
    }
}

fn height(panel: &Group) -> i32 {
    TITLE + panel.bars.len() as i32 * BAR + GAP
}

impl Chart for BarPanels {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let panels: i32 = self.panels.iter().map(height).sum();
        (NARROW, (self.header().height() + panels + AXIS) as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let can_be_drawn = |bar: &Bar| bar.value.is_finite() && bar.value >= 0.;
        if self.highest() > 0. && self.bars().all(can_be_drawn) {
            Ok(())
        } else {
            Err(Error::Empty(self.title.clone()))
        }
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        self.header().draw(area, zoom, Key::Bar)?;
        let plot = Plot::new(self, area, zoom)?;
        let names = self.names();
        let mut paints = paints(&names).into_iter();
        let mut top = zoom.px(self.header().height());
        for panel in &self.panels {
            let own = paints.by_ref().take(panel.bars.len()).collect();
            plot.panel(panel, own, top)?;
            top += zoom.px(height(panel));
        }
        plot.axis(&self.axis, top)
    }
}

/// Positions of the bars, in pixels.
struct Plot<'a, DB: DrawingBackend> {
    area: &'a Area<DB>,
    zoom: Zoom,
    scale: Scale,
    left: i32,
    right: i32,
}

impl<'a, DB: DrawingBackend> Plot<'a, DB> {
    /// Chooses the longest bars that leave every label inside the chart.
    fn new(
        chart: &BarPanels,
        area: &'a Area<DB>,
        zoom: Zoom,
    ) -> Result<Self, DrawingAreaErrorKind<DB::ErrorType>> {
        let style = zoom.text(TEXT, HPos::Left, VPos::Center);
        let mut left = 0;
        for name in chart.names() {
            left = left.max(text_room(area, name, &style)?);
        }
        let left = left + zoom.px(MARGIN + BESIDE);
        let (edge, highest) = (zoom.px(NARROW as i32 - MARGIN), chart.highest());
        let mut longest = f64::from(edge - left);
        for bar in chart.bars() {
            let label = text_room(area, &bar.label, &style)? + zoom.px(BESIDE);
            longest = longest.min(f64::from(edge - left - label) * highest / bar.value);
        }
        Ok(Self {
            area,
            zoom,
            scale: Scale::exact(0., highest),
            left,
            right: left + longest as i32,
        })
    }

    fn x(&self, v: f64) -> i32 {
        self.scale.map(&v, (self.left, self.right))
    }

    fn line(&self, points: [(i32, i32); 2], colour: RGBColor) -> Drawn<DB> {
        self.area
            .draw(&PathElement::new(points, self.zoom.stroke(colour, 1)))
    }

    /// Draws a panel's title, grid and bars, below `top`.
    fn panel(&self, panel: &Group, paints: Vec<Paint>, top: i32) -> Drawn<DB> {
        let px = |css| self.zoom.px(css);
        let style = self.zoom.text(TEXT + 1, HPos::Left, VPos::Center);
        let at = (px(MARGIN), top + px(TITLE / 2));
        self.area.draw_text(&panel.name, &style, at)?;
        let (first, bottom) = (top + px(TITLE), top + px(height(panel) - GAP));
        for tick in self.scale.ticks(6) {
            self.line([(self.x(tick), first), (self.x(tick), bottom)], GRID)?;
        }
        for ((bar, paint), i) in panel.bars.iter().zip(paints).zip(0..) {
            self.bar(bar, paint, first + px(i * BAR))?;
        }
        self.line([(self.left, first), (self.left, bottom)], LINE)
    }

    /// Draws a bar below `top`, between its name and its label.
    fn bar(&self, bar: &Bar, paint: Paint, top: i32) -> Drawn<DB> {
        let px = |css| self.zoom.px(css);
        let (end, middle) = (self.x(bar.value), top + px(BAR / 2));
        let corners = [(self.left, top + px(2)), (end, top + px(BAR - 3))];
        paint.bar(self.area, self.zoom, corners)?;
        let name = self.zoom.text(TEXT, HPos::Right, VPos::Center);
        let at = (self.left - px(BESIDE), middle);
        self.area.draw_text(&bar.name, &name, at)?;
        let label = self.zoom.text(TEXT, HPos::Left, VPos::Center);
        let (x, room) = (end + px(BESIDE), text_room(self.area, &bar.label, &label)?);
        let behind = [(end + px(1), corners[0].1), (x + room, corners[1].1)];
        self.area.draw(&Rectangle::new(behind, PAPER.filled()))?; // keeps grid lines out of the label
        self.area.draw_text(&bar.label, &label, (x, middle))
    }

    /// Draws ticks and the axis' title below the last panel.
    fn axis(&self, axis: &Axis, top: i32) -> Drawn<DB> {
        let px = |css| self.zoom.px(css);
        let style = self.zoom.text(TEXT, HPos::Center, VPos::Top);
        for tick in self.scale.ticks(6) {
            let at = (self.x(tick), top - px(GAP - 3));
            self.area.draw_text(&label(tick), &style, at)?;
        }
        let at = ((self.left + self.right) / 2, top + px(14));
        self.area.draw_text(&axis.label, &style, at)
    }
}
