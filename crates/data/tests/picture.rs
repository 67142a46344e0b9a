//! Readable and invalid images.

use std::io::Cursor;
use std::path::PathBuf;

use data::picture::read;
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage, Rgba, RgbaImage};

fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(vec![]);
    picture.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("picture.txt"); // the extension does not matter
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn read_bytes(bytes: &[u8]) -> Result<RgbImage, String> {
    let (_dir, path) = file(bytes);
    read(&path).map_err(|e| e.to_string().replace(&path.display().to_string(), "FILE"))
}

fn colourful() -> RgbImage {
    RgbImage::from_fn(40, 30, |x, y| Rgb([(6 * x) as u8, (8 * y) as u8, 128]))
}

#[test]
fn png_is_read_exactly_and_jpeg_closely() {
    let picture = colourful();
    assert_eq!(
        read_bytes(&encoded(picture.clone(), ImageFormat::Png)),
        Ok(picture.clone())
    );
    let jpeg = read_bytes(&encoded(picture.clone(), ImageFormat::Jpeg)).unwrap();
    let apart = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b));
    let mean = jpeg.iter().zip(picture.iter()).map(apart).sum::<f64>() / 3600.0;
    assert!(mean < 6.0, "{mean}");
}

#[test]
fn grey_16_bit_and_one_pixel_images_become_rgb() {
    let grey = GrayImage::from_pixel(3, 2, Luma([77]));
    let expected = RgbImage::from_pixel(3, 2, Rgb([77; 3]));
    assert_eq!(read_bytes(&encoded(grey, ImageFormat::Png)), Ok(expected));
    let deep = DynamicImage::ImageRgb8(colourful()).to_rgb16();
    assert_eq!(
        read_bytes(&encoded(deep, ImageFormat::Png)),
        Ok(colourful())
    );
    let dot = RgbImage::from_pixel(1, 1, Rgb([1, 2, 3]));
    assert_eq!(read_bytes(&encoded(dot.clone(), ImageFormat::Png)), Ok(dot));
}

#[test]
fn transparent_images_are_composited_on_white() {
    let alpha = [0, 51, 255];
    let picture = RgbaImage::from_fn(3, 1, |x, _| Rgba([100, 0, 200, alpha[x as usize]]));
    let read = read_bytes(&encoded(picture, ImageFormat::Png)).unwrap();
    let pixels: Vec<[u8; 3]> = read.pixels().map(|p| p.0).collect();
    assert_eq!(pixels, [[255; 3], [224, 204, 244], [100, 0, 200]]);
}

#[test]
fn files_of_other_formats_are_errors() {
    let kind = "FILE: expected a PNG or JPEG image, found ";
    assert_eq!(read_bytes(b""), Err(format!("{kind}an empty file")));
    assert_eq!(
        read_bytes(b"not a picture at all"),
        Err(format!("{kind}another kind of file"))
    );
    let gif = read_bytes(b"GIF89a\x01\0\x01\0\0\0\0;").unwrap_err();
    assert!(gif.starts_with("FILE: expected a"), "{gif}");
    let missing = read(&file(b"").0.path().join("none.png")).unwrap_err();
    assert!(missing.to_string().contains("no such file"), "{missing}");
}

#[test]
fn a_file_truncated_anywhere_is_an_error() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let bytes = encoded(colourful(), format);
        for tenth in 1..10 {
            let result = read_bytes(&bytes[..bytes.len() * tenth / 10]);
            let error = result.expect_err("cut off");
            assert!(error.starts_with("FILE: expected a"), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}

#[test]
fn an_image_that_is_too_large_is_rejected_by_its_header() {
    for (width, height) in [(20_000, 1), (1, 16_385), (16_384, 16_384)] {
        let error = read_bytes(&header(width, height)).unwrap_err();
        let found = format!("found {width} × {height}");
        assert!(error.starts_with("FILE: expected at most 16384"), "{error}");
        assert!(error.ends_with(&found), "{error}");
    }
}

/// A PNG with the header and the start of the data of an image of this size.
fn header(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = encoded(RgbImage::new(1, 1), ImageFormat::Png);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// The checksum of a PNG chunk (ISO 3309), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, &b: &u8| (0..8).fold(crc ^ u32::from(b), |crc, _| bit(crc));
    !bytes.iter().fold(!0, byte)
}
