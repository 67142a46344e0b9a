//! Rooflines: kernels under a machine's roof. "Roofline", Williams, Waterman, Patterson, 2009.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::paint::plain;
use crate::roof::{Named, list, list_height, number, plane};
use crate::save::Chart;
use crate::scale::Scale;
use crate::style::{Area, Drawn, Header, Key, WIDTH, Zoom};
use crate::{Error, Roof};

/// A roof, and the kernels below it.
#[derive(Debug, Clone)]
pub struct RooflineChart {
    /// Title of the chart.
    pub title: String,
    /// Roof of the machine.
    pub roof: Roof,
    /// Kernels in any order; those without a positive intensity are left out.
    pub kernels: Vec<Intensity>,
    /// A line of text below: what the chart claims.
    pub note: String,
}

/// Intensity of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Intensity {
    /// Name of the kernel.
    pub name: String,
    /// FLOPs per byte.
    pub value: f64,
}

/// Limits of kernels, by the colours of their dots.
const LIMITS: [&str; 2] = ["limited by memory", "limited by arithmetic"];
/// Height of all parts except the list, in CSS pixels.
const AXES: i32 = 420;

impl RooflineChart {
    /// Kernels that a logarithmic axis can show, in ascending intensity.
    fn shown(&self) -> Vec<&Intensity> {
        let mut shown: Vec<_> = (self.kernels.iter())
            .filter(|k| Scale::shows(k.value, true))
            .collect();
        shown.sort_by(|a, b| a.value.total_cmp(&b.value));
        shown
    }

    /// Scales in FLOPs per byte and TFLOP/s, for all kernels and a part of the roof on both sides of its
    /// ridge.
    fn scales(&self) -> Option<[Scale; 2]> {
        let shown = self.shown();
        let (low, high) = (shown.first()?.value, shown.last()?.value);
        let ridge = self.roof.ridge();
        let ends = [low.min(ridge) / 2., high.max(ridge) * 4.];
        let x = Scale::around(ends.into_iter(), 0., true)?;
        let y = ends.map(|x| self.roof.at(x)).into_iter();
        Some([x, Scale::around(y.chain([4. * self.roof.peak]), 0., true)?])
    }
}

impl Chart for RooflineChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (u32, u32) {
        let height = AXES + list_height(self.shown().len());
        (WIDTH, height as u32)
    }

    fn check(&self) -> Result<(), Error> {
        let empty = || Error::Empty(self.title.clone());
        self.scales().map(|_| ()).ok_or_else(empty)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        self.header().draw(area, zoom, Key::Bar)?;
        let (axes, below) = area.split_vertically(zoom.px(AXES));
        self.draw_axes(&axes, zoom)?;
        list(&below, zoom, &self.note, &self.names())
    }
}

impl RooflineChart {
    fn draw_axes<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB> {
        let Some(scales) = self.scales() else {
            return Ok(());
        };
        let place = (self.header().height(), 10);
        let mut chart = plane(area, zoom, place, &self.roof, scales, "ceiling (TFLOP/s)")?;
        let shown = self.shown();
        let points: Vec<_> = (shown.iter())
            .map(|kernel| (kernel.value, self.roof.at(kernel.value)))
            .collect();
        for (kernel, point) in shown.iter().zip(&points) {
            let dot = Circle::new(*point, zoom.px(5), self.colour(kernel).filled());
            chart.draw_series([dot])?;
        }
        number(&mut chart, zoom, &points, HPos::Right)
    }

    fn header(&self) -> Header<'_> {
        Header::new(&self.title, &LIMITS, WIDTH)
    }

    /// Returns the colour of the kernel's limit.
    fn colour(&self, kernel: &Intensity) -> RGBColor {
        plain(usize::from(kernel.value >= self.roof.ridge())).colour
    }

    fn names(&self) -> Vec<Named<'_>> {
        let shown = self.shown().into_iter();
        let named = shown.map(|kernel| Named {
            name: &kernel.name,
            intensity: kernel.value,
            colour: Some(self.colour(kernel)),
        });
        named.collect()
    }
}
