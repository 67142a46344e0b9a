//! Line charts: a loss over steps, or a time over a size.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::axes::axes;
use crate::paint::paints;
use crate::save::Chart;
use crate::scale::Scale;
use crate::style::{Area, Drawn, Header, Key, MARGIN, NARROW, Zoom, wrapped};
use crate::{Axis, Error};

/// A chart of lines.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// Title of the chart.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// Text below the chart; panels do not show it.
    pub note: String,
}

/// A line.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// (x, y) from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Height below the legend in CSS pixels.
const AXES: i32 = 320;
/// Height of a line of the note.
const LINE_OF_TEXT: i32 = 20;
/// Maximum number of points of a line that are drawn as markers.
const FEW: usize = 20;

impl LineChart {
    /// Points of a series that the axes can show.
    fn shown<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let shows =
            |&(x, y): &(f64, f64)| Scale::shows(x, self.x.log) && Scale::shows(y, self.y.log);
        series.points.iter().copied().filter(shows)
    }

    /// Lines of the note.
    fn note(&self) -> Vec<String> {
        let note = Some(&self.note).filter(|note| !note.is_empty());
        note.map_or(vec![], |note| wrapped(note, 13, NARROW))
    }

    fn scales(&self) -> Option<(Scale, Scale)> {
        let points = || self.series.iter().flat_map(|series| self.shown(series));
        let x = Scale::around(points().map(|p| p.0), 0., self.x.log)?;
        let y = Scale::around(points().map(|p| p.1), 0.05, self.y.log)?;
        Some((x.binary(self.x.binary), y.binary(self.y.binary)))
    }
}

impl Chart for LineChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let header = Header::new(&self.title, &self.names(), NARROW).height();
        let note = LINE_OF_TEXT * self.note().len() as i32;
        (NARROW, (header + AXES + note) as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let names = self.names();
        let header = Header::new(&self.title, &names, NARROW);
        header.draw(area, zoom, Key::Point)?;
        let bottom = header.height() + AXES;
        let (upper, _) = area.split_vertically(zoom.px(bottom));
        let style = zoom.text(13, HPos::Left, VPos::Top);
        for (line, i) in self.note().iter().zip(0..) {
            let at = (zoom.px(MARGIN), zoom.px(bottom + LINE_OF_TEXT * i));
            area.draw_text(line, &style, at)?;
        }
        let place = Place {
            page: area,
            area: upper,
            top: header.height(),
            labels: (6, 8),
        };
        self.plot(&place, zoom, &names)
    }
}

/// The area of a plot.
pub(crate) struct Place<'a, DB: DrawingBackend> {
    /// The whole page; points are in its pixels.
    pub page: &'a Area<DB>,
    /// The part with the axes.
    pub area: Area<DB>,
    /// Free space above the axes in CSS pixels.
    pub top: i32,
    /// Maximum number of labels on either axis.
    pub labels: (usize, usize),
}

impl LineChart {
    /// Names of the series with a point.
    pub(crate) fn names(&self) -> Vec<&str> {
        let drawn = |series: &&Series| self.shown(series).next().is_some();
        let drawn = self.series.iter().filter(drawn);
        drawn.map(|series| series.name.as_str()).collect()
    }

    /// Draws axes and lines, in the looks of `names`.
    pub(crate) fn plot<DB: DrawingBackend>(
        &self,
        place: &Place<DB>,
        zoom: Zoom,
        names: &[&str],
    ) -> Drawn<DB> {
        let Some((x, y)) = self.scales() else {
            return Ok(());
        };
        let mut chart = ChartBuilder::on(&place.area)
            .margin_top(zoom.px(place.top))
            .margin_right(zoom.px(20))
            .margin_bottom(zoom.px(8))
            .margin_left(zoom.px(8))
            .x_label_area_size(zoom.px(46))
            .y_label_area_size(zoom.px(70))
            .build_cartesian_2d(x, y)?;
        axes(&mut chart, zoom, place.labels, &self.x.label, &self.y.label)?;
        let paints = paints(names);
        for series in &self.series {
            let Some(i) = names.iter().position(|name| *name == series.name) else {
                continue;
            };
            let points: Vec<(f64, f64)> = self.shown(series).collect();
            let line = zoom.stroke(paints[i].colour, 2);
            chart.draw_series(LineSeries::new(points.iter().copied(), line))?;
            if points.len() <= FEW {
                for point in &points {
                    paints[i].point(place.page, zoom, chart.backend_coord(point))?;
                }
            }
        }
        Ok(())
    }
}
