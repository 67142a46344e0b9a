//! Descriptions of a product for cuBLASLt, and the kernel that its heuristic picks.
//!
//! The heuristic runs once for each shape, because it takes some ten microseconds of the host, as long as several
//! launches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use candle_core::cuda_backend::cudarc::cublaslt::{result, result::CublasError, sys};
use candle_core::cuda_backend::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use candle_core::{DType, Error, Result};

use crate::element::no_kernel;

/// The result of a call of the library.
type Status<T> = std::result::Result<T, CublasError>;

/// Alignment of every operand, in bytes.
pub const ALIGNMENT: u32 = 16;

/// Bytes that the library may use in addition to the operands: NVIDIA recommends so many for Hopper.
const WORKSPACE: usize = 32 << 20;

/// y (M, N) = x (M, K) · wᵀ, w (N, K), and a bias (N) if there is one; all contiguous. A residual (M, N) lies as y does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub dtype: DType,
    pub bias: bool,
}

/// Where the operands are on the device.
pub struct Addresses {
    pub x: u64,
    pub w: u64,
    pub b: Option<u64>,
    pub residual: Option<u64>,
    pub y: u64,
}

/// A matrix of the library's, which is column-major.
struct Matrix(sys::cublasLtMatrixLayout_t);

impl Matrix {
    fn new(dtype: sys::cudaDataType, rows: usize, columns: usize) -> Status<Self> {
        let (rows, columns) = (rows as u64, columns as u64);
        result::create_matrix_layout(dtype, rows, columns, rows as i64).map(Self)
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed here alone. What is lost with an error is some bytes.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

/// A product of the library's.
struct Product(sys::cublasLtMatmulDesc_t);

impl Product {
    fn new() -> Status<Self> {
        use sys::{cublasComputeType_t::CUBLAS_COMPUTE_32F, cudaDataType_t::CUDA_R_32F};
        result::create_matmul_desc(CUBLAS_COMPUTE_32F, CUDA_R_32F).map(Self)
    }

    /// # Safety
    /// `value` is of the type that the library expects of `attribute`.
    unsafe fn set<T>(
        &self,
        attribute: sys::cublasLtMatmulDescAttributes_t,
        value: &T,
    ) -> Status<()> {
        let value = ptr::from_ref(value).cast();
        // SAFETY: the descriptor lives as long as `self`; `value` is size_of::<T>() bytes, which are copied.
        unsafe { result::set_matmul_desc_attribute(self.0, attribute, value, size_of::<T>()) }
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // SAFETY: as that of a matrix.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

/// Limits on the kernels that the heuristic may choose.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    fn new() -> Status<Self> {
        use sys::cublasLtMatmulPreferenceAttributes_t::*;
        let preference = Self(result::create_matmul_pref()?);
        let set = |attribute, value: *const _, size| {
            // SAFETY: the preference lives; each value below is of the size that is given, and is copied.
            unsafe { result::set_matmul_pref_attribute(preference.0, attribute, value, size) }
        };
        let bytes = ptr::from_ref(&WORKSPACE).cast();
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes, 8)?;
        for operand in [
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ] {
            set(operand, ptr::from_ref(&ALIGNMENT).cast(), 4)?;
        }
        Ok(preference)
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: as that of a matrix.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

/// The product of one shape, and the kernel for it.
struct Plan {
    product: Product,
    x: Matrix,
    w: Matrix,
    y: Matrix,
    kernel: sys::cublasLtMatmulAlgo_t,
}

impl Plan {
    /// f32 is multiplied in f32, not in TF32, which has 10 bits of 23.
    ///
    /// The library's matrices are column-major: yᵀ (N, M) = w (N, K) · xᵀ (K, M), where w as it lies is its own
    /// transpose, (K, N).
    fn new(handle: sys::cublasLtHandle_t, shape: Shape) -> Result<Self> {
        use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_32F};
        let dtype = match shape.dtype {
            DType::F32 => CUDA_R_32F,
            DType::BF16 => CUDA_R_16BF,
            other => return Err(no_kernel("cublaslt", other)),
        };
        Self::asked(handle, shape, dtype).map_err(Error::wrap)
    }

    fn asked(
        handle: sys::cublasLtHandle_t,
        shape: Shape,
        dtype: sys::cudaDataType,
    ) -> Status<Self> {
        use sys::cublasLtEpilogue_t::{CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_DEFAULT};
        use sys::cublasLtMatmulDescAttributes_t::*;
        let Shape { m, n, k, bias, .. } = shape;
        let (x, w) = (Matrix::new(dtype, k, m)?, Matrix::new(dtype, k, n)?);
        let (y, product) = (Matrix::new(dtype, n, m)?, Product::new()?);
        let epilogue = if bias {
            CUBLASLT_EPILOGUE_BIAS
        } else {
            CUBLASLT_EPILOGUE_DEFAULT
        };
        // SAFETY: the library takes an i32 for the one, 1 for transposed, and its own enumeration for the other.
        unsafe {
            product.set(CUBLASLT_MATMUL_DESC_TRANSA, &1i32)?;
            product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
        }
        let preference = Preference::new()?;
        // SAFETY: all of it lives until the end of this function.
        let found = unsafe {
            result::get_matmul_algo_heuristic(handle, product.0, w.0, x.0, y.0, y.0, preference.0)?
        };
        Ok(Self {
            product,
            x,
            w,
            y,
            kernel: found.algo,
        })
    }
}

/// The library on one stream, and what it was asked there.
pub struct Library {
    handle: sys::cublasLtHandle_t,
    workspace: CudaSlice<u8>,
    stream: Arc<CudaStream>,
    plans: HashMap<Shape, Plan>,
}

// SAFETY: the library's handle and descriptors belong to no thread; `of` lends them to one at a time.
unsafe impl Send for Library {}

impl Library {
    /// Calls `f` with the library of `stream`, which is made at first use and kept. No other thread uses it meanwhile.
    pub fn of<T>(stream: &Arc<CudaStream>, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        static MADE: LazyLock<Mutex<HashMap<usize, Library>>> = LazyLock::new(Mutex::default);
        let mut made: MutexGuard<_> = MADE.lock().unwrap_or_else(|e| e.into_inner());
        // A stream is kept alive by the library that was made for it, so its address stays its own.
        match made.entry(Arc::as_ptr(stream).addr()) {
            Entry::Occupied(library) => f(library.into_mut()),
            Entry::Vacant(entry) => f(entry.insert(Self::new(stream)?)),
        }
    }

    fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        stream.context().bind_to_thread().map_err(Error::wrap)?;
        Ok(Self {
            handle: result::create_handle().map_err(Error::wrap)?,
            // SAFETY: the library writes there before it reads.
            workspace: unsafe { stream.alloc(WORKSPACE) }.map_err(Error::wrap)?,
            stream: stream.clone(),
            plans: HashMap::new(),
        })
    }

    /// Queues the product.
    ///
    /// # Errors
    /// When the library has no kernel for the shape.
    ///
    /// # Safety
    /// Each address is that of a contiguous tensor of the shape's size and dtype on this stream's device, aligned to
    /// [`ALIGNMENT`] bytes, and stays valid until the stream has come to the product.
    pub unsafe fn product(&mut self, shape: Shape, at: &Addresses) -> Result<()> {
        let plan = match self.plans.entry(shape) {
            Entry::Occupied(plan) => plan.into_mut(),
            Entry::Vacant(entry) => entry.insert(Plan::new(self.handle, shape)?),
        };
        // D = epilogue(x·wᵀ + beta·C): the residual is C, which without one is not read.
        let (one, beta) = (1f32, if at.residual.is_some() { 1f32 } else { 0. });
        let c = at.residual.unwrap_or(at.y);
        let (workspace, _used) = self.workspace.device_ptr(&self.stream);
        let stream = self.stream.cu_stream().cast();
        // SAFETY: the plan's matrices are those of `shape`, which the caller's addresses are, and its kernel is for
        // operands aligned to `ALIGNMENT` bytes; the scalars are read before the call returns.
        unsafe {
            if let Some(b) = at.b {
                use sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER;
                let set = plan.product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &b);
                set.map_err(Error::wrap)?;
            }
            result::matmul(
                self.handle,
                plan.product.0,
                ptr::from_ref(&one).cast(),
                ptr::from_ref(&beta).cast(),
                at.w as *const _,
                plan.w.0,
                at.x as *const _,
                plan.x.0,
                c as *const _,
                plan.y.0,
                at.y as *mut _,
                plan.y.0,
                &raw const plan.kernel,
                workspace as *mut _,
                WORKSPACE,
                stream,
            )
        }
        .map_err(Error::wrap)
    }
}
