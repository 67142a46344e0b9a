//! Level 3 on a CPU.

use candle_core::{Device, Result, Tensor};

use crate::attention::Cache;
use crate::cpu::Slice;
use crate::element::Element;
use crate::output;

/// q and k rotated, k and v written to the cache.
pub fn rope_append<T: Element>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &mut Cache,
    position: usize,
) -> Result<Tensor> {
    let (batch, tokens, heads, d) = q.dims4()?;
    let (kv_heads, capacity) = (cache.kv_heads, cache.capacity);
    let (cos, sin) = (Slice::<T>::new(cos)?, Slice::<T>::new(sin)?);
    let angles = |t: usize| (&cos[t * (d / 2)..][..d / 2], &sin[t * (d / 2)..][..d / 2]);
    let all = (
        Slice::<T>::strided(q)?,
        Slice::<T>::strided(k)?,
        Slice::<T>::strided(v)?,
    );
    let mut y = output::vec::<T>(batch * tokens * heads * d);
    let slots = cache.slots_mut::<T>()?;
    for b in 0..batch {
        for t in 0..tokens {
            let from = |x: &Tensor, h: usize| b * x.stride()[0] + t * x.stride()[1] + h * d;
            for h in 0..heads {
                let to = ((b * tokens + t) * heads + h) * d;
                rotate(&all.0[from(q, h)..][..d], angles(t), &mut y[to..][..d]);
            }
            for h in 0..kv_heads {
                let to = ((b * kv_heads + h) * capacity + position + t) * d;
                rotate(
                    &all.1[from(k, h)..][..d],
                    angles(t),
                    &mut slots.keys[to..][..d],
                );
                slots.values[to..][..d].copy_from_slice(&all.2[from(v, h)..][..d]);
            }
        }
    }
    Tensor::from_vec(y, (batch, tokens, heads, d), &Device::Cpu)
}

/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), the halves of a head.
fn rotate<T: Element>(x: &[T], (cos, sin): (&[T], &[T]), y: &mut [T]) {
    let half = cos.len();
    for i in 0..half {
        let (a, b) = (x[i].widen(), x[i + half].widen());
        let (cos, sin) = (cos[i].widen(), sin[i].widen());
        y[i] = T::narrow(a * cos - b * sin);
        y[i + half] = T::narrow(b * cos + a * sin);
    }
}
