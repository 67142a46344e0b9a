//! Grouped bars with whiskers: one group per workload, one bar per level.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::paint::{Paint, paints, plain};
use crate::save::Chart;
use crate::scale::{Scale, label};
use crate::style::{Area, Drawn, GRID, Header, INK, Key, LINE, MARGIN, WIDTH, Zoom};
use crate::{Axis, Error};

/// A chart of grouped bars. Bars are horizontal, so that long names and many groups fit.
///
/// On a linear axis bars start at zero. On a logarithmic one, which has no zero, they start at the mark: a
/// bar from 1 to a speed-up of 8 is three doublings long.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// Title of the chart.
    pub title: String,
    /// The axis along the bars.
    pub axis: Axis,
    /// A value to mark with a line, such as 1 for a speed-up.
    pub mark: Option<f64>,
    /// Groups from top to bottom.
    pub groups: Vec<Group>,
}

/// A group of bars.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name, to the left of the bars.
    pub name: String,
    /// Bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Name; bars of the same name share a colour and a legend entry.
    pub name: String,
    /// Length of the bar.
    pub value: f64,
    /// Start and end of the whisker, which is not drawn if both equal the value.
    pub spread: (f64, f64),
    /// Text after the bar: the value and its unit.
    pub label: String,
}

/// Heights of a bar with the gap below it, of the gap between groups, and of the axis.
const BAR: i32 = 22;
const GAP: i32 = 12;
const AXIS: i32 = 52;
/// Maximum width of names and labels.
const WIDEST_TEXT: i32 = 250;

impl BarChart {
    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    /// Names of the drawn bars, in the order of appearance.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for bar in self.bars().filter(|bar| bar.value.is_finite()) {
            if !names.contains(&bar.name.as_str()) {
                names.push(&bar.name);
            }
        }
        names
    }

    /// Returns the look of a bar.
    pub(crate) fn paint(&self, bar: &Bar) -> Paint {
        let names = self.names();
        let at = names.iter().position(|name| *name == bar.name);
        let paint = at.and_then(|at| paints(&names).get(at).copied());
        paint.unwrap_or_else(|| plain(0)) // for a bar that is not drawn
    }

    /// Returns the maximum value, whisker or mark.
    fn highest(&self) -> f64 {
        let ends = self.bars().flat_map(|bar| [bar.value, bar.spread.1]);
        let ends = ends.chain(self.mark).filter(|v| v.is_finite());
        ends.fold(0., f64::max)
    }

    /// The scale from the bars' start to the longest bar's end; on a logarithmic axis, from the minimum.
    pub(crate) fn scale(&self) -> Scale {
        if !self.axis.log {
            return Scale::exact(0., self.highest());
        }
        let ends = self
            .bars()
            .flat_map(|bar| [bar.spread.0, bar.value, bar.spread.1]);
        let ends = ends.chain(self.mark).filter(|v| Scale::shows(*v, true));
        Scale::around(ends, 0., true).unwrap_or(Scale::exact(0., 1.))
    }

    pub(crate) fn header<'a>(&'a self, names: &'a [&'a str]) -> Header<'a> {
        Header::new(&self.title, names, WIDTH)
    }

    fn height(&self) -> i32 {
        let groups = self.groups.iter().map(|g| g.bars.len() as i32 * BAR + GAP);
        groups.sum()
    }
}

impl Chart for BarChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let height = self.header(&self.names()).height() + self.height() + AXIS;
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        let shows = self.highest() > 0. && !self.names().is_empty();
        shows.then_some(()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let names = self.names();
        self.header(&names).draw(area, zoom, Key::Bar)?;
        let plot = Plot::new(self, area, zoom)?;
        plot.axis(self)?;
        let mut top = plot.top;
        for group in &self.groups {
            let below = top + zoom.px(group.bars.len() as i32 * BAR);
            plot.name(&group.name, (top + below) / 2)?;
            for (i, bar) in group.bars.iter().enumerate() {
                plot.bar(bar, self.paint(bar), top + zoom.px(i as i32 * BAR))?;
            }
            top = below + zoom.px(GAP);
        }
        Ok(())
    }
}

