//! cuBLASLt, which adds the bias before it writes a product.

mod plan;

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDType;
use candle_core::cuda_backend::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceRepr};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, DType, Layout, Result, Shape, Storage, Tensor, WithDType,
};
use half::bf16;

use super::aligned;
use crate::element::no_kernel;
use crate::error::mismatch;
use plan::{Addresses, Library};

/// x·wᵀ + b: x (M, K), w (N, K), b (N) → (M, N), all contiguous, f32 or bf16; sums in f32.
///
/// # Errors
/// When the library has no kernel for it.
pub fn product(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    for x in [Some(x), Some(w), b].into_iter().flatten() {
        if !x.is_contiguous() || !x.device().same_device(w.device()) {
            let found = format!("strides {:?} on {:?}", x.stride(), x.device().location());
            return Err(mismatch("cublaslt", "contiguous tensors on one GPU", found));
        }
    }
    let b = b.map(aligned).transpose()?;
    aligned(x)?.apply_op2_no_bwd(&aligned(w)?, &Product { b: b.as_ref() })
}

/// Its two operands; b rides along.
struct Product<'a> {
    b: Option<&'a Tensor>,
}

impl CustomOp2 for Product<'_> {
    fn name(&self) -> &'static str {
        "cublaslt"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Err(mismatch("cublaslt", "tensors on a GPU", "the CPU"))
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        x_layout: &Layout,
        w: &CudaStorage,
        w_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        match x.dtype() {
            DType::F32 => typed::<f32>((x, x_layout), (w, w_layout), self.b),
            DType::BF16 => typed::<bf16>((x, x_layout), (w, w_layout), self.b),
            other => Err(no_kernel("cublaslt", other)),
        }
    }
}

/// A tensor's memory, and how it lies there.
type Lying<'a> = (&'a CudaStorage, &'a Layout);

fn typed<T: CudaDType + DeviceRepr + WithDType>(
    x: Lying,
    w: Lying,
    b: Option<&Tensor>,
) -> Result<(CudaStorage, Shape)> {
    let ((m, k), (n, _)) = (x.1.shape().dims2()?, w.1.shape().dims2()?);
    let device = x.0.device();
    let stream = device.cuda_stream();
    let b = b.map(Tensor::storage_and_layout);
    let b = b.as_ref().map(|(storage, layout)| match &**storage {
        Storage::Cuda(cuda) => address::<T>((cuda, layout), &stream),
        _ => Err(mismatch("cublaslt", "b on the GPU", "another device")),
    });
    // SAFETY: the product below writes all of it.
    let mut y = unsafe { device.alloc::<T>(m * n)? };
    let shape = plan::Shape {
        m,
        n,
        k,
        dtype: T::DTYPE,
        bias: b.is_some(),
    };
    let at = Addresses {
        x: address::<T>(x, &stream)?,
        w: address::<T>(w, &stream)?,
        b: b.transpose()?,
        y: y.device_ptr_mut(&stream).0,
    };
    // SAFETY: w, x and y are contiguous matrices of n·k, m·k and m·n elements of T, and b has n, which `product`
    // and `linear::check` compared, each on 16 bytes; all live on this device until the product is queued,
    // and the allocator frees in the stream's order.
    Library::of(&stream, |library| unsafe { library.product(shape, &at) })?;
    Ok((
        CudaStorage::wrap_cuda_slice(y, device.clone()),
        (m, n).into(),
    ))
}

/// Of the first element. The one stream of the device keeps the order of those that read and write.
fn address<T: CudaDType + WithDType>(
    (storage, layout): Lying,
    stream: &std::sync::Arc<CudaStream>,
) -> Result<u64> {
    let (start, _read) = storage.as_cuda_slice::<T>()?.device_ptr(stream);
    Ok(start + (layout.start_offset() * T::DTYPE.size_in_bytes()) as u64)
}
