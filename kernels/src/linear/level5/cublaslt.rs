//! cuBLASLt, which adds the bias and the residual before it writes a product.

mod plan;

use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::CudaStream;
use candle_core::{DType, Device, Result, Tensor};

use crate::element::no_kernel;
use crate::error::mismatch;
use crate::launch::{self, aligned};
use crate::output;
use plan::{Addresses, Library};

/// x·wᵀ + b + residual: x (M, K), w (N, K), b (N) or none, M·N elements of a residual or none → (M, N), all
/// contiguous, f32 or bf16; sums in f32.
///
/// # Errors
/// When the library has no kernel for it.
pub fn product(
    x: &Tensor,
    w: &Tensor,
    b: Option<&Tensor>,
    residual: Option<&Tensor>,
) -> Result<Tensor> {
    for x in [Some(x), Some(w), b, residual].into_iter().flatten() {
        if !x.is_contiguous() || !x.device().same_device(w.device()) {
            let found = format!("strides {:?} on {:?}", x.stride(), x.device().location());
            return Err(mismatch("cublaslt", "contiguous tensors on one GPU", found));
        }
    }
    let Device::Cuda(device) = x.device() else {
        return Err(mismatch("cublaslt", "tensors on a GPU", "the CPU"));
    };
    let dtype = x.dtype();
    if !matches!(dtype, DType::F32 | DType::BF16) {
        return Err(no_kernel("cublaslt", dtype));
    }
    let (x, w) = (aligned(x)?, aligned(w)?);
    let [b, residual] = [b, residual].map(|x| x.map(aligned).transpose());
    let (b, residual) = (b?, residual?);
    let ((m, k), (n, _)) = (x.dims2()?, w.dims2()?);
    let y = output::tensor((m, n), dtype, x.device())?;
    let stream = device.cuda_stream();
    let optional = |x: &Option<Tensor>| x.as_ref().map(|x| address(x, &stream)).transpose();
    let at = Addresses {
        x: address(&x, &stream)?,
        w: address(&w, &stream)?,
        b: optional(&b)?,
        residual: optional(&residual)?,
        y: address(&y, &stream)?,
    };
    let bias = b.is_some();
    let shape = plan::Shape {
        m,
        n,
        k,
        dtype,
        bias,
    };
    // SAFETY: w, x and y are contiguous matrices of n·k, m·k and m·n elements of `dtype`, b has n and the residual m·n,
    // which `linear::check` compared. Each is 16-byte aligned. All live on this device until the product is queued, and
    // the allocator frees in the stream's order.
    Library::of(&stream, |library| unsafe { library.product(shape, &at) })?;
    Ok(y)
}

/// Of the first element. The one stream of the device keeps the order of those that read and write.
fn address(x: &Tensor, stream: &Arc<CudaStream>) -> Result<u64> {
    let (storage, _) = x.storage_and_layout();
    let (address, _read) = launch::address(x, &storage, stream)?;
    Ok(address)
}
