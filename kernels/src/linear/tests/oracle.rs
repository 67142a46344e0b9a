//! Linear layers in f64, each with the scale of its rounding errors.

use candle_core::cpu::erf::erf_f64;
use rayon::prelude::*;

use crate::testing::Expected;

/// Σ x·w + b, and Σ |x||w| + |b|, the scale of its rounding errors.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    pub(super) value: f64,
    pub(super) scale: f64,
}

impl Sum {
    pub(super) fn plus(self, x: f64) -> Self {
        Self {
            value: self.value + x,
            scale: self.scale + x.abs(),
        }
    }
}

/// x (M, K), w (N, K) → (M, N)
pub(super) fn sums(x: &[f64], w: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<Sum> {
    let sum = |at: usize| {
        let (i, j) = (at / n, at % n);
        let products = x[i * k..][..k].iter().zip(&w[j * k..][..k]);
        let (mut value, mut scale) = (0., 0.);
        for (x, w) in products {
            value += x * w;
            scale += (x * w).abs();
        }
        Sum { value, scale }
    };
    (0..m * n).into_par_iter().map(sum).collect()
}

pub(super) fn expected(sums: impl Iterator<Item = Sum>) -> Expected {
    let (values, scales) = sums.map(|s| (s.value, s.scale)).unzip();
    Expected { values, scales }
}

/// The slope of gelu is below 1.13.
pub(super) fn gelu(s: Sum) -> Sum {
    Sum {
        value: s.value * 0.5 * (1. + erf_f64(s.value / 2f64.sqrt())),
        scale: s.scale * 1.13,
    }
}

/// The slope of silu is below 1.1.
pub(super) fn swiglu(gate: Sum, up: Sum) -> Sum {
    let silu = gate.value / (1. + (-gate.value).exp());
    Sum {
        value: silu * up.value,
        scale: 1.1 * gate.scale * up.value.abs() + silu.abs() * up.scale,
    }
}
