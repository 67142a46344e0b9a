//! Looks of series: a name has the same look in every chart.

use plotters::prelude::*;

use crate::style::{Area, Drawn, PAPER, Zoom};

/// Colour and shape of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paint {
    /// Colour of bars, lines and points.
    pub colour: RGBColor,
    /// Shape of points.
    pub shape: Shape,
    /// Whether bars are striped and points hollow.
    pub hollow: bool,
}

/// Shape of a point; points of two levels on each other are both visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Up,
    /// ▼
    Down,
    /// ◆
    Diamond,
}

/// Looks of the levels from 1, distinct with any kind of colour vision (Okabe and Ito, "Color universal
/// design", 2008). The second, darker colour of the same hue is for a CUDA graph.
const LEVELS: [(RGBColor, RGBColor, Shape); 5] = [
    (RGBColor(0, 114, 178), RGBColor(0, 60, 96), Shape::Circle),
    (RGBColor(230, 159, 0), RGBColor(140, 92, 0), Shape::Square),
    (RGBColor(0, 158, 115), RGBColor(0, 88, 64), Shape::Up),
    (RGBColor(213, 94, 0), RGBColor(122, 52, 0), Shape::Down),
    (
        RGBColor(204, 121, 167),
        RGBColor(136, 34, 85),
        Shape::Diamond,
    ),
];

/// Looks of other systems: other frameworks in greys and browns, libraries and limits.
const OTHERS: [(&str, RGBColor, Shape); 16] = [
    ("PyTorch", RGBColor(150, 150, 150), Shape::Circle),
    ("PyTorch eager", RGBColor(150, 150, 150), Shape::Circle),
    ("PyTorch graph", RGBColor(95, 95, 95), Shape::Square),
    ("PyTorch compile", RGBColor(140, 106, 70), Shape::Up),
    (
        "PyTorch compile reduce-overhead",
        RGBColor(184, 152, 112),
        Shape::Down,
    ),
    (
        "PyTorch compile max-autotune",
        RGBColor(92, 64, 36),
        Shape::Diamond,
    ),
    (
        "PyTorch compile max-autotune graph",
        RGBColor(60, 42, 24),
        Shape::Circle,
    ),
    (
        "PyTorch compile max-autotune pdl",
        RGBColor(36, 24, 12),
        Shape::Square,
    ),
    ("PyG", RGBColor(205, 195, 180), Shape::Square),
    ("candle", RGBColor(86, 180, 233), Shape::Square),
    ("cuBLAS", RGBColor(86, 180, 233), Shape::Square),
    ("gemm", RGBColor(51, 34, 136), Shape::Up),
    ("copy", RGBColor(34, 34, 34), Shape::Down),
    ("cuSPARSE SpMM", RGBColor(187, 204, 238), Shape::Up),
    ("lut", RGBColor(153, 153, 51), Shape::Down),
    ("dp4a", RGBColor(221, 204, 119), Shape::Down),
];

/// Looks of libraries in another arithmetic: points are hollow.
const HOLLOW: [(&str, RGBColor, Shape); 1] =
    [("cuBLAS with TF32", RGBColor(51, 34, 136), Shape::Square)];

/// Colours of all other names, in the order of a chart: the levels' colours, and more.
const PALETTE: [RGBColor; 8] = [
    LEVELS[0].0,
    LEVELS[1].0,
    LEVELS[2].0,
    LEVELS[3].0,
    LEVELS[4].0,
    RGBColor(86, 180, 233),
    RGBColor(34, 34, 34),
    RGBColor(150, 150, 150),
];

const SHAPES: [Shape; 5] = [
    Shape::Circle,
    Shape::Square,
    Shape::Up,
    Shape::Down,
    Shape::Diamond,
];

/// Returns the look of the i-th name without a look of its own.
pub fn plain(i: usize) -> Paint {
    Paint {
        colour: PALETTE[i % PALETTE.len()],
        shape: SHAPES[i % SHAPES.len()],
        hollow: false,
    }
}

/// Returns the looks of a chart's `names`; a name without a look of its own gets no colour of a name that has one.
pub fn paints(names: &[&str]) -> Vec<Paint> {
    let taken: Vec<RGBColor> = (names.iter().filter_map(|name| known(name)))
        .map(|paint| paint.colour)
        .collect();
    let is_taken = |colour: &RGBColor| taken.contains(colour);
    let none_is_free = PALETTE.iter().all(is_taken);
    let is_free = |paint: &Paint| none_is_free || !is_taken(&paint.colour);
    let mut free = (0..).map(plain).filter(is_free);
    let mut unknown: Vec<(&str, Paint)> = vec![];
    let mut looks = vec![];
    for name in names {
        let seen = unknown.iter().find(|(seen, _)| seen == name);
        let look = known(name).or(seen.map(|(_, look)| *look));
        let look = look.or_else(|| {
            let look = free.next()?;
            unknown.push((name, look));
            Some(look)
        });
        looks.extend(look);
    }
    looks
}

