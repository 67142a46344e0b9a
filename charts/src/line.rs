//! Lines over a common axis: a loss over steps, a time over a size.

use plotters::prelude::*;

use crate::axes::axes;
use crate::save::Chart;
use crate::scale::Scale;
use crate::style::{Area, Drawn, WIDTH, Zoom, colour, header, header_height};
use crate::{Axis, Error};

/// A chart of lines.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// One line each.
    pub series: Vec<Series>,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// (x, y) from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A line of so many points at the most shows each of them.
const FEW: usize = 20;

impl LineChart {
    /// The points of a series that the axes can show.
    fn shown<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let shows =
            |&(x, y): &(f64, f64)| Scale::shows(x, self.x.log) && Scale::shows(y, self.y.log);
        series.points.iter().copied().filter(shows)
    }

    fn scales(&self) -> Option<(Scale, Scale)> {
        let points = || self.series.iter().flat_map(|series| self.shown(series));
        let x = Scale::around(points().map(|p| p.0), 0., self.x.log)?;
        Some((x, Scale::around(points().map(|p| p.1), 0.05, self.y.log)?))
    }
}

impl Chart for LineChart {
    fn size(&self) -> (u32, u32) {
        (WIDTH, 420)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let Some((x, y)) = self.scales() else {
            return Ok(());
        };
        let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).collect();
        header(area, zoom, &self.title, &names)?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(zoom.px(header_height(&names)))
            .margin_right(zoom.px(20))
            .margin_bottom(zoom.px(8))
            .margin_left(zoom.px(8))
            .x_label_area_size(zoom.px(46))
            .y_label_area_size(zoom.px(70))
            .build_cartesian_2d(x, y)?;
        axes(&mut chart, zoom, &self.x.label, &self.y.label)?;
        for (i, series) in self.series.iter().enumerate() {
            let points: Vec<(f64, f64)> = self.shown(series).collect();
            if points.len() <= FEW {
                let dot = |point: &(f64, f64)| Circle::new(*point, zoom.px(3), colour(i).filled());
                chart.draw_series(points.iter().map(dot))?;
            }
            chart.draw_series(LineSeries::new(points, zoom.stroke(colour(i), 2)))?;
        }
        Ok(())
    }
}
