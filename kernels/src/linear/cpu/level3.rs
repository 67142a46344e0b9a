//! Level 3 on a CPU.

use candle_core::{Result, Tensor};

use crate::cpu::Slice;
use crate::element::Element;
use crate::output;

/// x·wᵀ + b
pub fn linear<T: Element>(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let b = b.map(Slice::<T>::new).transpose()?;
    let n = w.dim(0)?;
    product::<T>(x, w, n, |dot, j| {
        dot(j) + b.as_ref().map_or(0., |b| b[j].widen())
    })
}

/// gelu(x·wᵀ + b)
pub fn linear_gelu<T: Element>(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let b = Slice::<T>::new(b)?;
    product::<T>(x, w, w.dim(0)?, |dot, j| {
        let s = dot(j) + b[j].widen();
        s * 0.5 * (1. + candle_core::cpu::erf::erf_f32(s * std::f32::consts::FRAC_1_SQRT_2))
    })
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
pub fn linear_swiglu<T: Element>(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let f = w.dim(0)? / 2;
    product::<T>(x, w, f, |dot, j| {
        let gate = dot(j);
        gate / (1. + (-gate).exp()) * dot(f + j)
    })
}

fn product<T: Element>(
    x: &Tensor,
    w: &Tensor,
    n: usize,
    epilogue: impl Fn(&dyn Fn(usize) -> f32, usize) -> f32,
) -> Result<Tensor> {
    let k = w.dim(1)?;
    let mut dims = x.dims().to_vec();
    let last = dims.len() - 1;
    dims[last] = n;
    let m: usize = dims[..last].iter().product();
    let (x, w) = (Slice::<T>::new(x)?, Slice::<T>::new(w)?);
    let mut y = output::vec::<T>(m * n);
    for i in 0..m {
        let row = &x[i * k..][..k];
        let dot = |j: usize| -> f32 {
            let products = row.iter().zip(&w[j * k..][..k]);
            products.map(|(x, w)| x.widen() * w.widen()).sum()
        };
        for j in 0..n {
            y[i * n + j] = T::narrow(epilogue(&dot, j));
        }
    }
    Tensor::from_vec(y, dims, &candle_core::Device::Cpu)
}
