//! Rotary position embedding of queries and keys, and the append to the cache: one launch.
//!
//! "RoFormer", Su et al. 2021, section 3.2; half-split, as Hugging Face stores its weights: channel i is
//! rotated together with channel i + D/2, (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin).
//! q is (B, T, H, D), k and v (B, T, Hkv, D), views whose heads and channels are contiguous; cos and sin
//! (T, D/2), contiguous, of the positions `position..position + T`; all f32 or all bf16. Keys, rotated,
//! and values are written at those positions of a [`Cache`]; the rotated q is returned, contiguous.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of an element's size or of 1.

mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;
pub mod level5;

use candle_core::{DType, Result, Tensor};
use trace::span;

use crate::attention::{Cache, strides};
use crate::cost::Cost;
use crate::element::{by_element, same_dtype};
use crate::error::mismatch;
use crate::launch::{Launch, on_cpu};

/// Reads q, k, v, cos and sin, writes q, k and v; three operations for each element that is rotated.
pub fn cost(
    batch: usize,
    tokens: usize,
    (heads, kv_heads): (usize, usize),
    head_dim: usize,
    dtype: DType,
) -> Cost {
    let elements = 2 * batch * tokens * (heads + 2 * kv_heads) * head_dim;
    let rotated = batch * tokens * (heads + kv_heads) * head_dim;
    Cost::new(elements + tokens * head_dim, dtype, 3 * rotated)
}

/// The tensors that are rotated and appended, and their angles.
struct Params<'a> {
    q: &'a Tensor,
    k: &'a Tensor,
    v: &'a Tensor,
    cos: &'a Tensor,
    sin: &'a Tensor,
}

impl Params<'_> {
    /// Checks that shapes, strides and dtypes agree with each other and with the cache.
    fn check(&self, kernel: &str, cache: &Cache, position: usize) -> Result<()> {
        let Self { q, k, v, cos, sin } = *self;
        let (batch, tokens, _, d) = q.dims4()?;
        if d % 2 == 1 || (batch, d) != (cache.batch, cache.head_dim) {
            let expected = format!("q ({}, T, H, {}), D even", cache.batch, cache.head_dim);
            return Err(mismatch(kernel, expected, format!("{:?}", q.dims())));
        }
        let kv = vec![batch, tokens, cache.kv_heads, d];
        let angles = vec![tokens, d / 2];
        for (name, x, expected) in [
            ("k", k, &kv),
            ("v", v, &kv),
            ("cos", cos, &angles),
            ("sin", sin, &angles),
        ] {
            if x.dims() != expected {
                let expected = format!("{name} {expected:?}");
                return Err(mismatch(kernel, expected, format!("{:?}", x.dims())));
            }
        }
        strides(kernel, q)?;
        if strides(kernel, k)? != strides(kernel, v)? {
            let found = format!("{:?} and {:?}", k.stride(), v.stride());
            return Err(mismatch(kernel, "k and v of the same strides", found));
        }
        same_dtype(kernel, &[q, k, v, cos, sin])?;
        cache.check(kernel, q, position, tokens)
    }

    /// Adds the parameters that the kernels of all levels have; the position is the last one and follows.
    fn arguments<'a>(
        &'a self,
        launch: Launch<'a>,
        y: &'a Tensor,
        cache: &'a Cache,
    ) -> Result<Launch<'a>> {
        let (_, _, heads, d) = self.q.dims4()?;
        let (q, kv) = (
            strides("rope_append", self.q)?,
            strides("rope_append", self.k)?,
        );
        let (keys, values) = cache.tensors()?;
        let launch = launch.view(self.q).view(self.k).view(self.v);
        Ok(launch
            .read(self.cos)
            .read(self.sin)
            .write(y)
            .write(keys)
            .write(values)
            .u32(q.batch)
            .u32(q.token)
            .u32(kv.batch)
            .u32(kv.token)
            .u32(heads)
            .u32(cache.kv_heads)
            .u32(d / 2)
            .u32(cache.capacity))
    }
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// Rotates q (B, T, H, D) and k (B, T, Hkv, D), writes k and v at `position..` of the cache, and returns q,
    /// contiguous. cos and sin (T, D/2) are of these positions.
    ///
    /// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), where x₁ and x₂ are the halves of a head.
    ///
    /// # Errors
    /// When shapes, devices, or strides of k and v do not agree, D is odd, operands and cache are not all f32 or all
    /// bf16, heads and channels are not contiguous, or the cache has no room.
    pub fn rope_append(
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
        cache: &mut Cache,
        position: usize,
    ) -> Result<Tensor> {
        let _span = span("rope_append_level3");
        let x = Params { q, k, v, cos, sin };
        x.check("rope_append_level3", cache, position)?;
        if on_cpu(q.device()) {
            return by_element!(
                "rope_append_level3",
                q.dtype(),
                cpu::level3::rope_append(&x, cache, position)
            );
        }
        level3_launch::launch(&x, cache, position)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// Rotates q (B, T, H, D) and k (B, T, Hkv, D), writes k and v at `position..` of the cache, and returns q,
    /// contiguous. cos and sin (T, D/2) are of these positions.
    ///
    /// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), where x₁ and x₂ are the halves of a head.
    ///
    /// # Errors
    /// When shapes, devices, or strides of k and v do not agree, D is odd, operands and cache are not all f32 or all
    /// bf16, heads and channels are not contiguous, or the cache has no room.
    pub fn rope_append(
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
        cache: &mut Cache,
        position: usize,
    ) -> Result<Tensor> {
        let _span = span("rope_append_level4");
        let x = Params { q, k, v, cos, sin };
        x.check("rope_append_level4", cache, position)?;
        if on_cpu(q.device()) {
            return by_element!(
                "rope_append_level4",
                q.dtype(),
                cpu::level4::rope_append(&x, cache, position)
            );
        }
        level4_launch::launch(&x, cache, position)
    }
}

#[cfg(test)]
mod tests;
