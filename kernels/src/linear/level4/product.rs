//! A product on a GPU: the launches of `level4.cu`, `level4_sm80.cu` and `level4_decode.cu`.

use candle_core::{DType, Result, Tensor};

use crate::element::no_kernel;
use crate::launch::{Launch, Module, module, of_dtype};
use crate::linear::tile::{choose, tile_entry, tiles};
use crate::linear::{Shape, output_like};

static TILES: Module = module!("linear_level4", "../level4.ptx");
static TILES_BF16: Module = module!("linear_level4_sm80", "../level4_sm80.ptx");
static DECODE: Module = module!("linear_level4_decode", "../level4_decode.ptx");

/// `Ok("{op}_f32_level4_rows4")`: the entry point for up to 1, 4 or 8 rows.
macro_rules! decode_entry {
    ($op:literal, $dtype:expr, $m:expr) => {
        match ($dtype, $m) {
            (DType::F32, ..=1) => Ok(concat!($op, "_f32_level4_row")),
            (DType::F32, ..=4) => Ok(concat!($op, "_f32_level4_rows4")),
            (DType::F32, _) => Ok(concat!($op, "_f32_level4_rows8")),
            (DType::BF16, ..=1) => Ok(concat!($op, "_bf16_level4_row")),
            (DType::BF16, ..=4) => Ok(concat!($op, "_bf16_level4_rows4")),
            (DType::BF16, _) => Ok(concat!($op, "_bf16_level4_rows8")),
            (other, _) => Err(no_kernel(concat!($op, "_level4"), other)),
        }
    };
}

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

/// Warps of a block of `level4_decode.cu`.
const WARPS: usize = 4;

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
        let module = of_dtype(dtype, &TILES, &TILES_BF16);
        let entry = match self.op {
            Op::Linear => tile_entry!("linear", dtype, tile),
            Op::Gelu => tile_entry!("linear_gelu", dtype, tile),
            Op::SwiGlu => tile_entry!("linear_swiglu", dtype, tile),
        };
        let tile = tiles(entry, dtype)?[tile];
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
        let entry = match self.op {
            Op::Linear => decode_entry!("linear", dtype, m)?,
            Op::Gelu => decode_entry!("linear_gelu", dtype, m)?,
            Op::SwiGlu => decode_entry!("linear_swiglu", dtype, m)?,
        };
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
