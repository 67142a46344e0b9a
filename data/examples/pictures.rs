//! Draws the sample pictures of the repository, one of each class.
//!
//! `cargo run --release -p data --example pictures`

use std::path::Path;

use data::shapes::{CLASSES, draw_at};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Larger than a training picture, so that there is something to resize.
const SIDE: u32 = 96;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/pictures");
    std::fs::create_dir_all(&dir)?;
    let mut rng = ChaCha8Rng::seed_from_u64(2015);
    for (class, name) in CLASSES.iter().enumerate() {
        draw_at(class, SIDE, &mut rng).save(dir.join(format!("{name}.png")))?;
    }
    println!("wrote {} pictures into {}", CLASSES.len(), dir.display());
    Ok(())
}
