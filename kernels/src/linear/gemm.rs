//! A GEMM on a GPU: its operands and its epilogue, for the launches of levels 4 and 5.

use candle_core::{Result, Tensor};

use super::tile::TileShape;
use super::{Shape, output_like};
use crate::launch::{Launch, Module};

/// From an accumulator to an element of y: the struct of the same name in `common/gemm/epilogue.cuh`, or in
/// `level5/wgmma.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Epilogue {
    /// x·wᵀ + b + residual
    Bias,
    /// gelu(x·wᵀ + b)
    BiasGelu,
    /// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
    SwiGlu,
}

/// The PTX entries of one tile: for [`Epilogue::Bias`], [`Epilogue::BiasGelu`] and [`Epilogue::SwiGlu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries(pub [&'static str; 3]);

impl Entries {
    /// The name of the three in the registry: that of the entry with [`Epilogue::Bias`].
    pub const fn name(self) -> &'static str {
        self.0[0]
    }

    /// The entry with `epilogue`.
    pub(super) const fn with(self, epilogue: Epilogue) -> &'static str {
        match epilogue {
            Epilogue::Bias => self.0[0],
            Epilogue::BiasGelu => self.0[1],
            Epilogue::SwiGlu => self.0[2],
        }
    }
}

/// The operands of a GEMM on a GPU, which `check` has compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gemm<'a> {
    pub(super) epilogue: Epilogue,
    /// (…, K)
    pub(super) x: &'a Tensor,
    /// (N, K), or (2F, K) for [`Epilogue::SwiGlu`]
    pub(super) w: &'a Tensor,
    /// (N)
    pub(super) b: Option<&'a Tensor>,
    /// (…, N); only [`Epilogue::Bias`] adds one.
    pub(super) residual: Option<&'a Tensor>,
    pub(super) shape: Shape,
}

impl Gemm<'_> {
    /// Rows of w: N, or 2F with a gate.
    pub(super) fn rows_of_w(&self) -> usize {
        match self.epilogue {
            Epilogue::SwiGlu => 2 * self.shape.n,
            Epilogue::Bias | Epilogue::BiasGelu => self.shape.n,
        }
    }

    /// Launches one block per tile.
    pub(super) fn launch_tiles(
        &self,
        module: &'static Module,
        entries: Entries,
        tile: TileShape,
    ) -> Result<Tensor> {
        let launch = Launch::new(module, entries.with(self.epilogue))
            .grid(tile.blocks(self.shape.m, self.rows_of_w()), 1, 1)
            .block(tile.threads, 1, 1)
            .smem(tile.smem);
        self.launch(launch)
    }

    /// Passes the parameters of `linear/parameters.cuh`, and runs `launch`: (…, N).
    pub(super) fn launch<'a>(&'a self, launch: Launch<'a>) -> Result<Tensor> {
        let Shape { m, n, k } = self.shape;
        let y = output_like(self.x, n)?;
        let launch = launch.read(self.x).constant(self.w);
        let mut launch = launch.constant_or_null(self.b);
        if self.epilogue == Epilogue::Bias {
            launch = launch.read_or_null(self.residual);
        }
        launch.write(&y).u32(m).u32(n).u32(k).launch()?;
        Ok(y)
    }
}
