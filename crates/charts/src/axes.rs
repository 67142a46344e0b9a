//! Grid, ticks and labels of a chart with two axes.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::scale::{Scale, label};
use crate::style::{Drawn, GRID, LINE, Zoom};

/// Draws them with at most this many labels; `x` and `y` are the axes' titles.
pub fn axes<DB: DrawingBackend>(
    chart: &mut ChartContext<DB, Cartesian2d<Scale, Scale>>,
    zoom: Zoom,
    (x_labels, y_labels): (usize, usize),
    x: &str,
    y: &str,
) -> Drawn<DB> {
    chart
        .configure_mesh()
        .x_labels(x_labels)
        .y_labels(y_labels)
        .max_light_lines(0)
        .bold_line_style(zoom.stroke(GRID, 1))
        .axis_style(zoom.stroke(LINE, 1))
        .label_style(zoom.text(14, HPos::Left, VPos::Top))
        .axis_desc_style(zoom.text(15, HPos::Left, VPos::Top))
        .x_label_formatter(&|v| label(*v))
        .y_label_formatter(&|v| label(*v))
        .x_desc(x)
        .y_desc(y)
        .draw()
}
