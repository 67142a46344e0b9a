//! An image as the model sees it.

use std::path::{Path, PathBuf};

use candle_core::Tensor;
use data::BadInput;
use data::picture::{self, Preprocessor};
use image::{Rgb, RgbImage};
use models::VisionTransformer;

use crate::load::{Loaded, Request};

/// Describes changes: `96 × 64 pixels become 32 × 32, another shape`; `None` if size and colours stay. `from`
/// is width and height, `to` height and width.
fn changes(from: (u32, u32), to: [u32; 2], transparent: bool) -> Option<String> {
    let ((width, height), [rows, columns]) = (from, to);
    let size = ((width, height) != (columns, rows)).then(|| {
        let same = u64::from(width) * u64::from(rows) == u64::from(height) * u64::from(columns);
        let shape = if same { "" } else { ", another shape" };
        format!("{width} × {height} pixels become {columns} × {rows}{shape}")
    });
    let alpha = transparent.then(|| "transparent pixels become white".to_string());
    let changes: Vec<String> = size.into_iter().chain(alpha).collect();
    (!changes.is_empty()).then(|| changes.join("; "))
}

/// Converts files to pixels of the model's size, and those back to an image.
pub struct View {
    preprocessor: Preprocessor,
    side: usize,
    /// The file of the preprocessor, which decides on the size.
    file: Option<PathBuf>,
}

impl View {
    /// Reads the model's `preprocessor_config.json`; without it, uses the defaults of Hugging Face.
    pub fn new(loaded: &Loaded<VisionTransformer>) -> Result<Self, BadInput> {
        let side = loaded.model.config().image_size;
        let file = loaded.file("preprocessor_config.json");
        let preprocessor = match &file {
            Some(path) => Preprocessor::read(path)?,
            None => Preprocessor::new(side as u32),
        };
        Ok(Self {
            preprocessor,
            side,
            file,
        })
    }

    /// Returns the pixels (3, S, S) of a file in row-major order, and the changes made.
    pub fn read(&self, path: &Path) -> Result<(Vec<f32>, Option<String>), BadInput> {
        let (picture, transparent) = picture::read_flattened(path)?;
        let size = self
            .preprocessor
            .output_size(picture.height(), picture.width());
        if size != [self.side as u32; 2] {
            let expected = format!(
                "{0} × {0} pixels after preprocessing, the model's `image_size`",
                self.side
            );
            let found = format!("{} × {} for {}", size[1], size[0], path.display());
            let what = self.file.as_deref().unwrap_or(path).display();
            return Err(BadInput::new(what, expected, found));
        }
        let pixels = self.preprocessor.apply(&picture).map_err(|bad| BadInput {
            what: format!("{}: {}", path.display(), bad.what),
            ..bad
        })?;
        let changes = changes(picture.dimensions(), size, transparent);
        Ok((pixels, changes))
    }

    /// Returns one image as pixel values (1, 3, S, S).
    pub fn tensor(&self, pixels: &[f32], request: &Request) -> candle_core::Result<Tensor> {
        let shape = (1, 3, self.side, self.side);
        Tensor::from_slice(pixels, shape, &request.device)?.to_dtype(request.dtype)
    }

    /// Reverses normalisation and rescaling.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_described() {
        let text = |from, transparent| changes(from, [32, 32], transparent).unwrap_or_default();
        assert_eq!(text((32, 32), false), "");
        assert_eq!(text((96, 96), false), "96 × 96 pixels become 32 × 32");
        let both = "96 × 64 pixels become 32 × 32, another shape; transparent pixels become white";
        assert_eq!(text((96, 64), true), both);
        assert_eq!(text((32, 32), true), "transparent pixels become white");
    }
}