/// Returns the look of `level 5`, `level 5 in a graph`, `PyTorch compile`; text after a comma is ignored.
fn known(name: &str) -> Option<Paint> {
    let name = name.split(',').next().unwrap_or(name);
    if let Some(of_level) = name.strip_prefix("level ") {
        let (number, how) = of_level.split_once(' ').unwrap_or((of_level, ""));
        let (colour, dark, shape) = *LEVELS.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
        let paint = |colour, hollow| Paint {
            colour,
            shape,
            hollow,
        };
        return Some(match how {
            "in a graph" => paint(dark, true),
            "on the device" => paint(dark, false),
            _ => paint(colour, false),
        });
    }
    let look = |looks: &[(&str, RGBColor, Shape)], hollow| {
        let (_, colour, shape) = *looks.iter().find(|(known, ..)| *known == name)?;
        Some(Paint {
            colour,
            shape,
            hollow,
        })
    };
    look(&OTHERS, false).or_else(|| look(&HOLLOW, true))
}

impl Paint {
    /// Draws a bar between two corners, the left one first; a bar of zero length is a line.
    pub fn bar<DB: DrawingBackend>(
        self,
        area: &Area<DB>,
        zoom: Zoom,
        [(left, top), (right, bottom)]: [(i32, i32); 2],
    ) -> Drawn<DB> {
        let right = right.max(left + zoom.px(2));
        let corners = [(left, top), (right, bottom)];
        area.draw(&Rectangle::new(corners, self.colour.filled()))?;
        if self.hollow {
            for x in (left + zoom.px(3)..right - zoom.px(1)).step_by(zoom.px(6) as usize) {
                let stripe = [(x, top), (x + zoom.px(1), bottom)];
                area.draw(&Rectangle::new(stripe, PAPER.filled()))?;
            }
        }
        Ok(())
    }

    /// Draws a point around `(x, y)`, in pixels.
    pub fn point<DB: DrawingBackend>(
        self,
        area: &Area<DB>,
        zoom: Zoom,
        (x, y): (i32, i32),
    ) -> Drawn<DB> {
        let r = zoom.px(4);
        let inside = if self.hollow { PAPER } else { self.colour };
        if self.shape == Shape::Circle {
            area.draw(&Circle::new((x, y), r, inside.filled()))?;
            return area.draw(&Circle::new((x, y), r, zoom.stroke(self.colour, 1)));
        }
        let corners: &[(i32, i32)] = match self.shape {
            Shape::Up => &[(0, -5), (5, 4), (-5, 4)],
            Shape::Down => &[(0, 5), (5, -4), (-5, -4)],
            Shape::Diamond => &[(0, -5), (5, 0), (0, 5), (-5, 0)],
            Shape::Circle | Shape::Square => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        };
        let at = |(dx, dy): &(i32, i32)| (x + zoom.px(*dx), y + zoom.px(*dy));
        let corners: Vec<(i32, i32)> = corners.iter().map(at).collect();
        let closed: Vec<(i32, i32)> = corners.iter().chain(corners.first()).copied().collect();
        area.draw(&Polygon::new(corners, inside.filled()))?;
        area.draw(&PathElement::new(closed, zoom.stroke(self.colour, 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_look_in_all_charts() {
        let level5 = paints(&["level 5"])[0];
        let all = paints(&[
            "PyTorch",
            "step",
            "level 5, slope 0.97",
            "level 5 in a graph",
        ]);
        assert_eq!(all[2], level5);
        assert_eq!(all[1], plain(0));
        assert!(all[3].hollow && all[3].shape == level5.shape && all[3].colour != level5.colour);
        assert_eq!(known("level 0"), None);
        assert_eq!(known("level 6"), None);
    }

    #[test]
    fn two_arithmetics_of_a_library_differ() {
        let paints = paints(&["step 1", "cuBLAS", "cuBLAS with TF32"]);
        assert_eq!(paints[0], plain(0));
        assert!(!paints[1].hollow && paints[2].hollow);
        assert_ne!(paints[1].colour, paints[2].colour);
    }

    #[test]
    fn a_level_of_ones_own_has_no_levels_colour() {
        let names = [
            "level 1", "level 2", "level 3", "level 4", "level 5", "mine",
        ];
        let paints = paints(&names);
        let own = paints[5].colour;
        assert!(paints[..5].iter().all(|paint| paint.colour != own));
        let twice = super::paints(&["mine", "level 1", "mine"]);
        assert_eq!(twice[0], twice[2]);
    }

    #[test]
    fn no_two_names_of_a_chart_look_alike() {
        let levels = (1..=5).flat_map(|n| ["", " in a graph"].map(|how| format!("level {n}{how}")));
        // Two are alternative names that do not occur in one chart.
        let others = OTHERS.iter().map(|(name, ..)| name.to_string());
        let others = others.filter(|name| !["PyTorch", "cuBLAS"].contains(&name.as_str()));
        let names: Vec<String> = levels.chain(others).collect();
        let paints: Vec<Paint> = names.iter().filter_map(|name| known(name)).collect();
        assert_eq!(paints.len(), names.len());
        for (i, paint) in paints.iter().enumerate() {
            let seen = paints[..i].iter().position(|p| p.colour == paint.colour);
            assert_eq!(seen, None, "{}", names[i]);
        }
    }
}
