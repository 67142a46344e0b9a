//! `--attention`: a heat map of the class token's attention over the image.

use std::io::Cursor;

use data::picture::{Filter, resize};
use image::{ImageFormat, ImageResult, Rgb, RgbImage, imageops};

/// Height and width of an image in pixels.
const SIDE: u32 = 288;
/// Space between images in pixels.
const GAP: u32 = 12;
/// Pairs of images per row of the sheet.
const COLUMNS: usize = 2;
/// Opacity of the heat map; below it is the image in grey.
const OPACITY: f32 = 0.6;

/// The colour map "inferno" of matplotlib at 0, 1/8 … 1. Its lightness increases monotonically, so it also
/// works without colours.
const INFERNO: [[u8; 3]; 9] = [
    [0, 0, 4],
    [33, 12, 74],
    [86, 16, 110],
    [137, 34, 106],
    [187, 55, 84],
    [227, 89, 50],
    [249, 140, 10],
    [249, 201, 50],
    [252, 255, 164],
];

/// Draws the image, and next to it the attention to each of its patches, from black (minimum) to yellow
/// (maximum). `attention` is a square, in row-major order.
pub fn paint(picture: &RgbImage, attention: &[f32]) -> RgbImage {
    let picture = resize(picture, SIDE, SIDE, Filter::Bicubic);
    let heat = resize(&heat_map(attention), SIDE, SIDE, Filter::Bicubic);
    let painted = RgbImage::from_fn(SIDE, SIDE, |x, y| {
        let grey = luminance(*picture.get_pixel(x, y));
        let colour = colour(f32::from(heat.get_pixel(x, y).0[0]) / 255.);
        Rgb(colour.map(|c| (OPACITY * c + (1. - OPACITY) * grey).round() as u8))
    });
    let mut pair = white(2 * SIDE + GAP, SIDE);
    imageops::replace(&mut pair, &picture, 0, 0);
    imageops::replace(&mut pair, &painted, i64::from(SIDE + GAP), 0);
    pair
}

/// Arranges all pairs on one sheet.
pub fn sheet(pairs: &[RgbImage]) -> RgbImage {
    let columns = pairs.len().min(COLUMNS) as u32;
    let rows = pairs.len().div_ceil(COLUMNS) as u32;
    let (width, height) = (2 * SIDE + 3 * GAP, SIDE + GAP);
    let mut sheet = white(columns * width, rows * height + GAP);
    for (i, pair) in pairs.iter().enumerate() {
        let (column, row) = ((i % COLUMNS) as u32, (i / COLUMNS) as u32);
        let [x, y] = [column * width + GAP, row * height + GAP].map(i64::from);
        imageops::replace(&mut sheet, pair, x, y);
    }
    sheet
}

/// Encodes an image as PNG.
pub fn png(picture: &RgbImage) -> ImageResult<Vec<u8>> {
    let mut bytes = Cursor::new(vec![]);
    picture.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

/// Draws one grey pixel per patch: 0 for the minimum, 255 for the maximum.
fn heat_map(attention: &[f32]) -> RgbImage {
    let side = attention.len().isqrt();
    let min = attention.iter().copied().fold(f32::INFINITY, f32::min);
    let max = attention.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = (max - min).max(f32::MIN_POSITIVE);
    RgbImage::from_fn(side as u32, side as u32, |x, y| {
        let weight = attention[y as usize * side + x as usize];
        Rgb([(255. * (weight - min) / range).round() as u8; 3])
    })
}

/// Interpolates [`INFERNO`] at `t` from 0 to 1.
fn colour(t: f32) -> [f32; 3] {
    let at = t * (INFERNO.len() - 1) as f32;
    let i = (at as usize).min(INFERNO.len() - 2);
    let part = at - i as f32;
    [0, 1, 2].map(|c| {
        let [low, high] = [INFERNO[i][c], INFERNO[i + 1][c]].map(f32::from);
        low + part * (high - low)
    })
}

/// Rec. 601 luma.
fn luminance(Rgb([r, g, b]): Rgb<u8>) -> f32 {
    0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b)
}

fn white(width: u32, height: u32) -> RgbImage {
    RgbImage::from_pixel(width, height, Rgb([255; 3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_attention_is_the_brightest() {
        let picture = RgbImage::from_pixel(4, 4, Rgb([128; 3]));
        let pair = paint(&picture, &[0.1, 0.2, 0.3, 0.4]);
        assert_eq!(pair.dimensions(), (2 * SIDE + GAP, SIDE));
        let painted = |x, y| luminance(*pair.get_pixel(SIDE + GAP + x, y));
        let corners = [
            painted(0, 0),
            painted(SIDE - 1, 0),
            painted(0, SIDE - 1),
            painted(SIDE - 1, SIDE - 1),
        ];
        assert!(corners.is_sorted_by(|a, b| a < b), "{corners:?}");
        assert_eq!(
            *pair.get_pixel(0, 0),
            Rgb([128; 3]),
            "the picture is on the left"
        );
    }

    #[test]
    fn equal_attention_is_drawn() {
        let picture = RgbImage::from_pixel(2, 2, Rgb([255; 3]));
        paint(&picture, &[0.25; 4]);
    }

    #[test]
    fn a_sheet_has_room_for_all_pairs() -> ImageResult<()> {
        let pair = white(2 * SIDE + GAP, SIDE);
        let one = sheet(std::slice::from_ref(&pair));
        assert_eq!(one.dimensions(), (2 * SIDE + 3 * GAP, SIDE + 2 * GAP));
        let three = sheet(&[pair.clone(), pair.clone(), pair]);
        assert_eq!(three.height(), 2 * (SIDE + GAP) + GAP);
        assert!(png(&three)?.starts_with(b"\x89PNG"));
        Ok(())
    }
}
