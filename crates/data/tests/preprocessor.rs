//! Resampling compared with Pillow's, and each step of the preprocessor on tiny images.

use data::picture::{Filter, Preprocessor, Size, resize};
use image::{Rgb, RgbImage};

#[derive(serde::Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    resample: usize,
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

#[test]
fn every_filter_equals_pillows_bit_by_bit() {
    // The image of tests/pillow/make.py.
    let picture = RgbImage::from_fn(23, 17, |x, y| {
        let value = [37 * x + 11 * y * y, 13 * x * y, 200 + 5 * y - 9 * x + 256];
        Rgb(value.map(|v| (v % 256) as u8))
    });
    let golden: Golden = serde_json::from_str(include_str!("pillow/resized.json")).unwrap();
    let filters = [
        Filter::Nearest,
        Filter::Lanczos,
        Filter::Bilinear,
        Filter::Bicubic,
    ];
    assert_eq!(golden.cases.len(), 20);
    for case in golden.cases {
        let filter = filters[case.resample];
        let resized = resize(&picture, case.width, case.height, filter).into_raw();
        assert_eq!(
            resized, case.rgb,
            "{filter:?} to {} × {}",
            case.width, case.height
        );
    }
}

/// A 2 × 1 image: black, and R = 255, G = 51.
fn two_pixels() -> RgbImage {
    RgbImage::from_fn(2, 1, |x, _| Rgb([[0; 3], [255, 51, 0]][x as usize]))
}

fn off() -> Preprocessor {
    Preprocessor {
        do_resize: false,
        do_rescale: false,
        do_normalize: false,
        ..Preprocessor::new(2)
    }
}

#[test]
fn channels_are_stored_one_after_another() {
    assert_eq!(
        off().apply(&two_pixels()),
        Ok(vec![0.0, 255.0, 0.0, 51.0, 0.0, 0.0])
    );
}

#[test]
fn values_are_rescaled_and_normalised_by_channel() {
    let preprocessor = Preprocessor {
        do_rescale: true,
        do_normalize: true,
        image_mean: [0.5, 0.2, 0.0],
        image_std: [0.5, 0.1, 2.0],
        ..off()
    };
    let x = preprocessor.apply(&two_pixels()).unwrap();
    for (x, expected) in x.iter().zip([-1.0, 1.0, -2.0, 0.0, 0.0, 0.0]) {
        assert!((x - expected).abs() < 1e-6, "{x} is not {expected}");
    }
}

#[test]
fn a_crop_takes_the_middle_and_pads_with_black() {
    let picture = RgbImage::from_fn(5, 4, |x, y| Rgb([(10 * y + x + 1) as u8; 3]));
    let crop = |crop_size| {
        let preprocessor = Preprocessor {
            do_center_crop: true,
            crop_size,
            ..off()
        };
        let mut x = preprocessor.apply(&picture).unwrap();
        assert_eq!(preprocessor.output_size(4, 5), crop_size);
        x.truncate(x.len() / 3);
        x
    };
    assert_eq!(crop([2, 3]), [12.0, 13.0, 14.0, 22.0, 23.0, 24.0]);
    assert_eq!(crop([1, 6]), [0.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
}

#[test]
fn the_shortest_edge_keeps_the_aspect_ratio() {
    let preprocessor = Preprocessor {
        size: Size::ShortestEdge(10),
        ..Preprocessor::new(10)
    };
    assert_eq!(preprocessor.output_size(20, 31), [10, 15]);
    assert_eq!(preprocessor.output_size(31, 20), [15, 10]);
    assert_eq!(
        preprocessor.apply(&RgbImage::new(31, 20)).unwrap().len(),
        3 * 10 * 15
    );
    let error = preprocessor
        .apply(&RgbImage::new(16_000, 2))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("4096 pixels per side") && error.contains("80000 × 10"),
        "{error}"
    );
}

#[test]
fn one_pixel_fills_the_picture() {
    let x = Preprocessor::new(8)
        .apply(&RgbImage::from_pixel(1, 1, Rgb([255; 3])))
        .unwrap();
    assert_eq!(x, vec![1.0; 3 * 8 * 8]);
}

fn read(json: &str) -> Result<Preprocessor, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("preprocessor_config.json");
    std::fs::write(&path, json).unwrap();
    Preprocessor::read(&path).map_err(|e| {
        let message = e.to_string();
        assert_eq!(message.lines().count(), 1);
        message.replace(&path.display().to_string(), "FILE")
    })
}

