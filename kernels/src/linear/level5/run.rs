//! Runs an entry of the registry.

use candle_core::{D, Result, Tensor};

use super::{Call, Run, row_gemv};
use crate::cpu::parallel::Threads;
use crate::element::by_element;
use crate::error::mismatch;
use crate::gelu::level4::gelu;
use crate::linear::cpu;
use crate::linear::gemm::{Epilogue, Gemm};
use crate::linear::level4::{self, Form, Panels};
use crate::matmul::level5 as matmul;

impl Call<'_> {
    /// Computes it by this entry: (…, N).
    ///
    /// # Errors
    /// When `run` cannot compute the problem on this device.
    pub fn run(&self, run: Run) -> Result<Tensor> {
        match (&self.w.form, run) {
            (Form::Cpu(w), Run::Level4) => self.panels(w, None),
            (Form::Cpu(w), Run::Panels(threads)) => self.panels(w, Some(threads)),
            (Form::Gpu(w), Run::Level4) => level4::launch(&self.gemm(w)),
            (Form::Gpu(w), Run::Tile(tile)) => level4::launch_tile(&self.gemm(w), tile),
            (Form::Gpu(w), Run::Gemv) => level4::gemv::launch(&self.gemm(w)),
            (Form::Gpu(w), Run::GemvSplit(split)) => split.launch(&self.gemm(w)),
            (Form::Gpu(w), Run::RowGemv) => row_gemv::launch(&self.gemm(w)),
            (Form::Gpu(w), Run::Mma(mma)) => mma.launch(&self.gemm(w)),
            (Form::Gpu(w), Run::Wgmma(wgmma)) => wgmma.launch(&self.gemm(w)),
            (Form::Gpu(w), Run::Small(tile)) => self.small(w, tile),
            (Form::Gpu(w), Run::Candle) => self.activate(self.candle(w)?),
            (Form::Gpu(w), Run::CublasLt) => self.activate(self.cublaslt(w)?),
            (_, other) => {
                let found = format!("{other:?}");
                Err(mismatch("linear_level5", "an entry for this device", found))
            }
        }
    }

    fn panels(&self, w: &Panels, threads: Option<Threads>) -> Result<Tensor> {
        let (x, dtype) = (self.x, self.problem.dtype);
        match (self.epilogue, self.b) {
            (Epilogue::SwiGlu, _) => by_element!(
                "linear_swiglu_level5",
                dtype,
                cpu::level4::linear_swiglu(x, w, threads)
            ),
            (Epilogue::BiasGelu, Some(b)) => by_element!(
                "linear_gelu_level5",
                dtype,
                cpu::level4::linear_gelu(x, w, b, threads)
            ),
            (_, b) => by_element!(
                "linear_level5",
                dtype,
                cpu::level4::linear(x, w, b, self.residual, threads)
            ),
        }
    }

    fn gemm<'a>(&'a self, w: &'a Tensor) -> Gemm<'a> {
        Gemm {
            epilogue: self.epilogue,
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

    fn small(&self, w: &Tensor, tile: matmul::BlockTile) -> Result<Tensor> {
        let (x, w) = (self.rows()?, w.t()?);
        let y = matmul::Call::new(&x, &w, self.b)?.run(matmul::Run::Tile(tile))?;
        self.shaped(y)
    }

    /// x·wᵀ + b + residual by cuBLAS, without the activation.
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

    /// The activation after a library's matmul, (M, N) or (M, 2F), which has added bias and residual.
    fn activate(&self, y: Tensor) -> Result<Tensor> {
        match self.epilogue {
            Epilogue::Bias => self.shaped(y),
            Epilogue::BiasGelu => self.shaped(gelu(&y)?),
            Epilogue::SwiGlu => {
                let f = self.shape.n;
                let (gate, up) = (y.narrow(D::Minus1, 0, f)?, y.narrow(D::Minus1, f, f)?);
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
