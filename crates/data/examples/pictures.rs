//! Draws the sample images of the repository, one of each class.
//!
//! `cargo run --release -p data --example pictures`; the repository's files are the same pixels, packed by oxipng.

use std::io::Cursor;
use std::path::Path;

use data::shapes::{CLASSES, draw_at};
use image::ImageFormat;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Larger than a training image, so that it must be resized.
const SIDE: u32 = 96;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/pictures");
    std::fs::create_dir_all(&dir)?;
    let mut rng = ChaCha8Rng::seed_from_u64(2015);
    for (class, name) in CLASSES.iter().enumerate() {
        let mut png = Cursor::new(vec![]);
        draw_at(class, SIDE, &mut rng).write_to(&mut png, ImageFormat::Png)?;
        data::write_atomically(dir.join(format!("{name}.png")), png.into_inner())?;
    }
    println!("wrote {} pictures into {}", CLASSES.len(), dir.display());
    Ok(())
}
