//! What kernels reach below the roof of a machine, a point a level.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::axes::axes;
use crate::roofline::{COLUMNS, ROW, groups, numbers};
use crate::save::Chart;
use crate::scale::{Scale, label};
use crate::style::{Area, Drawn, GRID, INK, MARGIN, WIDTH, Zoom, colour, header, header_height};
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
    fn scales(&self) -> Option<(Scale, Scale)> {
        let shown = self.shown();
        let (low, high) = (shown.first()?.intensity, shown.last()?.intensity);
        let ridge = self.roof.ridge();
        let ends = [low.min(ridge) / 2., high.max(ridge) * 2.];
        let rates = shown.iter().flat_map(|kernel| kernel.shown());
        let y = rates
            .map(|(_, rate)| rate)
            .chain([self.roof.at(ends[0]), 3. * self.roof.peak]);
        let x = Scale::around(ends.into_iter(), 0., true)?;
        Some((x, Scale::around(y, 0.03, true)?))
    }

    fn names(&self) -> Vec<&str> {
        self.series.iter().map(String::as_str).collect()
    }

    fn rows(&self) -> usize {
        self.shown().len().div_ceil(COLUMNS)
    }

    fn axes_height(&self) -> i32 {
        AXES + header_height(&self.names())
    }
}

impl Chart for MeasuredChart {
    fn size(&self) -> (u32, u32) {
        let height = self.axes_height() + ROW * (self.rows() as i32 + 2);
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        header(area, zoom, &self.title, &self.names())?;
        let (axes, list) = area.split_vertically(zoom.px(self.axes_height()));
        self.draw_axes(&axes, zoom)?;
        self.draw_list(&list, zoom)
    }
}

impl MeasuredChart {
    fn draw_axes<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let Some((x, y)) = self.scales() else {
            return Ok(());
        };
        let ends = [x.range().start, self.roof.ridge(), x.range().end];
        let mut chart = ChartBuilder::on(area)
            .margin_top(zoom.px(header_height(&self.names())))
            .margin_right(zoom.px(20))
            .margin_left(zoom.px(8))
            .x_label_area_size(zoom.px(46))
            .y_label_area_size(zoom.px(70))
            .build_cartesian_2d(x, y)?;
        axes(
            &mut chart,
            zoom,
            "arithmetic intensity (FLOPs a byte)",
            "reached (TFLOP/s)",
        )?;
        let roof = ends.map(|x| (x, self.roof.at(x)));
        chart.draw_series(LineSeries::new(roof, zoom.stroke(INK, 2)))?;
        let shown = self.shown();
        let top = |kernel: &Measured| {
            let rates = kernel.shown().map(|(_, rate)| rate);
            (
                kernel.intensity,
                rates.fold(self.roof.at(kernel.intensity), f64::max),
            )
        };
        for kernel in &shown {
            let least = kernel
                .shown()
                .map(|(_, rate)| rate)
                .fold(f64::INFINITY, f64::min);
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
        let xs: Vec<i32> = tops.iter().map(|p| chart.backend_coord(p).0).collect();
        let style = zoom.text(14, HPos::Center, VPos::Bottom);
        for group in groups(&xs, zoom.px(22)) {
            let highest = tops[group.clone()].iter().map(|p| p.1).fold(0., f64::max);
            let above = EmptyElement::at((tops[*group.end()].0, highest));
            let text = Text::new(numbers(&group), (0, -zoom.px(7)), style.clone());
            chart.draw_series([above + text])?;
        }
        Ok(())
    }

    /// The note, and the names of the numbers, column by column.
    fn draw_list<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let style = zoom.text(13, HPos::Left, VPos::Center);
        area.draw_text(&self.note, &style, (zoom.px(MARGIN), zoom.px(ROW)))?;
        for (i, kernel) in self.shown().into_iter().enumerate() {
            let (column, row) = ((i / self.rows()) as i32, (i % self.rows()) as i32);
            let x = zoom.px(MARGIN) + column * zoom.px(WIDTH as i32 / COLUMNS as i32);
            let y = zoom.px(ROW) * (row + 2);
            let value = label((1e2 * kernel.intensity).round() / 1e2);
            let text = format!("{}  {}  {value}", i + 1, kernel.name);
            area.draw_text(&text, &style, (x, y))?;
        }
        Ok(())
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
        assert_eq!(chart.rows(), 1);
        assert!(chart.check().is_ok());
    }

    #[test]
    fn a_chart_without_points_is_refused() {
        assert!(matches!(chart(vec![]).check(), Err(Error::Empty(_))));
    }
}
