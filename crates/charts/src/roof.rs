//! A machine's roof, and the common parts of roofline charts: axes, numbered points, and a list of names.

use std::ops::RangeInclusive;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::axes::axes;
use crate::scale::{Scale, label};
use crate::style::{Area, Drawn, INK, MARGIN, WIDTH, Zoom};

/// Limits of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Roof {
    /// Name of the machine.
    pub name: String,
    /// Memory bandwidth in TB/s.
    pub bandwidth: f64,
    /// Peak arithmetic throughput in TFLOP/s.
    pub peak: f64,
}

impl Roof {
    /// Returns min(peak, bandwidth × intensity): the maximum TFLOP/s at this many FLOPs per byte.
    pub fn at(&self, intensity: f64) -> f64 {
        (self.bandwidth * intensity).min(self.peak)
    }

    /// Returns a caption for measured roofs: both limits, and how to read a point above one.
    pub fn as_measured(&self) -> String {
        format!(
            "Measured limits: memory {:.3} TB/s, matmul {:.3} TFLOP/s. A point above a sloping line: data in caches; \
             above the flat one: a faster matmul than the one measured.",
            self.bandwidth, self.peak
        )
    }

    /// Returns the FLOPs per byte from which on arithmetic is the limit.
    pub fn ridge(&self) -> f64 {
        self.peak / self.bandwidth
    }
}

/// Axes in FLOPs per byte and TFLOP/s.
pub(crate) type Plane<'a, DB> = ChartContext<'a, DB, Cartesian2d<Scale, Scale>>;

/// Draws axes `top` CSS pixels below the edge, with at most `x_labels` labels of intensities, and the roof; `rate` is the vertical
/// axis' title.
pub(crate) fn plane<'a, DB: DrawingBackend>(
    area: &'a Area<DB>,
    zoom: Zoom,
    (top, x_labels): (i32, usize),
    roof: &Roof,
    [x, y]: [Scale; 2],
    rate: &str,
) -> Result<Plane<'a, DB>, DrawingAreaErrorKind<DB::ErrorType>> {
    let ends = [x.range().start, roof.ridge(), x.range().end];
    let mut chart = ChartBuilder::on(area)
        .margin_top(zoom.px(top))
        .margin_right(zoom.px(20))
        .margin_left(zoom.px(8))
        .x_label_area_size(zoom.px(46))
        .y_label_area_size(zoom.px(70))
        .build_cartesian_2d(x, y)?;
    axes(
        &mut chart,
        zoom,
        (x_labels, 8),
        "arithmetic intensity (FLOPs per byte)",
        rate,
    )?;
    let line = ends.map(|x| (x, roof.at(x)));
    chart.draw_series(LineSeries::new(line, zoom.stroke(INK, 2)))?;
    Ok(chart)
}

/// Draws numbers from 1 above points from left to right; overlapping numbers become one label above the
/// highest point.
pub(crate) fn number<DB: DrawingBackend>(
    chart: &mut Plane<DB>,
    zoom: Zoom,
    points: &[(f64, f64)],
    anchor: HPos,
) -> Drawn<DB> {
    let xs: Vec<i32> = points.iter().map(|p| chart.backend_coord(p).0).collect();
    let style = zoom.text(14, anchor, VPos::Bottom);
    for group in groups(&xs, zoom.px(20)) {
        let highest = points[group.clone()].iter().map(|p| p.1).fold(0., f64::max);
        let above = EmptyElement::at((points[*group.end()].0, highest));
        let text = Text::new(numbers(&group), (0, -zoom.px(8)), style.clone());
        chart.draw_series([above + text])?;
    }
    Ok(())
}

/// A line of the list below the axes.
pub(crate) struct Named<'a> {
    pub name: &'a str,
    /// Intensity in FLOPs per byte.
    pub intensity: f64,
    /// Colour of its dot, if it has one.
    pub colour: Option<RGBColor>,
}

/// Height of a line of the list in CSS pixels.
const ROW: i32 = 20;
/// Number of columns of the list.
const COLUMNS: usize = 2;

/// Number of lines of a list of `names`.
fn rows(names: usize) -> usize {
    names.div_ceil(COLUMNS)
}

/// Height of the list with the note above it, in CSS pixels.
pub(crate) fn list_height(names: usize) -> i32 {
    ROW * (rows(names) as i32 + 2)
}

/// Draws the note and the names by number, column by column.
pub(crate) fn list<DB: DrawingBackend>(
    area: &Area<DB>,
    zoom: Zoom,
    note: &str,
    names: &[Named],
) -> Drawn<DB> {
    let style = zoom.text(13, HPos::Left, VPos::Center);
    area.draw_text(note, &style, (zoom.px(MARGIN), zoom.px(ROW)))?;
    let rows = rows(names.len());
    for (i, named) in names.iter().enumerate() {
        let (column, row) = ((i / rows) as i32, (i % rows) as i32);
        let mut x = zoom.px(MARGIN) + column * zoom.px(WIDTH as i32 / COLUMNS as i32);
        let y = zoom.px(ROW) * (row + 2);
        if let Some(colour) = named.colour {
            area.draw(&Circle::new(
                (x + zoom.px(5), y),
                zoom.px(4),
                colour.filled(),
            ))?;
            x += zoom.px(14);
        }
        let value = label((1e3 * named.intensity).round() / 1e3);
        let text = format!("{}  {}  {value}", i + 1, named.name);
        area.draw_text(&text, &style, (x, y))?;
    }
    Ok(())
}

/// Groups neighbouring numbers that would overlap; `xs` are ascending, in pixels.
fn groups(xs: &[i32], width: i32) -> Vec<RangeInclusive<usize>> {
    let mut groups: Vec<RangeInclusive<usize>> = vec![];
    for (i, x) in xs.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if x - xs[*group.end()] < width => *group = *group.start()..=i,
            _ => groups.push(i..=i),
        }
    }
    groups
}

/// Formats numbers from 1: `3`, or `3–5`.
fn numbers(group: &RangeInclusive<usize>) -> String {
    match (group.start() + 1, group.end() + 1) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roof_is_the_lower_of_two_limits() {
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
