//! Measured rates of kernels below a machine's roof, one point per level.

use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, VPos};

use crate::paint::{Paint, paints};
use crate::roof::{Plane, plane};
use crate::save::Chart;
use crate::scale::Scale;
use crate::style::{Area, Drawn, GRID, Header, INK, Key, LINE, MARGIN, NARROW, Zoom, wrapped};
use crate::{Error, Roof};

/// A chart of measured rates below a roof.
#[derive(Debug, Clone)]
pub struct MeasuredChart {
    /// Title of the chart.
    pub title: String,
    /// Roof of the machine.
    pub roof: Roof,
    /// Names of the series, such as levels.
    pub series: Vec<String>,
    /// Kernels in any order; those without a positive intensity are left out.
    pub kernels: Vec<Measured>,
    /// A line of text below the chart.
    pub note: String,
}

/// Needs and rates of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Name of the kernel.
    pub name: String,
    /// Intensity in FLOPs per byte.
    pub intensity: f64,
    /// Rates in TFLOP/s, one per series.
    pub rates: Vec<Option<f64>>,
}

/// Text below the note.
const COLUMNS: &str = "A line leads from each name to the intensity of its op. Ops of one intensity share a place; the tables of ops tell them apart.";
/// Heights in CSS pixels: of the axes, and of a line of the notes.
const AXES: i32 = 500;
const LINE_OF_TEXT: i32 = 18;
/// Gap above the notes.
const GAP: i32 = 14;
/// Share of the axes' height for the names above the roof.
const NAMES: f64 = 0.34;
/// Minimum distance between names of kernels, in CSS pixels.
const NAME_SPACING: i32 = 16;
/// Minimum distance from the roof to the names, in CSS pixels.
const LEADER: i32 = 60;
/// Half a tick's height, in CSS pixels.
const TICK: i32 = 5;

impl Measured {
    fn shown(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let rates = self.rates.iter().enumerate();
        rates.filter_map(|(i, rate)| Some((i, rate.filter(|r| Scale::shows(*r, true))?)))
    }
}

impl MeasuredChart {
    /// Kernels that logarithmic axes can show, in ascending intensity.
    fn shown(&self) -> Vec<&Measured> {
        let shows = |kernel: &&Measured| {
            Scale::shows(kernel.intensity, true) && kernel.shown().next().is_some()
        };
        let mut shown: Vec<_> = self.kernels.iter().filter(shows).collect();
        shown.sort_by(|a, b| a.intensity.total_cmp(&b.intensity));
        shown
    }

    /// Scales in FLOPs per byte and TFLOP/s, for all points and a part of the roof on both sides of its
    /// ridge.
    fn scales(&self) -> Option<[Scale; 2]> {
        let shown = self.shown();
        let (low, high) = (shown.first()?.intensity, shown.last()?.intensity);
        let ridge = self.roof.ridge();
        let ends = [low.min(ridge) / 2., high.max(ridge) * 4.];
        let rates = shown.iter().flat_map(|kernel| kernel.shown());
        let rates: Vec<f64> = rates.map(|(_, rate)| rate).collect();
        let least = rates.iter().copied().fold(self.roof.at(ends[0]), f64::min);
        // A rate above the peak says that the peak was measured too low.
        let most = rates.iter().copied().fold(self.roof.peak, f64::max);
        let above = (most / least).powf(NAMES / (1. - NAMES));
        let y = [least, most * above].into_iter();
        let x = Scale::around(ends.into_iter(), 0., true)?;
        Some([x, Scale::around(y, 0.02, true)?])
    }

    /// Lines of text below the chart.
    fn notes(&self) -> Vec<String> {
        let notes = [self.note.as_str(), COLUMNS].into_iter();
        notes.flat_map(|note| wrapped(note, 13, NARROW)).collect()
    }

    fn header<'a>(&'a self, names: &'a [&'a str]) -> Header<'a> {
        Header::new(&self.title, names, NARROW)
    }

    /// Names of the series with a point.
    fn names(&self) -> Vec<&str> {
        self.drawn().into_iter().map(|(_, name, _)| name).collect()
    }

    /// Series with a point, and their looks.
    fn drawn(&self) -> Vec<(usize, &str, Paint)> {
        let shown = self.shown();
        let has_point = |i: usize| shown.iter().any(|k| k.shown().any(|(j, _)| i == j));
        let names = self.series.iter().map(String::as_str).enumerate();
        let names: Vec<(usize, &str)> = names.filter(|(i, _)| has_point(*i)).collect();
        let paints = paints(&names.iter().map(|(_, name)| *name).collect::<Vec<_>>());
        let drawn = names.into_iter().zip(paints);
        drawn.map(|((i, name), paint)| (i, name, paint)).collect()
    }
}

