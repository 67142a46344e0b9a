//! `--image` and `--attention`.

use image::{DynamicImage, GenericImageView};

use crate::fixture::{Fixture, root};

fn classify(fixture: &Fixture, name: &str, picture: DynamicImage) -> String {
    let path = fixture.path(name);
    picture.save(&path).unwrap();
    let run = fixture.run(&["--image", &path]);
    let lines: Vec<&str> = run.fine().lines().collect();
    assert_eq!(
        lines.len(),
        6,
        "the file's name and five classes: {lines:?}"
    );
    assert_eq!(lines[0], path);
    lines[1..].join("\n")
}

#[test]
fn every_kind_of_picture_works() {
    let fixture = Fixture::golden("vit-patch4");
    let sample = image::open(root().join("crates/cli/pictures/heart.png")).unwrap();
    let plain = classify(&fixture, "plain.png", sample.clone());
    assert!(plain.contains('%'));
    // Its alpha is 255 everywhere, which makes it opaque.
    let alpha = DynamicImage::ImageRgba8(sample.to_rgba8());
    assert_eq!(classify(&fixture, "alpha.png", alpha), plain);
    let deep = DynamicImage::ImageRgb16(sample.to_rgb16());
    assert_eq!(classify(&fixture, "deep.png", deep), plain);
    classify(
        &fixture,
        "grey.png",
        DynamicImage::ImageLuma8(sample.to_luma8()),
    );
    classify(
        &fixture,
        "photo.jpg",
        DynamicImage::ImageRgb8(sample.to_rgb8()),
    );
    classify(&fixture, "dot.png", DynamicImage::new_rgb8(1, 1));
    classify(&fixture, "strip.png", DynamicImage::new_rgb8(500, 1));
}

#[test]
fn several_pictures_in_one_run() {
    let fixture = Fixture::golden("vit-patch8");
    let samples =
        ["star", "ring"].map(|name| root().join(format!("crates/cli/pictures/{name}.png")));
    let [star, ring] = samples.each_ref().map(|path| path.to_str().unwrap());
    let stdout = fixture.run(&["--image", star, ring]).fine().to_string();
    assert_eq!(
        stdout.matches("100.00%").count(),
        2,
        "one label is certain: {stdout}"
    );
}

#[test]
fn attention_is_painted() {
    let fixture = Fixture::golden("vit-patch4");
    let sample = root().join("crates/cli/pictures/heart.png");
    let out = fixture.path("attention.png");
    let args = ["--image", sample.to_str().unwrap(), "--attention", &out];
    let run = fixture.run(&args);
    let wrote = format!("\nwrote the attention to {out}\n");
    assert!(run.fine().ends_with(&wrote), "{}", run.stdout);
    let painted = image::open(&out).unwrap();
    let (width, height) = painted.dimensions();
    assert!(width > 500 && height > 250, "{width} × {height}");
}
