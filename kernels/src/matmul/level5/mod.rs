//! Level 5: small tiles on a GPU, and on a CPU loops that read the operands through their strides.
//!
//! [`Call`] checks the operands and runs one of the implementations, `registry.rs` lists them, and `tile.rs` launches
//! `tile.cu`.

mod call;
mod registry;
mod tile;

use candle_core::{Result, Tensor};

use crate::cpu::parallel::Threads;
use crate::dispatch::Picked;

pub use call::Call;
pub use registry::REGISTRY;
pub use tile::BlockTile;
pub(crate) use tile::{TILES, can};

/// An implementation of A·B + b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// candle's own matmul: cuBLAS on a GPU, gemm on a CPU.
    Candle,
    /// gemm on a CPU, by so many threads, which do not wait for each other.
    Gemm(Threads),
    /// Loops that read the operands through their strides, on a CPU, by so many threads.
    Cpu(Threads),
    /// The same for a few rows or one column.
    Gemv(Threads),
    /// Element by element, on a CPU.
    Scalar,
    /// A kernel of `tile.cu`.
    Tile(BlockTile),
}

/// A·B + b: A (…, M, K), B (…, K, N), b (N) or none → (…, M, N), by the entry that the registry picks.
///
/// # Errors
/// Those of [`Call::new`], and when the driver does not answer.
pub fn matmul(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let call = Call::new(a, b, bias)?;
    let picked = call.pick()?;
    let _span = picked.span();
    call.run(picked.entry.run)
}

/// The same, with the entry that ran and why.
///
/// # Errors
/// Those of [`Call::new`], and when the driver does not answer.
pub fn matmul_with_info(
    a: &Tensor,
    b: &Tensor,
    bias: Option<&Tensor>,
) -> Result<(Tensor, Picked<'static, Run>)> {
    let call = Call::new(a, b, bias)?;
    let picked = call.pick()?;
    let _span = picked.span();
    Ok((call.run(picked.entry.run)?, picked))
}
