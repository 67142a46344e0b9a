//! Writes charts to files atomically.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use image::{ExtendedColorType, ImageEncoder, codecs::png::PngEncoder};
use plotters::prelude::*;

use crate::Error;
use crate::style::{Area, Drawn, FAMILY, PAPER, Zoom};

/// A chart for any back end.
pub trait Chart {
    /// Title, in one line.
    fn title(&self) -> &str;
    /// Width and height in CSS pixels.
    fn size(&self) -> (u32, u32);
    /// Checks that there is something to draw.
    fn check(&self) -> Result<(), Error>;
    /// Draws the chart on an empty page.
    fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, zoom: Zoom) -> Drawn<DB>;
}

/// File format of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For web pages.
    Svg,
    /// For everything else.
    Png,
}

impl Format {
    /// Returns the format by the file's extension: `chart.svg` or `chart.png`.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// Returns the bytes of a file.
pub fn bytes(chart: &impl Chart, format: Format) -> Result<Vec<u8>, Error> {
    chart.check()?;
    match format {
        Format::Svg => Ok(svg(chart)?.into_bytes()),
        Format::Png => png(chart),
    }
}

/// Returns the text of an SVG.
pub fn svg_text(chart: &impl Chart) -> Result<String, Error> {
    chart.check()?;
    svg(chart)
}

/// Writes `stem`.svg and `stem`.png.
pub fn save(stem: &Path, chart: &impl Chart) -> Result<[PathBuf; 2], Error> {
    let contents = [bytes(chart, Format::Svg)?, bytes(chart, Format::Png)?];
    let paths = ["svg", "png"].map(|extension| with_extension(stem, extension));
    for (path, bytes) in paths.iter().zip(contents) {
        data::save_as(path, bytes)?;
    }
    Ok(paths)
}

/// Writes only `stem`.svg.
pub fn save_svg(stem: &Path, chart: &impl Chart) -> Result<PathBuf, Error> {
    let path = with_extension(stem, "svg");
    data::save_as(&path, bytes(chart, Format::Svg)?)?;
    Ok(path)
}

/// `stem.svg`; a dot in the stem, as in `lm.tiny`, is part of the name.
fn with_extension(stem: &Path, extension: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

fn svg(chart: &impl Chart) -> Result<String, Error> {
    let mut text = String::new();
    page(
        chart,
        SVGBackend::with_string(&mut text, chart.size()),
        Zoom(1),
    )?;
    Ok(compact(&text))
}

/// Leaves out attributes that have SVG's initial values, and digits of font sizes below a hundredth of a pixel. The font's
/// family stands once, at the root. A chart of 200 bars is a third shorter.
fn compact(svg: &str) -> String {
    const FONT_SIZE: &str = "font-size=\"";
    let family = format!(" font-family=\"{FAMILY}\"");
    let svg = svg.replace(&family, "");
    let svg = svg.replacen('>', &format!("{family}>"), 1);
    let initial = [
        " opacity=\"1\"",
        " stroke=\"none\"",
        " text-anchor=\"start\"",
    ];
    let svg = initial
        .iter()
        .fold(svg.to_owned(), |svg, attribute| svg.replace(attribute, ""));
    let mut parts = svg.split(FONT_SIZE);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (size, rest) = part.split_once('"').unwrap_or((part, ""));
        let size = size
            .parse()
            .map_or(size.into(), |size: f64| format!("{size:.2}"));
        short += &format!("{FONT_SIZE}{size}\"{rest}");
    }
    short
}

fn png(chart: &impl Chart) -> Result<Vec<u8>, Error> {
    let zoom = Zoom(2);
    let (width, height) = chart.size();
    let (width, height) = (width * zoom.0, height * zoom.0);
    let mut pixels = vec![0; (width * height * 3) as usize];
    page(
        chart,
        BitMapBackend::with_buffer(&mut pixels, (width, height)),
        zoom,
    )?;
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&pixels, width, height, ExtendedColorType::Rgb8)
        .map_err(draw_error)?;
    Ok(bytes)
}

fn page<DB: DrawingBackend>(chart: &impl Chart, backend: DB, zoom: Zoom) -> Result<(), Error> {
    let area = backend.into_drawing_area();
    area.fill(&PAPER).map_err(draw_error)?;
    chart.draw(&area, zoom).map_err(draw_error)?;
    area.present().map_err(draw_error)
}

fn draw_error(error: impl Display) -> Error {
    Error::Draw(error.to_string())
}
