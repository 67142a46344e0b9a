//! Level 4: register tiles, tensor cores for bf16, and a few rows of w a warp where x has few rows.

use candle_core::{DType, Result, Tensor};

pub(crate) use super::cpu::level4::Panels;
use super::tile::{choose, tile_entry, tiles};
use super::{Shape, cpu};
use crate::element::{dispatch, no_kernel};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};

static TILES: Module = module!("linear_level4", "level4.ptx");
static TILES_BF16: Module = module!("linear_level4_sm80", "level4_sm80.ptx");
static DECODE: Module = module!("linear_level4_decode", "level4_decode.ptx");

/// A weight (N, K) as this level multiplies by it: on a GPU the tensor itself, on a CPU its panels.
#[derive(Debug)]
pub struct Packed {
    pub(crate) form: Form,
    /// (N, K); (2F, K) with a gate.
    pub(crate) dims: (usize, usize),
    pub(crate) dtype: DType,
}

#[derive(Debug)]
pub(crate) enum Form {
    /// On a GPU.
    Tensor(Tensor),
    /// On a CPU.
    Panels(Panels),
}

impl Packed {
    /// w (N, K), for [`linear`] and [`linear_gelu`].
    ///
    /// # Errors
    /// When w is not a matrix of f32 or bf16.
    pub fn new(w: &Tensor) -> Result<Self> {
        Self::with(w, Panels::new)
    }

    /// w (2F, K), the gate's rows above the up-projection's, for [`linear_swiglu`].
    ///
    /// # Errors
    /// When w is not a matrix of f32 or bf16 with an even number of rows.
    pub fn gate_up(w: &Tensor) -> Result<Self> {
        super::half("linear_swiglu_level4", w.dim(0)?)?;
        Self::with(w, Panels::gate_up)
    }

    fn with(w: &Tensor, panels: fn(&Tensor) -> Result<Panels>) -> Result<Self> {
        let dims = w.dims2()?;
        let form = match on_cpu(w.device()) {
            true => Form::Panels(panels(w)?),
            false => Form::Tensor(w.contiguous()?),
        };
        Ok(Self {
            form,
            dims,
            dtype: w.dtype(),
        })
    }
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear(x: &Tensor, w: &Packed, b: Option<&Tensor>) -> Result<Tensor> {
    let shape = super::check("linear_level4", x, w.dims, w.dtype, b)?;
    match &w.form {
        Form::Panels(w) => dispatch!(
            "linear_level4",
            x.dtype(),
            cpu::level4::linear(x, w, b, None)
        ),
        Form::Tensor(w) => Product {
            op: Op::Linear,
            x,
            w,
            b,
            shape,
        }
        .run(),
    }
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Packed, b: &Tensor) -> Result<Tensor> {
    let shape = super::check("linear_gelu_level4", x, w.dims, w.dtype, Some(b))?;
    match &w.form {
        Form::Panels(w) => {
            dispatch!(
                "linear_gelu_level4",
                x.dtype(),
                cpu::level4::linear_gelu(x, w, b, None)
            )
        }
        Form::Tensor(w) => Product {
            op: Op::Gelu,
            x,
            w,
            b: Some(b),
            shape,
        }
        .run(),
    }
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w from [`Packed::gate_up`] of (2F, K) → (…, F)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Packed) -> Result<Tensor> {
    let (rows, k) = w.dims;
    let f = super::half("linear_swiglu_level4", rows)?;
    let shape = super::check("linear_swiglu_level4", x, (f, k), w.dtype, None)?;
    match &w.form {
        Form::Panels(w) => {
            dispatch!(
                "linear_swiglu_level4",
                x.dtype(),
                cpu::level4::linear_swiglu(x, w, None)
            )
        }
        Form::Tensor(w) => Product {
            op: Op::SwiGlu,
            x,
            w,
            b: None,
            shape,
        }
        .run(),
    }
}

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
pub(super) enum Op {
    Linear,
    Gelu,
    SwiGlu,
}

/// A product on a GPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product<'a> {
    pub(super) op: Op,
    pub(super) x: &'a Tensor,
    pub(super) w: &'a Tensor,
    pub(super) b: Option<&'a Tensor>,
    pub(super) shape: Shape,
}

/// Rows of x up to which w is read once for all of them, by [`Product::decode`].
pub(super) const FEW_ROWS: usize = 8;

/// Warps of a block of `level4_decode.cu`.
const WARPS: usize = 4;

impl Product<'_> {
    pub(super) fn run(self) -> Result<Tensor> {
        if self.shape.m <= FEW_ROWS {
            return self.decode();
        }
        let tiles = tiles("linear_level4", self.x.dtype())?;
        self.tile(choose(tiles, self.shape.m, self.sums()))
    }

    /// By the tile at this place of [`tiles`].
    pub(super) fn tile(self, tile: usize) -> Result<Tensor> {
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
    pub(super) fn decode(self) -> Result<Tensor> {
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
    pub(super) fn sums(&self) -> usize {
        match self.op {
            Op::SwiGlu => 2 * self.shape.n,
            _ => self.shape.n,
        }
    }

    pub(super) fn launch<'a>(&'a self, launch: Launch<'a>) -> Result<Tensor> {
        let Shape { m, n, k } = self.shape;
        let y = super::output_like(self.x, n)?;
        launch
            .read(self.x)
            .read(self.w)
            .read_or_null(self.b)
            .write(&y)
            .u32(m)
            .u32(n)
            .u32(k)
            .run()?;
        Ok(y)
    }
}
