//! Reads images for a vision transformer.

use std::io::Cursor;
use std::path::Path;

use image::{DynamicImage, ImageDecoder, ImageReader, Rgb, RgbImage, RgbaImage};

use crate::BadInput;
use crate::file;

mod preprocessor;
mod resample;

pub use preprocessor::{Preprocessor, Size};
pub use resample::{Filter, resize};

/// Maximum side of an image in pixels.
pub const MAX_SIDE: u32 = 16_384;
/// Maximum number of pixels of an image.
pub const MAX_PIXELS: u64 = 1 << 26;

/// Reads a PNG or JPEG file; the first bytes decide the format, not the name.
///
/// Greyscale and 16-bit images become 8-bit RGB, transparent ones are composited on white, and photographs
/// are rotated by their Exif orientation.
///
/// # Errors
/// If the file cannot be read, is neither PNG nor JPEG, is truncated, or is larger than [`MAX_SIDE`] or
/// [`MAX_PIXELS`]; the size is checked before any pixel is decoded.
pub fn read(path: &Path) -> Result<RgbImage, BadInput> {
    read_flattened(path).map(|(picture, _)| picture)
}

/// Does the same as [`read`], and returns whether a pixel was transparent.
///
/// # Errors
/// See [`read`].
pub fn read_flattened(path: &Path) -> Result<(RgbImage, bool), BadInput> {
    let bytes = file::read(path)?;
    let bad = |expected: &str, found: &dyn std::fmt::Display| {
        BadInput::new(path.display(), expected, found)
    };
    if bytes.is_empty() {
        return Err(bad("a PNG or JPEG image", &"an empty file"));
    }
    let reader = ImageReader::new(Cursor::new(&bytes))
        .with_guessed_format()
        .map_err(|e| bad("a PNG or JPEG image", &e))?;
    if reader.format().is_none() {
        return Err(bad("a PNG or JPEG image", &"another kind of file"));
    }
    let mut decoder = reader
        .into_decoder()
        .map_err(|e| bad("a complete image", &e))?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width.max(height) > MAX_SIDE || pixels > MAX_PIXELS {
        let expected = format!("at most {MAX_SIDE} pixels per side and {MAX_PIXELS} in total");
        return Err(bad(&expected, &format!("{width} × {height}")));
    }
    if is_cut_off_jpeg(&bytes) {
        return Err(bad("a complete image", &"a truncated JPEG file"));
    }
    let orientation = decoder
        .orientation()
        .map_err(|e| bad("a complete image", &e))?;
    let mut picture =
        DynamicImage::from_decoder(decoder).map_err(|e| bad("a complete image", &e))?;
    picture.apply_orientation(orientation);
    Ok(if picture.color().has_alpha() {
        let picture = picture.to_rgba8();
        let transparent = picture.pixels().any(|pixel| pixel.0[3] < u8::MAX);
        (on_white(&picture), transparent)
    } else {
        (picture.to_rgb8(), false)
    })
}

/// Whether a JPEG file is truncated: it has no end-of-image marker after its last scan. Decoders fill missing
/// data with grey. In a scan's data 0xFF is always followed by 0, so markers are unambiguous.
fn is_cut_off_jpeg(bytes: &[u8]) -> bool {
    let last = |marker| bytes.windows(2).rposition(|two| two == [0xff, marker]);
    bytes.starts_with(&[0xff, 0xd8]) && last(0xd9) <= last(0xda)
}

/// Composites on white: α·colour + (1 − α)·white, rounded.
fn on_white(picture: &RgbaImage) -> RgbImage {
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [r, g, b, alpha] = picture.get_pixel(x, y).0.map(u32::from);
        Rgb([r, g, b].map(|c| ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8))
    })
}
