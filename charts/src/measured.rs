//! What kernels reach below the roof of a machine, a point a level.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::roof::{Named, list, list_height, number, plane};
use crate::save::Chart;
use crate::scale::Scale;
use crate::style::{Area, Drawn, GRID, WIDTH, Zoom, colour, header, header_height};
use crate::{Error, Roof};

/// Measured rates below a roof.
#[derive(Debug, Clone)]
pub struct MeasuredChart {
    /// What it shows.
    pub title: String,
    /// Of the machine.
    pub roof: Roof,
    /// Levels, or whatever else is compared: a colour each.
    pub series: Vec<String>,
    /// In any order; those without a positive intensity are left out.
    pub kernels: Vec<Measured>,
    /// A line below.
    pub note: String,
}

/// What one kernel needs, and how fast it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Of the kernel.
    pub name: String,
    /// FLOPs a byte.
    pub intensity: f64,
    /// TFLOP/s, one a series.
    pub rates: Vec<Option<f64>>,
}

/// Height of the axes and all around them but the legend and the list, CSS pixels.
const AXES: i32 = 500;

impl Measured {
    fn shown(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let rates = self.rates.iter().enumerate();
        rates.filter_map(|(i, rate)| Some((i, rate.filter(|r| Scale::shows(*r, true))?)))
    }
}

impl MeasuredChart {
    /// Those that logarithmic axes can show, from the least intensity.
    fn shown(&self) -> Vec<&Measured> {
        let shows = |kernel: &&Measured| {
            Scale::shows(kernel.intensity, true) && kernel.shown().next().is_some()
        };
        let mut shown: Vec<_> = self.kernels.iter().filter(shows).collect();
        shown.sort_by(|a, b| a.intensity.total_cmp(&b.intensity));
        shown
    }

    /// FLOPs a byte and TFLOP/s: all points, and some of the roof on both sides of its ridge.
    fn scales(&self) -> Option<[Scale; 2]> {
        let shown = self.shown();
        let (low, high) = (shown.first()?.intensity, shown.last()?.intensity);
        let ridge = self.roof.ridge();
        let ends = [low.min(ridge) / 2., high.max(ridge) * 2.];
        let rates = shown.iter().flat_map(|kernel| kernel.shown());
        let y = rates
            .map(|(_, rate)| rate)
            .chain([self.roof.at(ends[0]), 3. * self.roof.peak]);
        let x = Scale::around(ends.into_iter(), 0., true)?;
        Some([x, Scale::around(y, 0.03, true)?])
    }

    fn names(&self) -> Vec<&str> {
        self.series.iter().map(String::as_str).collect()
    }

    fn axes_height(&self) -> i32 {
        AXES + header_height(&self.names())
    }
}

impl Chart for MeasuredChart {
    fn size(&self) -> (u32, u32) {
        let height = self.axes_height() + list_height(self.shown().len());
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        header(area, zoom, &self.title, &self.names())?;
        let (axes, below) = area.split_vertically(zoom.px(self.axes_height()));
        self.draw_axes(&axes, zoom)?;
        list(&below, zoom, &self.note, &self.list())
    }
}

impl MeasuredChart {
    fn draw_axes<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let Some(scales) = self.scales() else {
            return Ok(());
        };
        let rate = "reached (TFLOP/s)";
        let mut chart = plane(area, zoom, &self.names(), &self.roof, scales, rate)?;
        let shown = self.shown();
        let rates = |kernel: &Measured| kernel.shown().map(|(_, rate)| rate).collect::<Vec<_>>();
        let top = |kernel: &Measured| {
            let roof = self.roof.at(kernel.intensity);
            (
                kernel.intensity,
                rates(kernel).into_iter().fold(roof, f64::max),
            )
        };
        for kernel in &shown {
            let least = rates(kernel).into_iter().fold(f64::INFINITY, f64::min);
            let column = [(kernel.intensity, least), top(kernel)];
            chart.draw_series(LineSeries::new(column, zoom.stroke(GRID, 1)))?;
        }
        for kernel in &shown {
            for (i, rate) in kernel.shown() {
                let style = colour(i).filled();
                let dot = Circle::new((kernel.intensity, rate), zoom.px(4), style);
                chart.draw_series([dot])?;
            }
        }
        let tops: Vec<_> = shown.iter().map(|kernel| top(kernel)).collect();
        number(&mut chart, zoom, &tops, HPos::Center)
    }

    fn list(&self) -> Vec<Named<'_>> {
        let shown = self.shown().into_iter();
        let named = shown.map(|kernel| Named {
            name: &kernel.name,
            intensity: kernel.intensity,
            colour: None,
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(kernels: Vec<Measured>) -> MeasuredChart {
        MeasuredChart {
            title: "rates".into(),
            roof: Roof {
                name: "a machine".into(),
                bandwidth: 1.,
                peak: 10.,
            },
            series: vec!["level 1".into(), "level 2".into()],
            kernels,
            note: String::new(),
        }
    }

    #[test]
    fn what_cannot_be_on_the_axes_is_left_out() {
        let kernel = |name: &str, intensity, rates: [Option<f64>; 2]| Measured {
            name: name.into(),
            intensity,
            rates: rates.into(),
        };
        let kernels = vec![
            kernel("b", 20., [Some(1.), None]),
            kernel("a", 0.5, [None, Some(0.1)]),
            kernel("nothing to do", 0., [Some(1.), Some(1.)]),
            kernel("not measured", 1., [None, None]),
        ];
        let chart = chart(kernels);
        let names: Vec<&str> = chart.shown().iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(chart.check().is_ok());
    }

    #[test]
    fn a_chart_without_points_is_refused() {
        assert!(matches!(chart(vec![]).check(), Err(Error::Empty(_))));
    }
}
