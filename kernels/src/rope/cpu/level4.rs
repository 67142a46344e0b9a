//! Level 4 on a CPU: explicit lanes, and keys transposed for the attention that reads them.
//!
//! Against level 3: the same bytes; a register holds neighbouring channels, of both halves of a head. A
//! block of 64 keys is written with the tokens last, so that in decode a lane is a key and no
//! product is summed across lanes (`attention::cpu::level4`). That costs single stores here, once a key,
//! and saves a reduction each time that the key is read.

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{Inputs, Task};
use crate::attention::Cache;
use crate::cpu::lanes;
use crate::element::Element;
use crate::output;
use crate::rope::Operands;

/// q and k rotated, k written to the cache in transposed blocks and v in rows.
pub fn rope_append<T: Element>(x: &Operands, cache: &mut Cache, position: usize) -> Result<Tensor> {
    super::rope_append::<T>(x, cache, position, |inputs, task| {
        Arch::new().dispatch(Lanes { inputs, task })
    })
}

struct Lanes<'a, T> {
    inputs: Inputs<'a, T>,
    task: Task<'a, T>,
}

impl<T: Element> WithSimd for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let x = self.inputs;
        let d = x.head_dim;
        match self.task {
            Task::Rotate { first, y } => {
                for (i, y) in y.chunks_exact_mut(d).enumerate() {
                    let (q, angles) = x.query(first + i);
                    rotate(simd, q, angles, y);
                }
            }
            Task::Append {
                batch,
                head,
                mut keys,
                values,
            } => {
                let mut key = output::vec::<T>(d);
                let values = values[x.position * d..].chunks_exact_mut(d);
                for (t, value) in (0..x.tokens).zip(values) {
                    rotate(simd, x.k.get(batch, t, head), x.angles(t), &mut key);
                    keys.write(x.position + t, &key);
                    value.copy_from_slice(x.v.get(batch, t, head));
                }
            }
        }
    }
}

/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), a register of each half at a time.
#[inline(always)]
fn rotate<S: Simd, T: Element>(simd: S, x: &[T], (cos, sin): (&[T], &[T]), y: &mut [T]) {
    let width = S::F32_LANES;
    let ((x1, x2), (y1, y2)) = (x.split_at(cos.len()), y.split_at_mut(cos.len()));
    let x = x1.chunks(width).zip(x2.chunks(width));
    let y = y1.chunks_mut(width).zip(y2.chunks_mut(width));
    let angles = cos.chunks(width).zip(sin.chunks(width));
    for (((x1, x2), (y1, y2)), (cos, sin)) in x.zip(y).zip(angles) {
        let (x1, x2) = (lanes::load(simd, x1), lanes::load(simd, x2));
        let (cos, sin) = (lanes::load(simd, cos), lanes::load(simd, sin));
        let product = simd.mul_f32s(x1, cos);
        lanes::store(simd, y1, simd.negate_mul_add_e_f32s(x2, sin, product));
        let product = simd.mul_f32s(x1, sin);
        lanes::store(simd, y2, simd.mul_add_e_f32s(x2, cos, product));
    }
}
