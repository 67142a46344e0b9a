//! `preprocessor_config.json`, as Hugging Face's `ViTImageProcessor` understands it.

use std::path::Path;

use image::{Rgb, RgbImage};
use serde_json::{Map, Value};

use super::resample::{Filter, resize};
use crate::BadInput;
use crate::file;

mod keys;

/// Maximum bytes of a `preprocessor_config.json`.
const MAX_FILE: u64 = 1 << 20;

/// Maximum side of the result in pixels.
const MAX_OUTPUT: u32 = 4096;

/// The size to resize to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// `{"height": …, "width": …}`, or one number for both.
    Exact {
        /// Height in pixels.
        height: u32,
        /// Width in pixels.
        width: u32,
    },
    /// `{"shortest_edge": …}`: the other side keeps the aspect ratio, rounded down.
    ShortestEdge(u32),
}

/// Converts an image to a model's pixels: resize, crop, rescale, normalise, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocessor {
    /// Whether to resize to `size`.
    pub do_resize: bool,
    /// The size after resizing.
    pub size: Size,
    /// The resampling filter.
    pub resample: Filter,
    /// Whether to crop to the centre.
    pub do_center_crop: bool,
    /// Height and width of the crop; a smaller image gets a black border.
    pub crop_size: [u32; 2],
    /// Whether to multiply by `rescale_factor`.
    pub do_rescale: bool,
    /// Factor for channel values of 0 to 255.
    pub rescale_factor: f32,
    /// Whether to subtract `image_mean` and divide by `image_std`.
    pub do_normalize: bool,
    /// Mean of the channels R, G, B.
    pub image_mean: [f32; 3],
    /// Standard deviation of the channels R, G, B.
    pub image_std: [f32; 3],
}

impl Preprocessor {
    /// The defaults of `ViTImageProcessor` for a model with `image_size` × `image_size` pixels.
    pub fn new(image_size: u32) -> Self {
        Self {
            do_resize: true,
            size: Size::Exact {
                height: image_size,
                width: image_size,
            },
            resample: Filter::Bilinear,
            do_center_crop: false,
            crop_size: [image_size; 2],
            do_rescale: true,
            rescale_factor: 1.0 / 255.0,
            do_normalize: true,
            image_mean: [0.5; 3],
            image_std: [0.5; 3],
        }
    }

    /// Reads `preprocessor_config.json`. A key that is absent or null has its default, with 224
    /// pixels for the sizes.
    ///
    /// # Errors
    /// If the file is not such JSON, or a key asks for something that is not implemented.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        let bad =
            |found: &dyn std::fmt::Display| BadInput::new(path.display(), "a JSON object", found);
        let text = file::read_text_file(path, MAX_FILE)?;
        crate::unique_keys(text.as_bytes()).map_err(|e| bad(&e))?;
        let config: Map<String, Value> = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        keys::preprocessor(&keys::Keys { path, config })
    }

    /// Returns (height, width) of [`apply`](Self::apply)'s result for an image of `height` × `width`.
    pub fn output_size(&self, height: u32, width: u32) -> [u32; 2] {
        if self.do_center_crop {
            self.crop_size
        } else {
            self.resized(height, width)
        }
    }

    /// Returns the pixels (3, H, W) in row-major order; channel c is
    /// `(value · rescale_factor − image_mean[c]) / image_std[c]`.
    ///
    /// # Errors
    /// If a side would be longer than 4096 pixels, as for a long strip with `shortest_edge`.
    pub fn apply(&self, picture: &RgbImage) -> Result<Vec<f32>, BadInput> {
        let [height, width] = self.resized(picture.height(), picture.width());
        if self.do_resize && height.max(width) > MAX_OUTPUT {
            let expected = format!("at most {MAX_OUTPUT} pixels per side after resizing");
            return Err(BadInput::new(
                "picture",
                expected,
                format!("{width} × {height}"),
            ));
        }
        let mut picture = if self.do_resize {
            resize(picture, width, height, self.resample)
        } else {
            picture.clone()
        };
        if self.do_center_crop {
            picture = center_crop(&picture, self.crop_size);
        }
        let planes = (0..3).flat_map(|c| picture.pixels().map(move |p| (c, p.0[c])));
        Ok(planes.map(|(c, value)| self.channel(c, value)).collect())
    }

    fn channel(&self, c: usize, value: u8) -> f32 {
        let mut x = f32::from(value);
        if self.do_rescale {
            x *= self.rescale_factor;
        }
        if self.do_normalize {
            x = (x - self.image_mean[c]) / self.image_std[c];
        }
        x
    }

    fn resized(&self, height: u32, width: u32) -> [u32; 2] {
        match self.size {
            _ if !self.do_resize => [height, width],
            Size::Exact { height, width } => [height, width],
            Size::ShortestEdge(edge) => {
                let long =
                    |short, long| (u64::from(edge) * u64::from(long) / u64::from(short)) as u32;
                if height < width {
                    [edge, long(height, width)]
                } else {
                    [long(width, height), edge]
                }
            }
        }
    }
}

/// Crops to the central `height` × `width` pixels, black outside the image.
fn center_crop(picture: &RgbImage, [height, width]: [u32; 2]) -> RgbImage {
    // If the difference is odd, the wider border is at the top and the left.
    let start = |have: u32, want: u32| {
        if have >= want {
            i64::from((have - want) / 2)
        } else {
            -i64::from((want - have).div_ceil(2))
        }
    };
    let top = start(picture.height(), height);
    let left = start(picture.width(), width);
    RgbImage::from_fn(width, height, |x, y| {
        let [x, y] = [i64::from(x) + left, i64::from(y) + top].map(u32::try_from);
        let pixel = x
            .ok()
            .zip(y.ok())
            .and_then(|(x, y)| picture.get_pixel_checked(x, y));
        pixel.copied().unwrap_or(Rgb([0; 3]))
    })
}
