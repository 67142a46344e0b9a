//! cuBLASLt, which adds the bias before it writes a product.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDType;
use candle_core::cuda_backend::cudarc::cublaslt::{
    CudaBlasLT, Matmul, MatmulConfig, MatmulShared, Workspace, sys,
};
use candle_core::cuda_backend::cudarc::driver::{CudaStream, CudaView, DeviceRepr};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, DType, Error, Layout, Result, Shape, Storage, Tensor,
};
use half::bf16;

use crate::element::no_kernel;
use crate::error::mismatch;

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
    x.apply_op2_no_bwd(w, &Product { b })
}

/// The library, and f32 in f32: cudarc's own product of f32 is in TF32, which has 10 bits of 23.
struct Exact(CudaBlasLT);

impl MatmulShared for Exact {
    fn handle(&self) -> &sys::cublasLtHandle_t {
        self.0.handle()
    }

    fn workspace(&self) -> &Workspace {
        self.0.workspace()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.0.stream()
    }
}

impl Matmul<f32> for Exact {
    fn matrix_type() -> sys::cudaDataType {
        sys::cudaDataType_t::CUDA_R_32F
    }

    fn compute_type() -> sys::cublasComputeType_t {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    }
}

impl Matmul<bf16> for Exact {
    fn matrix_type() -> sys::cudaDataType {
        sys::cudaDataType_t::CUDA_R_16BF
    }

    fn compute_type() -> sys::cublasComputeType_t {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    }
}

/// One for each stream, with a workspace of its own, made at first use.
fn library(stream: &Arc<CudaStream>) -> Result<Arc<Exact>> {
    static MADE: LazyLock<Mutex<HashMap<usize, Arc<Exact>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(|e| e.into_inner());
    // A stream is kept alive by the library that was made for it, so its address stays its own.
    let key = Arc::as_ptr(stream).addr();
    if let Some(library) = made.get(&key) {
        return Ok(library.clone());
    }
    let library = Arc::new(Exact(CudaBlasLT::new(stream.clone()).map_err(Error::wrap)?));
    made.insert(key, library.clone());
    Ok(library)
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

fn typed<T: CudaDType + DeviceRepr>(
    x: Lying,
    w: Lying,
    b: Option<&Tensor>,
) -> Result<(CudaStorage, Shape)>
where
    Exact: Matmul<T>,
{
    let ((m, k), (n, _)) = (x.1.shape().dims2()?, w.1.shape().dims2()?);
    let device = x.0.device();
    let library = library(&device.cuda_stream())?;
    let b = b.map(Tensor::storage_and_layout);
    let b = b.as_ref().map(|(storage, layout)| match &**storage {
        Storage::Cuda(cuda) => view::<T>((cuda, layout)),
        _ => Err(mismatch("cublaslt", "b on the GPU", "another device")),
    });
    let (x, w, b) = (view::<T>(x)?, view::<T>(w)?, b.transpose()?);
    // SAFETY: the product below writes all of it.
    let mut y = unsafe { device.alloc::<T>(m * n)? };
    // The library's matrices are column-major: yᵀ (N, M) = w (N, K) · xᵀ (K, M), where w as it lies is its own
    // transpose.
    let config = MatmulConfig {
        transa: true,
        transb: false,
        transc: false,
        m: n as u64,
        n: m as u64,
        k: k as u64,
        alpha: 1.,
        lda: k as i64,
        ldb: k as i64,
        beta: 0.,
        ldc: n as i64,
        stride_a: None,
        stride_b: None,
        stride_c: None,
        stride_bias: None,
        batch_size: None,
    };
    // SAFETY: w, x and y are contiguous matrices of n·k, m·k and m·n elements of T, and b has n, which `product`
    // and `linear::check` compared; all live on this device until the product is queued, and the allocator frees
    // in the stream's order.
    unsafe { library.matmul(config, &w, &x, &mut y, b.as_ref(), None) }.map_err(Error::wrap)?;
    Ok((
        CudaStorage::wrap_cuda_slice(y, device.clone()),
        (m, n).into(),
    ))
}

/// From the first element on.
fn view<'a, T: CudaDType + DeviceRepr>((storage, layout): Lying<'a>) -> Result<CudaView<'a, T>> {
    Ok(storage.as_cuda_slice::<T>()?.slice(layout.start_offset()..))
}
