//! The vision transformer: the sample pictures of the repository.

use candle_core::{Result, Tensor};
use cli::files;
use cli::load::{self, Loaded, Request};
use data::picture::{self, Preprocessor};
use data::shapes::CLASSES;
use models::VisionTransformer;

use crate::job::{Job, Model, Workload};
use crate::levels::Level;

/// All sample pictures for `tiny`, which was trained on their like, and one for a preset.
pub fn load(request: &Request, level: &Level) -> models::Result<Vec<Workload>> {
    let loaded = load::vit(request)?;
    let count = if loaded.folder.is_some() {
        CLASSES.len()
    } else {
        1
    };
    let pixels = pixels(&loaded, count)?;
    let side = loaded.model.config().image_size;
    let input = format!("{count} × 3 × {side} × {side} pixels");
    let job = Classify {
        model: loaded.model,
        level: level.clone(),
        pixels: Tensor::from_vec(pixels, (count, 3, side, side), &request.device)?
            .to_dtype(request.dtype)?,
    };
    Ok(vec![Workload {
        model: Model::Vit,
        preset: request.model.clone(),
        name: format!("batch{count}"),
        input,
        items: count,
        job: Box::new(job),
    }])
}

/// The first `count` sample pictures, as the model's preprocessor makes them.
fn pixels(loaded: &Loaded<VisionTransformer>, count: usize) -> models::Result<Vec<f32>> {
    let preprocessor = match loaded.file("preprocessor_config.json") {
        Some(path) => Preprocessor::read(&path)?,
        None => Preprocessor::new(loaded.model.config().image_size as u32),
    };
    let mut pixels = vec![];
    for class in &CLASSES[..count] {
        let path = files::find(&format!("assets/pictures/{class}.png"))?;
        pixels.extend(preprocessor.apply(&picture::read(&path)?)?);
    }
    Ok(pixels)
}

struct Classify {
    model: VisionTransformer,
    level: Level,
    pixels: Tensor, // (B, 3, S, S)
}

impl Job for Classify {
    fn run(&mut self) -> Result<Tensor> {
        let logits = self.model.forward(&*self.level, &self.pixels)?;
        self.pixels.device().synchronize()?;
        Ok(logits)
    }
}
