//! Resampling that equals Pillow's bit by bit, because models were trained with it.
//!
//! When the image shrinks, a filter of support s (in source pixels) is stretched by the scale, so that every
//! source pixel counts (antialiasing). Rows come first, then columns, each rounded to 8 bits; weights are
//! fixed-point numbers with 22 fractional bits. Source: Pillow's `Resample.c`.

use image::{Rgb, RgbImage};

/// The filters of `resample` in `preprocessor_config.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// 0: the source pixel below the centre of the new one.
    Nearest,
    /// 1: sinc(x)·sinc(x/3), support 3.
    Lanczos,
    /// 2: 1 − |x|, support 1.
    Bilinear,
    /// 3: Keys' cubic with a = −1/2, support 2.
    Bicubic,
}

impl Filter {
    fn support(self) -> f64 {
        match self {
            Self::Nearest => 0.0,
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    /// Returns the weight of a source pixel at distance `x`; 0 from the support on.
    fn weight(self, x: f64) -> f64 {
        let x = x.abs();
        match self {
            _ if x >= self.support() => 0.0,
            Self::Nearest => 0.0,
            Self::Bilinear => 1.0 - x,
            Self::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Bicubic => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::Lanczos => sinc(x) * sinc(x / 3.0),
        }
    }
}

fn sinc(x: f64) -> f64 {
    let x = x * std::f64::consts::PI;
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

/// Resizes an image to `width` × `height` pixels, both at least 1.
pub fn resize(picture: &RgbImage, width: u32, height: u32, filter: Filter) -> RgbImage {
    let columns = windows(picture.width(), width, filter);
    let rows = windows(picture.height(), height, filter);
    let narrow = RgbImage::from_fn(width, picture.height(), |x, y| {
        columns[x as usize].sum(|i| picture.get_pixel(i, y))
    });
    RgbImage::from_fn(width, height, |x, y| {
        rows[y as usize].sum(|i| narrow.get_pixel(x, i))
    })
}

/// Fractional bits of a weight: 32, minus 8 for a channel and 2 for the sign and overshoot.
const BITS: u32 = 32 - 8 - 2;

/// The source pixels of a new pixel: index of the first, and weights.
struct Window {
    first: u32,
    weights: Vec<i32>,
}

impl Window {
    fn sum<'a>(&self, pixel: impl Fn(u32) -> &'a Rgb<u8>) -> Rgb<u8> {
        let mut sums = [1 << (BITS - 1); 3];
        for (i, &weight) in (self.first..).zip(&self.weights) {
            for (sum, &channel) in sums.iter_mut().zip(&pixel(i).0) {
                *sum += weight * i32::from(channel);
            }
        }
        Rgb(sums.map(|sum| (sum >> BITS).clamp(0, 255) as u8))
    }
}

/// Returns the window of each of `to` pixels; there are `from` source pixels.
fn windows(from: u32, to: u32, filter: Filter) -> Vec<Window> {
    let scale = f64::from(from) / f64::from(to);
    let stretch = scale.max(1.0);
    let reach = filter.support() * stretch;
    let window = |i| {
        let middle = (f64::from(i) + 0.5) * scale;
        if filter == Filter::Nearest {
            let first = (middle as u32).min(from - 1);
            let weights = vec![1 << BITS];
            return Window { first, weights };
        }
        let first = (middle - reach + 0.5).max(0.0) as u32;
        let end = ((middle + reach + 0.5) as u32).min(from);
        let weight = |j| filter.weight((f64::from(j) - middle + 0.5) / stretch);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let fixed = |w: f64| (w / sum * f64::from(1 << BITS)).round() as i32;
        let weights = weights.into_iter().map(fixed).collect();
        Window { first, weights }
    };
    (0..to).map(window).collect()
}
