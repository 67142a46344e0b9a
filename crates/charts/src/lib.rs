//! The charts of the workbook, in one style: SVG for web pages and PNG for everything else.
//!
//! ```no_run
//! use charts::{Axis, LineChart, Series};
//! let chart = LineChart {
//!     title: "Loss of the language model".into(),
//!     x: Axis::linear("step"),
//!     y: Axis::log("loss (nats a token)"),
//!     series: vec![Series { name: "training".into(), points: vec![(0., 6.9), (100., 3.1)] }],
//!     note: String::new(),
//! };
//! let [svg, png] = charts::line_chart("target/workbook/loss".as_ref(), &chart)?;
//! # Ok::<(), charts::Error>(())
//! ```

mod axes;
mod bar;
mod bar_panels;
mod grid;
mod heat;
mod line;
mod measured;
mod paint;
mod panels;
mod roof;
mod roofline;
mod save;
mod scale;
mod style;

use std::path::{Path, PathBuf};

use data::BadInput;

pub use bar::{Bar, BarChart, Group};
pub use bar_panels::BarPanels;
pub use grid::BarGrid;
pub use heat::{HeatMap, Panel};
pub use line::{LineChart, Series};
pub use measured::{Measured, MeasuredChart};
pub use panels::LinePanels;
pub use roof::Roof;
pub use roofline::{Intensity, RooflineChart};
pub use save::{Chart, Format};

/// The quantity of an axis with its unit, and its scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The quantity and, in parentheses, its unit: `time (ms)`.
    pub label: String,
    /// Whether the axis is logarithmic.
    pub log: bool,
    /// Whether the ticks of a logarithmic axis are powers of two.
    pub binary: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            log: false,
            binary: false,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            log: true,
            ..Self::linear(label)
        }
    }

    /// A logarithmic axis of sizes, whose ticks are powers of two.
    pub fn log2(label: impl Into<String>) -> Self {
        Self {
            binary: true,
            ..Self::log(label)
        }
    }
}

/// The reason why a chart was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to draw.
    #[error("chart `{0}`: expected at least one finite value, found none")]
    Empty(String),
    /// The drawing library failed.
    #[error("chart: {0}")]
    Draw(String),
    /// The file could not be written.
    // Not `transparent`, which hides the `BadInput` from the program that chooses the exit code by it.
    #[error("{0}")]
    Write(#[from] BadInput),
}

/// Draws a chart into `stem`.svg and returns the path.
///
/// # Errors
/// If the chart has nothing to draw, or the file cannot be written.
pub fn svg(stem: &Path, chart: &impl Chart) -> Result<PathBuf, Error> {
    save::save_svg(stem, chart)
}

/// Returns a chart as the text of an SVG, which can stand in a web page.
///
/// # Errors
/// If the chart has nothing to draw.
pub fn svg_text(chart: &impl Chart) -> Result<String, Error> {
    save::svg_text(chart)
}

/// Draws one line per series into `stem`.svg and `stem`.png, and returns the two paths.
///
/// Points that are not finite, and points at or below zero on a logarithmic axis, are left out.
///
/// # Errors
/// If no point is left, or a file cannot be written.
pub fn line_chart(stem: &Path, chart: &LineChart) -> Result<[PathBuf; 2], Error> {
    save::save(stem, chart)
}

/// Returns a file of this format with kernels on a machine's roof.
///
/// # Errors
/// If no kernel has a positive intensity.
pub fn roofline_chart(chart: &RooflineChart, format: Format) -> Result<Vec<u8>, Error> {
    save::bytes(chart, format)
}

/// Draws grouped horizontal bars with whiskers into `stem`.svg and `stem`.png, and returns the two paths.
///
/// # Errors
/// If no bar has a finite value, or a file cannot be written.
pub fn bar_chart(stem: &Path, chart: &BarChart) -> Result<[PathBuf; 2], Error> {
    save::save(stem, chart)
}

/// Draws the same bars as small multiples in two columns, one panel per group, into `stem`.svg and
/// `stem`.png, and returns the two paths.
///
/// # Errors
/// If no bar has a finite value, or a file cannot be written.
pub fn bar_grid(stem: &Path, chart: &BarChart) -> Result<[PathBuf; 2], Error> {
    save::save(stem, &grid::BarGrid(chart))
}

/// Returns a file of this format with grouped horizontal bars and whiskers.
///
/// # Errors
/// If no bar has a finite value.
pub fn bar_chart_bytes(chart: &BarChart, format: Format) -> Result<Vec<u8>, Error> {
    save::bytes(chart, format)
}