/// Positions of the bars, in pixels.
struct Plot<'a, DB: DrawingBackend> {
    area: &'a Area<DB>,
    zoom: Zoom,
    scale: Scale,
    /// Value at which bars start, if not at the left edge.
    start: Option<f64>,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl<'a, DB: DrawingBackend> Plot<'a, DB> {
    fn new(
        chart: &BarChart,
        area: &'a Area<DB>,
        zoom: Zoom,
    ) -> Result<Self, DrawingAreaErrorKind<DB::ErrorType>> {
        let style = zoom.text(15, HPos::Left, VPos::Top);
        let widest = |texts: Vec<&String>| {
            texts.into_iter().try_fold(0, |widest, text| {
                let width = area.estimate_text_size(text, &style)?.0 as i32;
                Ok(width.min(zoom.px(WIDEST_TEXT)).max(widest))
            })
        };
        let names = widest(chart.groups.iter().map(|group| &group.name).collect())?;
        let labels = widest(chart.bars().map(|bar| &bar.label).collect())?;
        let top = zoom.px(chart.header(&chart.names()).height());
        Ok(Self {
            area,
            zoom,
            scale: chart.scale(),
            start: chart.mark.filter(|_| chart.axis.log),
            left: zoom.px(MARGIN + 10) + names,
            right: zoom.px(WIDTH as i32 - MARGIN - 10) - labels,
            top,
            bottom: top + zoom.px(chart.height()),
        })
    }

    fn x(&self, v: f64) -> i32 {
        self.scale.map(&v, (self.left, self.right))
    }

    fn line(&self, points: [(i32, i32); 2], colour: RGBColor) -> Drawn<DB> {
        self.area
            .draw(&PathElement::new(points, self.zoom.stroke(colour, 1)))
    }

    /// Draws the grid, the ticks, the axis' label and the mark.
    fn axis(&self, chart: &BarChart) -> Drawn<DB> {
        let px = |css| self.zoom.px(css);
        let style = self.zoom.text(14, HPos::Center, VPos::Top);
        for tick in self.scale.ticks(8) {
            let x = self.x(tick);
            self.line([(x, self.top), (x, self.bottom)], GRID)?;
            self.area
                .draw_text(&label(tick), &style, (x, self.bottom + px(4)))?;
        }
        let style = self.zoom.text(15, HPos::Center, VPos::Top);
        let middle = (self.left + self.right) / 2;
        self.area
            .draw_text(&chart.axis.label, &style, (middle, self.bottom + px(22)))?;
        self.line([(self.left, self.top), (self.left, self.bottom)], LINE)?;
        match chart.mark.map(|v| self.x(v)) {
            Some(x) => self.line([(x, self.top), (x, self.bottom)], LINE),
            None => Ok(()),
        }
    }

    /// Draws the name of a group, to the left of its bars.
    fn name(&self, name: &str, y: i32) -> Drawn<DB> {
        let style = self.zoom.text(15, HPos::Right, VPos::Center);
        let at = (self.left - self.zoom.px(8), y);
        self.area.draw_text(name, &style, at)
    }

    /// Draws a bar, its whisker and its label, below `top`.
    fn bar(&self, bar: &Bar, paint: Paint, top: i32) -> Drawn<DB> {
        if !bar.value.is_finite() {
            return Ok(());
        }
        let px = |css| self.zoom.px(css);
        let (end, middle) = (self.x(bar.value), top + px(BAR / 2 - 1));
        let start = self.start.map_or(self.left, |v| self.x(v));
        let corners = [
            (start.min(end), top + px(1)),
            (start.max(end), top + px(BAR - 3)),
        ];
        paint.bar(self.area, self.zoom, corners)?;
        let (low, high) = (self.x(bar.spread.0), self.x(bar.spread.1));
        if bar.spread != (bar.value, bar.value) {
            self.line([(low, middle), (high, middle)], INK)?;
            for x in [low, high] {
                self.line([(x, middle - px(4)), (x, middle + px(4))], INK)?;
            }
        }
        let style = self.zoom.text(15, HPos::Left, VPos::Center);
        let at = (start.max(end).max(high) + px(6), middle);
        self.area.draw_text(&bar.label, &style, at)
    }
}
