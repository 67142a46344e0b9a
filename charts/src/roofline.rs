//! Kernels under the roof of a machine: "Roofline", Williams, Waterman, Patterson, 2009.

use std::ops::RangeInclusive;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::Error;
use crate::axes::axes;
use crate::save::Chart;
use crate::scale::{Scale, label};
use crate::style::{Area, Drawn, INK, MARGIN, WIDTH, Zoom, colour, header, header_height};

/// What a machine can do at the most.
#[derive(Debug, Clone, PartialEq)]
pub struct Roof {
    /// Of the machine.
    pub name: String,
    /// Of its memory, TB/s.
    pub bandwidth: f64,
    /// Of its arithmetic, TFLOP/s.
    pub peak: f64,
}

impl Roof {
    /// min(peak, bandwidth × intensity): the most TFLOP/s at this many FLOPs a byte.
    pub fn at(&self, intensity: f64) -> f64 {
        (self.bandwidth * intensity).min(self.peak)
    }

    /// FLOPs a byte from which on memory is not what limits.
    pub fn ridge(&self) -> f64 {
        self.peak / self.bandwidth
    }
}

/// A roof, and the kernels below it.
#[derive(Debug, Clone)]
pub struct RooflineChart {
    /// What it shows.
    pub title: String,
    /// Of the machine.
    pub roof: Roof,
    /// In any order; those without a positive intensity are left out.
    pub kernels: Vec<Intensity>,
    /// A line below: what is claimed.
    pub note: String,
}

/// What a kernel does with what it reads and writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Intensity {
    /// Of the kernel.
    pub name: String,
    /// FLOPs a byte.
    pub value: f64,
}

/// What limits a kernel, in the colours of its dots.
const LIMITS: [&str; 2] = ["limited by memory", "limited by arithmetic"];
/// Height of the axes and all around them but the list, CSS pixels.
const AXES: i32 = 420;
/// Of the line of a kernel in the list below, CSS pixels.
pub(crate) const ROW: i32 = 20;
/// Of kernels, side by side.
pub(crate) const COLUMNS: usize = 2;

impl RooflineChart {
    /// Those that a logarithmic axis can show, from the least intensity.
    fn shown(&self) -> Vec<&Intensity> {
        let mut shown: Vec<_> = (self.kernels.iter())
            .filter(|k| Scale::shows(k.value, true))
            .collect();
        shown.sort_by(|a, b| a.value.total_cmp(&b.value));
        shown
    }

    /// FLOPs a byte and TFLOP/s: all kernels, and some of the roof on both sides of its ridge.
    fn scales(&self) -> Option<(Scale, Scale)> {
        let shown = self.shown();
        let (low, high) = (shown.first()?.value, shown.last()?.value);
        let ridge = self.roof.ridge();
        let ends = [low.min(ridge) / 2., high.max(ridge) * 4.];
        let x = Scale::around(ends.into_iter(), 0., true)?;
        let y = ends.map(|x| self.roof.at(x)).into_iter();
        Some((x, Scale::around(y.chain([4. * self.roof.peak]), 0., true)?))
    }

    /// How many lines the list of kernels has.
    fn rows(&self) -> usize {
        self.shown().len().div_ceil(COLUMNS)
    }
}

impl Chart for RooflineChart {
    fn size(&self) -> (u32, u32) {
        let height = AXES + ROW * (self.rows() as i32 + 2);
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        header(area, zoom, &self.title, &LIMITS)?;
        let (axes, list) = area.split_vertically(zoom.px(AXES));
        self.draw_axes(&axes, zoom)?;
        self.draw_list(&list, zoom)
    }
}

