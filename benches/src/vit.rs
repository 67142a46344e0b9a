//! The vision transformer: the sample images of the repository.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use cli::files;
use cli::load::{self, Loaded, Request};
use data::picture::{self, Preprocessor};
use data::shapes::CLASSES;
use levels::Level;
use models::{Scores, VisionTransformer};
use replay::Pass;

use crate::job::{Job, Model, Workload};
use crate::sweep::{Point, Sweep, doublings};

/// All sample images for `tiny`, which was trained on their like; one for a preset, and on a GPU as many
/// besides as fill it.
pub fn load(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Workload>> {
    let loaded = load::vit(request)?;
    let batches = match (loaded.folder.is_some(), request.device.is_cpu()) {
        (true, _) => vec![CLASSES.len()],
        (false, true) => vec![1],
        (false, false) => vec![1, if request.model == "b16" { 128 } else { 32 }],
    };
    let largest = batches[batches.len() - 1];
    (loaded.model.config()).check_pass(&request.model, largest, Scores::Held)?;
    let pictures = pixels(&loaded, largest.min(CLASSES.len()))?;
    let side = loaded.model.config().image_size;
    let model = Arc::new(loaded.model);
    let workload = |batch: usize| {
        let job = Classify {
            model: model.clone(),
            level: level.clone(),
            pass: Pass::new(cuda_graph),
            pixels: batch_of(&pictures, batch, side, request)?,
        };
        Ok(Workload {
            model: Model::Vit,
            preset: request.model.clone(),
            name: format!("batch{batch}"),
            input: format!("{batch} × 3 × {side} × {side} pixels"),
            items: batch,
            job: Box::new(job),
        })
    };
    batches.into_iter().map(workload).collect()
}

/// The largest batch of a sweep on a CPU and on a GPU, which begins with one image.
const SWEPT: usize = 16;
const SWEPT_GPU: usize = 128;

/// Batches, each twice as large as the one before.
pub fn sweep(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Sweep>> {
    let loaded = load::vit(request)?;
    let pictures = pixels(&loaded, CLASSES.len())?;
    let side = loaded.model.config().image_size;
    let model = Arc::new(loaded.model);
    let point = |batch: usize| {
        let job = Classify {
            model: model.clone(),
            level: level.clone(),
            pass: Pass::new(cuda_graph),
            pixels: batch_of(&pictures, batch, side, request)?,
        };
        Ok(Point::new(batch, job))
    };
    let last = if request.device.is_cpu() {
        SWEPT
    } else {
        SWEPT_GPU
    };
    Ok(vec![Sweep {
        axis: "batch",
        what: "images per batch".into(),
        points: doublings(1, last).map(point).collect::<Result<_>>()?,
    }])
}

/// (batch, 3, side, side) of `pictures`, over again where there are too few.
fn batch_of(pictures: &[f32], batch: usize, side: usize, request: &Request) -> Result<Tensor> {
    let pixels = pictures.iter().copied().cycle();
    let pixels: Vec<f32> = pixels.take(batch * 3 * side * side).collect();
    let pixels = Tensor::from_vec(pixels, (batch, 3, side, side), &request.device)?;
    pixels.to_dtype(request.dtype)
}

/// The first `count` sample images, as the model's preprocessor makes them.
fn pixels(loaded: &Loaded<VisionTransformer>, count: usize) -> models::Result<Vec<f32>> {
    let preprocessor = match loaded.file("preprocessor_config.json") {
        Some(path) => Preprocessor::read(&path)?,
        None => Preprocessor::new(loaded.model.config().image_size as u32),
    };
    let mut pixels = vec![];
    for class in &CLASSES[..count] {
        let path = files::find(&format!("crates/cli/pictures/{class}.png"))?;
        pixels.extend(preprocessor.apply(&picture::read(&path)?)?);
    }
    Ok(pixels)
}

struct Classify {
    model: Arc<VisionTransformer>,
    level: Level,
    pass: Pass,
    pixels: Tensor, // (B, 3, S, S)
}

impl Job for Classify {
    fn queue(&mut self) -> Result<Tensor> {
        let device = self.pixels.device();
        self.pass.run(device, &[&self.pixels], |x| {
            self.model.forward(&*self.level, &x[0])
        })
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        Ok(vec![("pixel_values", self.pixels.clone())])
    }

    fn recorded(&self) -> Option<usize> {
        self.pass.kernels()
    }
}
