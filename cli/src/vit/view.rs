//! A picture as the model sees it.

use std::path::Path;

use candle_core::Tensor;
use data::BadInput;
use data::picture::{self, Preprocessor};
use image::{Rgb, RgbImage};
use models::VisionTransformer;

use crate::load::{Loaded, Request};

/// From files to pixels of one size, and from these back to a picture.
pub struct View {
    preprocessor: Preprocessor,
    side: usize,
}

impl View {
    /// By the model's `preprocessor_config.json`, or the defaults of Hugging Face without it.
    pub fn new(loaded: &Loaded<VisionTransformer>) -> Result<Self, BadInput> {
        let side = loaded.model.config().image_size;
        let preprocessor = match loaded.file("preprocessor_config.json") {
            Some(path) => Preprocessor::read(&path)?,
            None => Preprocessor::new(side as u32),
        };
        Ok(Self { preprocessor, side })
    }

    /// The pixels (3, S, S) of a file, row-major.
    pub fn read(&self, path: &Path) -> Result<Vec<f32>, BadInput> {
        let picture = picture::read(path)?;
        let size = self
            .preprocessor
            .output_size(picture.height(), picture.width());
        if size != [self.side as u32; 2] {
            let expected = format!("{0} × {0} pixels after preprocessing", self.side);
            let found = format!("{} × {}", size[1], size[0]);
            return Err(BadInput::new(path.display(), expected, found));
        }
        self.preprocessor.apply(&picture).map_err(|bad| BadInput {
            what: format!("{}: {}", path.display(), bad.what),
            ..bad
        })
    }

    /// One picture as pixel values (1, 3, S, S).
    pub fn tensor(&self, pixels: &[f32], request: &Request) -> candle_core::Result<Tensor> {
        let shape = (1, 3, self.side, self.side);
        Tensor::from_slice(pixels, shape, &request.device)?.to_dtype(request.dtype)
    }

    /// Undoes normalising and rescaling.
    pub fn picture(&self, pixels: &[f32]) -> RgbImage {
        let side = self.side as u32;
        let plane = self.side * self.side;
        RgbImage::from_fn(side, side, |x, y| {
            let at = (y * side + x) as usize;
            Rgb([0, 1, 2].map(|c| self.channel(c, pixels[c * plane + at])))
        })
    }

    fn channel(&self, c: usize, mut x: f32) -> u8 {
        let p = &self.preprocessor;
        if p.do_normalize {
            x = x * p.image_std[c] + p.image_mean[c];
        }
        if p.do_rescale {
            x /= p.rescale_factor;
        }
        x.round() as u8 // `as` saturates
    }
}