impl Chart for MeasuredChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let names = self.names();
        let notes = LINE_OF_TEXT * self.notes().len() as i32;
        (
            NARROW,
            (self.header(&names).height() + AXES + notes + GAP) as u32,
        )
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let Some(scales) = self.scales() else {
            return Ok(());
        };
        let names = self.names();
        let header = self.header(&names);
        header.draw(area, zoom, Key::Point)?;
        let bottom = header.height() + AXES;
        let (upper, _) = area.split_vertically(zoom.px(bottom));
        let rate = "reached (TFLOP/s)";
        let place = (header.height(), 6);
        let plane = plane(&upper, zoom, place, &self.roof, scales, rate)?;
        let shown = self.shown();
        let x = |kernel: &&Measured| plane.backend_coord(&(kernel.intensity, self.roof.peak)).0;
        let places = spread(
            &shown.iter().map(x).collect::<Vec<_>>(),
            zoom.px(NAME_SPACING),
        );
        for (kernel, place) in shown.iter().zip(places) {
            self.name(area, zoom, &plane, kernel, place)?;
        }
        for kernel in &shown {
            self.points(area, zoom, &plane, kernel)?;
        }
        let style = zoom.text(13, HPos::Left, VPos::Center);
        for (text, i) in self.notes().iter().zip(0..) {
            let at = (zoom.px(MARGIN), zoom.px(bottom + GAP + LINE_OF_TEXT * i));
            area.draw_text(text, &style, at)?;
        }
        Ok(())
    }
}

impl MeasuredChart {
    /// Draws a kernel's name above `place`, with a line down to its lowest point.
    fn name<DB: DrawingBackend>(
        &self,
        area: &Area<DB>,
        zoom: Zoom,
        plane: &Plane<DB>,
        kernel: &Measured,
        place: i32,
    ) -> Drawn<DB> {
        let px = |css| zoom.px(css);
        let y = |rate: f64| plane.backend_coord(&(kernel.intensity, rate)).1;
        let (x, roof) = plane.backend_coord(&(kernel.intensity, self.roof.at(kernel.intensity)));
        let ys: Vec<i32> = kernel.shown().map(|(_, rate)| y(rate)).collect();
        let (top, bottom) = ys
            .iter()
            .fold((roof, roof), |(t, b), y| (t.min(*y), b.max(*y)));
        let name = top - px(LEADER);
        let line = |points: &[(i32, i32)], colour| {
            area.draw(&PathElement::new(points.to_vec(), zoom.stroke(colour, 1)))
        };
        line(&[(x, bottom), (x, top)], GRID)?;
        line(&[(x, top - px(TICK)), (place, name)], LINE)?;
        line(&[(x, roof - px(TICK)), (x, roof + px(TICK))], INK)?;
        let style = zoom.text(13, HPos::Left, VPos::Center);
        let style = style.transform(FontTransform::Rotate270);
        area.draw_text(&kernel.name, &style, (place, name - px(4)))
    }

    /// Draws a kernel's points at its intensity.
    fn points<DB: DrawingBackend>(
        &self,
        area: &Area<DB>,
        zoom: Zoom,
        plane: &Plane<DB>,
        kernel: &Measured,
    ) -> Drawn<DB> {
        for (i, _, paint) in self.drawn() {
            for (_, rate) in kernel.shown().filter(|(j, _)| i == *j) {
                let at = plane.backend_coord(&(kernel.intensity, rate));
                paint.point(area, zoom, at)?;
            }
        }
        Ok(())
    }
}

/// Moves the ascending `xs` as little as necessary to keep neighbours `apart`: those too close become a block
/// around their middle.
fn spread(xs: &[i32], apart: i32) -> Vec<i32> {
    let mut blocks: Vec<(f64, usize)> = vec![]; // sum of the wanted positions of the block's first element, and length
    for (i, x) in xs.iter().enumerate() {
        let (mut sum, mut count) = (f64::from(x - i as i32 * apart), 1);
        while let Some((before, n)) = blocks.pop() {
            if before / n as f64 <= sum / count as f64 {
                blocks.push((before, n));
                break;
            }
            (sum, count) = (sum + before, count + n);
        }
        blocks.push((sum, count));
    }
    let first = blocks.iter().flat_map(|(sum, n)| vec![sum / *n as f64; *n]);
    let place = |(i, first): (usize, f64)| first.round() as i32 + i as i32 * apart;
    first.enumerate().map(place).collect()
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
    fn points_outside_the_axes_are_left_out() {
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
    fn neighbours_are_apart_and_the_others_stay() {
        assert_eq!(spread(&[10, 50, 90], 20), [10, 50, 90]);
        assert_eq!(spread(&[10, 50, 54, 100], 20), [10, 42, 62, 100]);
        assert_eq!(spread(&[30, 30, 30, 50], 20), [5, 25, 45, 65]);
        assert!(spread(&[], 20).is_empty());
    }

    #[test]
    fn a_chart_without_points_is_an_error() {
        assert!(matches!(chart(vec![]).check(), Err(Error::Empty(_))));
    }
}
