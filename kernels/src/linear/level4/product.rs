//! A product on a GPU: the launches of `tile_f32.cu`, `mma.cu` and `gemv.cu`.

use candle_core::{Result, Tensor};

use crate::element::{by_dtype, dtype_name};
use crate::launch::{Launch, Module, module};
use crate::linear::tile::{choose, tiles};
use crate::linear::{Shape, output_like};

static TILES: Module = module!("linear/level4/tile_f32", sm_75);
static TILES_BF16: Module = module!("linear/level4/mma", sm_80);
static DECODE: Module = module!("linear/level4/gemv", sm_75);

/// What is made of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::linear) enum Op {
    Linear,
    Gelu,
    SwiGlu,
}

/// A product on a GPU.
#[derive(Debug, Clone, Copy)]
pub(in crate::linear) struct Product<'a> {
    pub(in crate::linear) op: Op,
    pub(in crate::linear) x: &'a Tensor,
    pub(in crate::linear) w: &'a Tensor,
    pub(in crate::linear) b: Option<&'a Tensor>,
    /// Of [`Op::Linear`] alone.
    pub(in crate::linear) residual: Option<&'a Tensor>,
    pub(in crate::linear) shape: Shape,
}

/// Rows of x up to which w is read once for all of them, by [`Product::decode`].
pub(in crate::linear) const FEW_ROWS: usize = 8;

/// Warps of a block of `gemv.cu`.
const WARPS: usize = 4;

impl Op {
    /// What the names of its kernels begin with.
    pub(in crate::linear) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Gelu => "linear_gelu",
            Self::SwiGlu => "linear_swiglu",
        }
    }
}

impl Product<'_> {
    pub(in crate::linear) fn run(self) -> Result<Tensor> {
        if self.shape.m <= FEW_ROWS {
            return self.decode();
        }
        let tiles = tiles("linear_level4", self.x.dtype())?;
        self.tile(choose(tiles, self.shape.m, self.sums()))
    }

    /// By the tile at this place of [`tiles`].
    pub(in crate::linear) fn tile(self, tile: usize) -> Result<Tensor> {
        let dtype = self.x.dtype();
        let module = by_dtype("linear_level4", dtype, &TILES, &TILES_BF16)?;
        let tile = tiles("linear_level4", dtype)?[tile];
        let entry = tile.entry(self.op.name(), dtype_name("linear_level4", dtype)?);
        let launch = Launch::new(module, entry)
            .grid(tile.blocks(self.shape.m, self.sums()), 1, 1)
            .block(tile.threads, 1, 1)
            .smem(tile.smem);
        self.launch(launch)
    }

    /// By warps that have a few rows of w each; for up to 8 rows of x.
    pub(in crate::linear) fn decode(self) -> Result<Tensor> {
        let m = self.shape.m;
        let dtype = self.x.dtype();
        let rows = match m {
            0 | 1 => "row",
            2..=4 => "rows4",
            _ => "rows8",
        };
        let (op, dtype) = (self.op.name(), dtype_name("linear_level4", dtype)?);
        let entry = format!("{op}_{dtype}_level4_{rows}");
        let rows_of_w = if m > 4 { 4 } else { 2 };
        let launch = Launch::new(&DECODE, entry)
            .grid(
                if m == 0 {
                    0
                } else {
                    self.sums().div_ceil(WARPS * rows_of_w)
                },
                1,
                1,
            )
            .block(32 * WARPS, 1, 1);
        self.launch(launch)
    }

    /// Rows of w.
    pub(in crate::linear) fn sums(&self) -> usize {
        match self.op {
            Op::SwiGlu => 2 * self.shape.n,
            _ => self.shape.n,
        }
    }

    pub(in crate::linear) fn launch<'a>(&'a self, launch: Launch<'a>) -> Result<Tensor> {
        let Shape { m, n, k } = self.shape;
        let y = output_like(self.x, n)?;
        let mut launch = launch.read(self.x).read(self.w).read_or_null(self.b);
        if self.op == Op::Linear {
            launch = launch.read_or_null(self.residual);
        }
        launch.write(&y).u32(m).u32(n).u32(k).run()?;
        Ok(y)
    }
}
