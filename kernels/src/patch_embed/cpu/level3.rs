//! Level 3 on a CPU.

use candle_core::{Device, Result, Tensor};

use crate::cpu::Slice;
use crate::element::Element;
use crate::output;
use crate::patch_embed::{Added, Shape};

/// w·patch + b + position, the class token first.
pub fn patch_embed<T: Element>(
    pixels: &Tensor,
    w: &Tensor,
    added: Added,
    shape: Shape,
) -> Result<Tensor> {
    let (pixels, w) = (Slice::<T>::new(pixels)?, Slice::<T>::new(w)?);
    let b = Slice::<T>::new(added.b)?;
    let class = Slice::<T>::new(added.class)?;
    let positions = Slice::<T>::new(added.positions)?;
    let Shape {
        batch,
        channels,
        picture: (h, width),
        patch: p,
        c,
    } = shape;
    let (tokens, k) = (shape.tokens(), shape.k());
    let mut y = output::vec::<T>(batch * tokens * c);
    let pixel = |row: usize, i: usize| {
        let (picture, place) = (row / tokens, row % tokens - 1);
        let (top, left) = (place / (width / p) * p, place % (width / p) * p);
        let (colour, i) = (i / (p * p), i % (p * p));
        pixels[((picture * channels + colour) * h + top + i / p) * width + left + i % p].widen()
    };
    for row in 0..batch * tokens {
        for j in 0..c {
            let place = row % tokens;
            let s = match place {
                0 => class[j].widen(),
                _ => {
                    (0..k)
                        .map(|i| pixel(row, i) * w[j * k + i].widen())
                        .sum::<f32>()
                        + b[j].widen()
                }
            };
            y[row * c + j] = T::narrow(s + positions[place * c + j].widen());
        }
    }
    Tensor::from_vec(y, (batch, tokens, c), &Device::Cpu)
}
