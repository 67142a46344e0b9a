//! The dispatch for code outside of this workbook: matmuls of candle's tensors, a linear layer and attention.
//!
//! ```
//! use candle_core::{DType, Device, Module, Tensor};
//! use level5::tuned::{Linear, Tuned};
//!
//! # fn main() -> candle_core::Result<()> {
//! let (a, b) = (Tensor::ones((2, 3), DType::F32, &Device::Cpu)?, Tensor::ones((3, 4), DType::F32, &Device::Cpu)?);
//! let c = a.mm_tuned(&b)?; // (2, 4)
//! let bias = Tensor::zeros(2, DType::F32, &Device::Cpu)?;
//! let y = Linear::new(a, Some(bias)).forward(&b.t()?)?; // (4, 2)
//! assert_eq!((c.dims(), y.dims()), (&[2, 4][..], &[4, 2][..]));
//! # Ok(())
//! # }
//! ```
//!
//! The matmuls and the layer give what candle's own give, gradients included. Where the registry has no kernel, for other
//! dtypes, ranks and devices, they call candle's. [`attention`] has neither gradients nor such a fallback: what it cannot
//! compute is an error. All functions return candle's [`Result`], so that `?` passes on their errors.
//! `tests/tests/across/tuned.rs` tests them, on a GPU too.
//!
//! # Tables
//!
//! Which kernel runs comes from tables: the one that `tune` wrote on this machine, then those of this crate.
//! [`use_table`] names another, or none, before the first call on a device. Nothing here writes to stderr;
//! [`kernels::dispatch::remarks`] says which file was passed over, and whether a table is of this device.
//!
//! # Streams
//!
//! On a GPU every call launches on the stream of the tensors' device, as candle's own operations do, and returns before the
//! kernels have run. So calls and candle's operations of one host thread on one `Device` run in the order of the source, and
//! nothing waits but what reads a result on the host. Tensors of two `Device`s, even of one GPU, have two streams: they
//! cannot be mixed in one call, and a caller that hands memory from one to the other has to synchronize. A `Device::new_cuda`
//! has one for each host thread, and `Device::new_cuda_with_stream` one for all. A stream that records
//! a CUDA graph records these calls like any others, once they have run with the same shapes.
//!
//! # In a project of your own
//!
//! `examples/in_candle.rs` is a whole program. With this `Cargo.toml` it builds outside of this repository:
//!
//! ```toml
#![doc = include_str!("../examples/outside.toml")]
//! ```

mod attention;
mod linear;

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, DType, Device, Layout, Result, Shape, Storage, Tensor,
};
use kernels::matmul::level5::{Call, matmul_with_info};

pub use attention::attention;
pub use kernels::dispatch::{Table, use_table};
pub use linear::Linear;

/// Matmuls by the kernel that is the fastest for their shape.
pub trait Tuned {
    /// A·B: A (M, K), B (K, N) → (M, N)
    ///
    /// # Errors
    /// Those of candle's `matmul`.
    fn mm_tuned(&self, b: &Tensor) -> Result<Tensor>;

    /// A·B, matrix by matrix: A (batch, M, K), B (batch, K, N) → (batch, M, N)
    ///
    /// # Errors
    /// Those of candle's `matmul`.
    fn bmm_tuned(&self, b: &Tensor) -> Result<Tensor>;

    /// Names the kernel that [`mm_tuned`](Tuned::mm_tuned) or [`bmm_tuned`](Tuned::bmm_tuned) runs, and the reason.
    ///
    /// # Errors
    /// When the driver does not answer.
    fn product_info(&self, b: &Tensor) -> Result<String>;
}

impl Tuned for Tensor {
    fn mm_tuned(&self, b: &Tensor) -> Result<Tensor> {
        match self.rank() {
            2 => product(self, b),
            _ => self.matmul(b),
        }
    }

    fn bmm_tuned(&self, b: &Tensor) -> Result<Tensor> {
        match self.rank() {
            3 => product(self, b),
            _ => self.matmul(b),
        }
    }

    fn product_info(&self, b: &Tensor) -> Result<String> {
        match eligible(self, b) {
            Some(call) => Ok(call.pick()?.to_string()),
            None => Ok("candle: not eligible".into()),
        }
    }
}

/// The question for the registry; none where only candle can compute the product, or refuse it.
fn eligible<'a>(a: &'a Tensor, b: &'a Tensor) -> Option<Call<'a>> {
    let here = matches!(a.device(), Device::Cpu | Device::Cuda(_));
    let rank = matches!(a.rank(), 2 | 3);
    if !rank || a.dtype() != DType::F32 || !here || !a.device().same_device(b.device()) {
        return None;
    }
    Call::new(a, b, None).ok()
}

fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if eligible(a, b).is_none() {
        return a.matmul(b);
    }
    if !a.track_op() && !b.track_op() {
        return Ok(matmul_with_info(a, b, None)?.0);
    }
    let (c, _) = matmul_with_info(&a.detach(), &b.detach(), None)?;
    a.apply_op2(b, Product { c })
}

/// A matmul for the chain rule. It has been computed already. candle asks an operation for memory of its own, so
/// with gradients the result is copied once.
struct Product {
    c: Tensor,
}

impl CustomOp2 for Product {
    fn name(&self) -> &'static str {
        "matmul_tuned"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        match &*self.c.storage_and_layout().0 {
            Storage::Cpu(c) => Ok((c.clone(), self.c.shape().clone())),
            _ => candle_core::bail!("matmul_tuned: expected a result on the CPU"),
        }
    }

    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let (storage, layout) = self.c.storage_and_layout();
        match &*storage {
            Storage::Cuda(c) => Ok((c.try_clone(layout)?, self.c.shape().clone())),
            _ => candle_core::bail!("matmul_tuned: expected a result on the GPU"),
        }
    }

    /// ∂A = ∂C·Bᵀ, ∂B = Aᵀ·∂C
    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (a, b) = (a.detach().t()?, b.detach().t()?);
        Ok((Some(product(grad, &b)?), Some(product(&a, grad)?)))
    }
}
