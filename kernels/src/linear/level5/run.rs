//! How each entry computes a product.

use candle_core::{D, Result, Tensor};

use super::{Call, Run};
use crate::cpu::parallel::Threads;
use crate::element::dispatch;
use crate::error::mismatch;
use crate::gelu::level4::gelu;
use crate::linear::cpu;
use crate::linear::level4::{Form, Op as Kind, Panels, Product};
use crate::matmul::level5 as matmul;

impl Call<'_> {
    /// By this entry: (…, N).
    ///
    /// # Errors
    /// When `run` cannot compute the problem on this device.
    pub fn run(&self, run: Run) -> Result<Tensor> {
        match (&self.w.form, run) {
            (Form::Panels(w), Run::Level4) => self.panels(w, None),
            (Form::Panels(w), Run::Panels(threads)) => self.panels(w, Some(threads)),
            (Form::Tensor(w), Run::Level4) => self.product(w).run(),
            (Form::Tensor(w), Run::Tile(place)) => self.product(w).tile(place),
            (Form::Tensor(w), Run::Decode) => self.product(w).decode(),
            (Form::Tensor(w), Run::Split(split)) => split.run(&self.product(w)),
            (Form::Tensor(w), Run::Mma(mma)) => mma.run(&self.product(w)),
            (Form::Tensor(w), Run::Wgmma(wgmma)) => wgmma.run(&self.product(w)),
            (Form::Tensor(w), Run::Small(tile)) => self.small(w, tile),
            (Form::Tensor(w), Run::Candle) => self.follow(self.candle(w)?),
            (Form::Tensor(w), Run::CublasLt) => self.follow(self.cublaslt(w)?),
            (_, other) => {
                let found = format!("{other:?}");
                Err(mismatch("linear_level5", "an entry for this device", found))
            }
        }
    }

    fn panels(&self, w: &Panels, threads: Option<Threads>) -> Result<Tensor> {
        let (x, dtype) = (self.x, self.problem.dtype);
        match (self.kind, self.b) {
            (Kind::SwiGlu, _) => dispatch!(
                "linear_swiglu_level5",
                dtype,
                cpu::level4::linear_swiglu(x, w, threads)
            ),
            (Kind::Gelu, Some(b)) => dispatch!(
                "linear_gelu_level5",
                dtype,
                cpu::level4::linear_gelu(x, w, b, threads)
            ),
            (_, b) => dispatch!(
                "linear_level5",
                dtype,
                cpu::level4::linear(x, w, b, self.residual, threads)
            ),
        }
    }

    fn product<'a>(&'a self, w: &'a Tensor) -> Product<'a> {
        Product {
            op: self.kind,
            x: self.x,
            w,
            b: self.b,
            residual: self.residual,
            shape: self.shape,
        }
    }

    /// (M, K)
    fn rows(&self) -> Result<Tensor> {
        self.x.reshape((self.shape.m, self.shape.k))
    }

    fn small(&self, w: &Tensor, tile: matmul::Tile) -> Result<Tensor> {
        let (x, w) = (self.rows()?, w.t()?);
        let y = matmul::Call::new(&x, &w, self.b)?.run(matmul::Run::Tile(tile))?;
        self.shaped(y)
    }

    /// x·wᵀ + b + residual by cuBLAS; without what follows.
    fn candle(&self, w: &Tensor) -> Result<Tensor> {
        let mut y = self.rows()?.matmul(&w.t()?)?;
        if let Some(b) = self.b {
            y = y.broadcast_add(b)?;
        }
        match self.residual {
            Some(residual) => y + residual.reshape((self.shape.m, self.shape.n))?,
            None => Ok(y),
        }
    }

    #[cfg(feature = "cuda")]
    fn cublaslt(&self, w: &Tensor) -> Result<Tensor> {
        super::cublaslt::product(&self.rows()?, w, self.b, self.residual)
    }

    #[cfg(not(feature = "cuda"))]
    fn cublaslt(&self, _: &Tensor) -> Result<Tensor> {
        Err(mismatch(
            "cublaslt",
            "a build with the feature `cuda`",
            "a build without it",
        ))
    }

    /// What follows the sums that a library made, (M, N) or (M, 2F).
    fn follow(&self, sums: Tensor) -> Result<Tensor> {
        match self.kind {
            Kind::Linear => self.shaped(sums),
            Kind::Gelu => self.shaped(gelu(&sums)?),
            Kind::SwiGlu => {
                let f = self.shape.n;
                let (gate, up) = (sums.narrow(D::Minus1, 0, f)?, sums.narrow(D::Minus1, f, f)?);
                self.shaped((gate.silu()? * up)?)
            }
        }
    }

    /// (M, N) as (…, N).
    fn shaped(&self, y: Tensor) -> Result<Tensor> {
        let mut dims = self.x.dims().to_vec();
        if let Some(last) = dims.last_mut() {
            *last = self.shape.n;
        }
        y.reshape(dims)
    }
}
