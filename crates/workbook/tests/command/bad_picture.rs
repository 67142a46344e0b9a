//! Invalid images and preprocessing.

use std::fs;

use image::{DynamicImage, RgbImage};
use serde_json::json;

use crate::fixture::{Fixture, root};

/// Asserts that the bytes are rejected as an image.
fn refuses(name: &str, bytes: &[u8], parts: &[&str]) {
    let fixture = Fixture::golden("vit-patch4");
    let path = fixture.write(name, bytes);
    let parts = [&[path.as_str()], parts].concat();
    fixture.run(&["--image", &path]).refused(&parts);
}

#[test]
fn files_that_are_no_pictures() {
    refuses(
        "empty.png",
        b"",
        &["a PNG or JPEG image, found an empty file"],
    );
    refuses("text.png", b"not a picture", &["a PNG or JPEG image"]);
    refuses(
        "other.gif",
        b"GIF89a\x01\x00\x01\x00\x80\x00\x00",
        &["expected a"],
    );
    let missing = Fixture::golden("vit-patch4");
    let path = missing.path("missing.png");
    missing.run(&["--image", &path]).unreadable(&path);
    let folder = missing.path("");
    missing
        .run(&["--image", &folder])
        .refused(&[&format!("{folder}: expected a file, found a folder")]);
}

#[test]
fn pictures_that_are_cut_off() {
    let png = fs::read(root().join("crates/cli/pictures/star.png")).unwrap();
    for keep in [10, 40, png.len() / 2, png.len() - 20] {
        refuses("half.png", &png[..keep], &["expected a"]);
    }
    let fixture = Fixture::golden("vit-patch4");
    let path = fixture.path("whole.jpg");
    let noise = RgbImage::from_fn(64, 64, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
    DynamicImage::ImageRgb8(noise).save(&path).unwrap();
    let jpeg = fs::read(&path).unwrap();
    for keep in [3, 100, jpeg.len() / 2, jpeg.len() - 2] {
        refuses("half.jpg", &jpeg[..keep], &["expected a"]);
    }
}

#[test]
fn a_picture_20000_pixels_wide() {
    let wide = DynamicImage::new_luma8(20_000, 2);
    let mut bytes = std::io::Cursor::new(vec![]);
    wide.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    refuses(
        "wide.png",
        bytes.get_ref(),
        &["at most 16384 pixels per side", "found 20000 × 2"],
    );
}

/// A header may declare any size, so nothing is allocated before a check.
#[test]
fn a_picture_that_is_a_bomb() {
    let mut bytes = fs::read(root().join("crates/cli/pictures/star.png")).unwrap();
    for side in [16, 20] {
        bytes[side..side + 4].copy_from_slice(&0x7fff_ffffu32.to_be_bytes());
    }
    refuses("bomb.png", &bytes, &["expected"]);
}

#[test]
fn all_images_are_read_before_any_is_classified() {
    let fixture = Fixture::golden("vit-patch4");
    let good = root().join("crates/cli/pictures/star.png");
    let bad = fixture.write("bad.png", b"x");
    let run = fixture.run(&["--image", good.to_str().unwrap(), &bad]);
    run.refused(&[&bad]);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_painting_into_nowhere() {
    let fixture = Fixture::golden("vit-patch4");
    let path = fixture.path("no/such/folder.png");
    fixture
        .run(&["--attention", &path])
        .refused(&[&path, "no such folder"]);
}

/// Asserts that a `preprocessor_config.json` is rejected.
fn refuses_preprocessor(text: impl AsRef<[u8]>, parts: &[&str]) {
    let fixture = Fixture::golden("vit-patch4");
    fixture.write("preprocessor_config.json", text);
    fixture.run(&[]).refused(parts);
}

#[test]
fn preprocessors() {
    let file = "preprocessor_config.json";
    refuses_preprocessor("{", &[file, "a JSON object"]);
    let refuses = |key: &str, value: serde_json::Value| {
        refuses_preprocessor(json!({key: value}).to_string(), &[file, key]);
    };
    refuses("resample", json!(4));
    refuses("image_std", json!([0, 1, 1]));
    refuses("image_mean", json!([0.5]));
    refuses("size", json!({"longest_edge": 16}));
    refuses("image_processor_type", json!("CLIPImageProcessor"));
    refuses("do_pad", json!(true));
}

#[test]
fn a_preprocessor_for_another_size() {
    let text = json!({"size": {"height": 32, "width": 32}}).to_string();
    refuses_preprocessor(
        text,
        &[
            "preprocessor_config.json: expected ",
            "16 × 16 pixels after preprocessing, the model's `image_size`, found 32 × 32 for ",
        ],
    );
}

#[test]
fn standard_output_may_be_closed() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_workbook"))
        .args(["gnn", "--model", "base", "--level", "4"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    // The program goes on to its last line.
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "level 4, base, f32, cpu\n"
    );
}