impl RooflineChart {
    fn draw_axes<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let Some((x, y)) = self.scales() else {
            return Ok(());
        };
        let ends = [x.range().start, self.roof.ridge(), x.range().end];
        let mut chart = ChartBuilder::on(area)
            .margin_top(zoom.px(header_height(&LIMITS)))
            .margin_right(zoom.px(20))
            .margin_left(zoom.px(8))
            .x_label_area_size(zoom.px(46))
            .y_label_area_size(zoom.px(70))
            .build_cartesian_2d(x, y)?;
        axes(
            &mut chart,
            zoom,
            "arithmetic intensity (FLOPs a byte)",
            "ceiling (TFLOP/s)",
        )?;
        let roof = ends.map(|x| (x, self.roof.at(x)));
        chart.draw_series(LineSeries::new(roof, zoom.stroke(INK, 2)))?;

        let shown = self.shown();
        let points: Vec<_> = (shown.iter())
            .map(|kernel| (kernel.value, self.roof.at(kernel.value)))
            .collect();
        for (kernel, point) in shown.iter().zip(&points) {
            let dot = Circle::new(*point, zoom.px(5), self.colour(kernel).filled());
            chart.draw_series([dot])?;
        }
        let xs: Vec<i32> = points.iter().map(|p| chart.backend_coord(p).0).collect();
        let style = zoom.text(14, HPos::Right, VPos::Bottom);
        for group in groups(&xs, zoom.px(18)) {
            let above = EmptyElement::at(points[*group.end()]);
            let text = Text::new(numbers(&group), (0, -zoom.px(8)), style.clone());
            chart.draw_series([above + text])?;
        }
        Ok(())
    }

    /// One colour where memory limits, another where arithmetic does.
    fn colour(&self, kernel: &Intensity) -> RGBColor {
        colour(usize::from(kernel.value >= self.roof.ridge()))
    }

    /// The note, and the names of the numbers, column by column.
    fn draw_list<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let style = zoom.text(13, HPos::Left, VPos::Center);
        area.draw_text(&self.note, &style, (zoom.px(MARGIN), zoom.px(ROW)))?;
        for (i, kernel) in self.shown().into_iter().enumerate() {
            let (column, row) = ((i / self.rows()) as i32, (i % self.rows()) as i32);
            let x = zoom.px(MARGIN) + column * zoom.px(WIDTH as i32 / COLUMNS as i32);
            let y = zoom.px(ROW) * (row + 2);
            let value = label((1e3 * kernel.value).round() / 1e3);
            let text = format!("{}  {}  {value}", i + 1, kernel.name);
            let dot = Circle::new(
                (x + zoom.px(5), y),
                zoom.px(4),
                self.colour(kernel).filled(),
            );
            area.draw(&dot)?;
            area.draw_text(&text, &style, (x + zoom.px(14), y))?;
        }
        Ok(())
    }
}

/// Numbers of neighbours that would lie on each other, side by side: `xs` from left to right, in pixels.
pub(crate) fn groups(xs: &[i32], width: i32) -> Vec<RangeInclusive<usize>> {
    let mut groups: Vec<RangeInclusive<usize>> = vec![];
    for (i, x) in xs.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if x - xs[*group.end()] < width => *group = *group.start()..=i,
            _ => groups.push(i..=i),
        }
    }
    groups
}

/// `3`, or `3–5` of numbers from 1.
pub(crate) fn numbers(group: &RangeInclusive<usize>) -> String {
    match (group.start() + 1, group.end() + 1) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roof_is_the_lower_of_two() {
        let roof = Roof {
            name: "a machine".into(),
            bandwidth: 2.,
            peak: 10.,
        };
        assert_eq!([0.5, 5., 80.].map(|x| roof.at(x)), [1., 10., 10.]);
        assert_eq!(roof.ridge(), 5.);
    }

    #[test]
    fn numbers_at_one_place_are_one_label() {
        let groups = groups(&[100, 105, 112, 130, 150, 151], 10);
        let labels: Vec<String> = groups.iter().map(numbers).collect();
        assert_eq!(labels, ["1–3", "4", "5–6"]);
    }
}
