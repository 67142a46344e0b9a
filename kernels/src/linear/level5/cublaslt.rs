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
    let bias = b.is_some();
    let shape = plan::Shape {
        m,
        n,
        k,
        dtype,
        bias,
    };
    queue(&device.cuda_stream(), shape, [&x, &w, &y], [&b, &residual])?;
    Ok(y)
}

/// Queues the product of operands that [`product`] has checked. Their storages stay locked, and the stream knows of
/// their use, until the library's call has returned.
fn queue(
    stream: &Arc<CudaStream>,
    shape: plan::Shape,
    [x, w, y]: [&Tensor; 3],
    [b, residual]: [&Option<Tensor>; 2],
) -> Result<()> {
    let [x_storage, w_storage, y_storage] = [x, w, y].map(|x| x.storage_and_layout().0);
    let (x, _reads_x) = launch::address(x, &x_storage, stream)?;
    let (w, _reads_w) = launch::address(w, &w_storage, stream)?;
    let (y, _writes_y) = launch::address(y, &y_storage, stream)?;
    let [b_storage, residual_storage] =
        [b, residual].map(|x| x.as_ref().map(|x| (x, x.storage_and_layout().0)));
    let b = b_storage
        .as_ref()
        .map(|(x, storage)| launch::address(x, storage, stream));
    let residual = residual_storage
        .as_ref()
        .map(|(x, storage)| launch::address(x, storage, stream));
    let (b, residual) = (b.transpose()?, residual.transpose()?);
    let at = Addresses {
        x,
        w,
        b: b.as_ref().map(|(address, _)| *address),
        residual: residual.as_ref().map(|(address, _)| *address),
        y,
    };
    // SAFETY: w, x and y are contiguous matrices of n·k, m·k and m·n elements of `dtype`, b has n and the residual m·n,
    // which `linear::check` compared. Each is 16-byte aligned. All live on this device until the product is queued, and
    // the allocator frees in the stream's order.
    Library::of(stream, |library| unsafe { library.product(shape, &at) })
}