#[test]
fn keys_that_are_absent_or_null_have_their_defaults() {
    let expected = Preprocessor::new(224);
    assert_eq!(read("{}"), Ok(expected.clone()));
    let json = r#"{"image_processor_type": "ViTImageProcessorFast", "size": null, "do_pad": false,
        "do_convert_rgb": true, "data_format": "channels_first", "crop_pct": null}"#;
    assert_eq!(read(json), Ok(expected));
}

#[test]
fn every_key_is_read() {
    let json = r#"{"do_resize": true, "size": {"shortest_edge": 256}, "resample": 3,
        "do_center_crop": true, "crop_size": {"height": 200, "width": 100}, "do_rescale": false,
        "rescale_factor": 0.5, "do_normalize": false, "image_mean": [0.1, 0.2, 0.3],
        "image_std": [1, 2, 3]}"#;
    let expected = Preprocessor {
        do_resize: true,
        size: Size::ShortestEdge(256),
        resample: Filter::Bicubic,
        do_center_crop: true,
        crop_size: [200, 100],
        do_rescale: false,
        rescale_factor: 0.5,
        do_normalize: false,
        image_mean: [0.1, 0.2, 0.3],
        image_std: [1.0, 2.0, 3.0],
    };
    assert_eq!(read(json), Ok(expected));
    let square = read(r#"{"size": 32}"#).unwrap().size;
    let [height, width] = [32; 2];
    assert_eq!(square, Size::Exact { height, width });
}

#[test]
fn unsupported_keys_are_named() {
    let cases = [
        (
            r#"{"do_pad": true}"#,
            "FILE: do_pad: expected null or false",
        ),
        (
            r#"{"image_processor_type": "CLIPImageProcessor"}"#,
            "FILE: image_processor_type: expected ViTImageProcessor",
        ),
        (
            r#"{"image_processor_type": "ViTImageProcessorOther"}"#,
            "FILE: image_processor_type: expected ViTImageProcessor",
        ),
        (
            r#"{"rescale_factor": 0}"#,
            "FILE: rescale_factor: expected a number above 0",
        ),
        (
            r#"{"rescale_factor": -1}"#,
            "FILE: rescale_factor: expected a number above 0",
        ),
        (r#"{"resample": 5}"#, "FILE: resample: expected 0 (nearest)"),
        (r#"{"size": {"longest_edge": 5}}"#, "FILE: size: expected"),
        (
            r#"{"size": 0}"#,
            "FILE: size: expected pixels, 1 to 4096, found 0",
        ),
        (
            r#"{"size": {"height": 1e9, "width": 2}}"#,
            "FILE: size: expected pixels",
        ),
        (r#"{"crop_size": "all"}"#, "FILE: crop_size: expected"),
        (
            r#"{"do_resize": 1}"#,
            "FILE: do_resize: expected true or false, found 1",
        ),
        (
            r#"{"image_mean": [0.5]}"#,
            "FILE: image_mean: expected three numbers, found [0.5]",
        ),
        (
            r#"{"image_std": [1, 0, 1]}"#,
            "FILE: image_std: expected numbers above 0",
        ),
        (
            r#"{"rescale_factor": "x"}"#,
            "FILE: rescale_factor: expected a number",
        ),
        (r#"{"size": "#, "FILE: expected a JSON object"),
        ("[]", "FILE: expected a JSON object"),
    ];
    for (json, expected) in cases {
        let error = read(json).unwrap_err();
        assert!(error.starts_with(expected), "{json}: {error}");
    }
}
