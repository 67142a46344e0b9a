//! A linear layer in place of candle-nn's.

use candle_core::{D, DType, Device, Module, Result, Tensor};
use kernels::linear::level5::{linear, linear_with_info};

use super::product;

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// The weight is packed as the kernels take it by the first call, and never where it tracks gradients: such a weight may
/// change.
#[derive(Debug)]
pub struct Linear(models::Linear);

impl Linear {
    /// From a weight (N, K) and a bias (N).
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self(models::Linear::new(weight, bias))
    }

    /// (N, K)
    pub fn weight(&self) -> &Tensor {
        self.0.weight.tensor()
    }

    /// (N)
    pub fn bias(&self) -> Option<&Tensor> {
        self.0.bias.as_ref()
    }

    /// The result of [`forward`](Module::forward), which kernel computed it, and why.
    ///
    /// # Errors
    /// When the shapes, dtypes or devices of x and w do not agree.
    pub fn forward_with_info(&self, x: &Tensor) -> Result<(Tensor, String)> {
        if !self.is_eligible(x) {
            return Ok((self.candle(x)?, "candle: not eligible".into()));
        }
        let (y, picked) = linear_with_info(&x.contiguous()?, &self.0)?;
        Ok((y, picked.to_string()))
    }

    /// Whether the kernels take these tensors and no gradient is needed.
    fn is_eligible(&self, x: &Tensor) -> bool {
        let tensors = [Some(x), Some(self.weight()), self.bias()];
        let ours = |t: &Tensor| {
            let here = matches!(t.device(), Device::Cpu | Device::Cuda(_));
            let format = matches!(t.dtype(), DType::F32 | DType::BF16) && t.dtype() == x.dtype();
            here && format && !t.track_op() && t.device().same_device(x.device())
        };
        tensors.into_iter().flatten().all(ours) && x.rank() > 0 && self.weight().rank() == 2
    }

    /// With candle's operations around the product, so that gradients flow.
    fn candle(&self, x: &Tensor) -> Result<Tensor> {
        let w = self.weight().t()?;
        let y = match x.rank() {
            2 => product(x, &w)?,
            rank if rank > 2 => {
                let (k, n) = (x.dim(D::Minus1)?, w.dim(1)?);
                let rows = product(&x.reshape(((), k))?, &w)?;
                rows.reshape([&x.dims()[..rank - 1], &[n]].concat())?
            }
            _ => x.matmul(&w)?,
        };
        match self.bias() {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

impl Module for Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if self.is_eligible(x) {
            linear(&x.contiguous()?, &self.0)
        } else {
            self.candle(x)
        }
    }
}
