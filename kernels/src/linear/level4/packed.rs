//! The form of a weight that level 4 multiplies by.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};
use operands::Weight;

use crate::launch::on_cpu;
use crate::linear::cpu::level4::Panels;

/// The form of a weight (N, K) that level 4 multiplies by.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) form: Form,
    /// (N, K); (2F, K) with a gate.
    pub(crate) dims: (usize, usize),
    pub(crate) dtype: DType,
}

#[derive(Debug)]
pub(crate) enum Form {
    /// Row-major, as the weight is, for the launches.
    Gpu(Tensor),
    /// In panels, for the CPU's loops.
    Cpu(Panels),
}

impl Packed {
    /// w (N, K), for all epilogues without a gate.
    ///
    /// # Errors
    /// When w is not a matrix; on a CPU also when it is neither f32 nor bf16.
    pub(crate) fn new(w: &Tensor) -> Result<Self> {
        Self::with(w, Panels::new)
    }

    /// w (2F, K), the gate's rows above the up-projection's.
    ///
    /// # Errors
    /// When w is not a matrix with an even number of rows; on a CPU also when it is neither f32 nor bf16.
    fn gate_up(w: &Tensor) -> Result<Self> {
        crate::linear::gate_rows("linear_swiglu_level4", w.dim(0)?)?;
        Self::with(w, Panels::gate_up)
    }

    /// The packed form of a weight (N, K). The first call makes it, and the weight stores it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn of(w: &Weight) -> Result<Arc<Self>> {
        w.packed(Self::new)
    }

    /// The packed form of a weight (2F, K) with a gate. The first call makes it, and the weight stores it.
    ///
    /// # Errors
    /// As [`gate_up`](Self::gate_up).
    pub(crate) fn gate_up_of(w: &Weight) -> Result<Arc<Self>> {
        let packed = w.packed(|w| Ok(GateUp(Arc::new(Self::gate_up(w)?))))?;
        Ok(packed.0.clone())
    }

    fn with(w: &Tensor, panels: fn(&Tensor) -> Result<Panels>) -> Result<Self> {
        let dims = w.dims2()?;
        let form = if on_cpu(w.device()) {
            Form::Cpu(panels(w)?)
        } else {
            Form::Gpu(w.contiguous()?)
        };
        Ok(Self {
            form,
            dims,
            dtype: w.dtype(),
        })
    }
}

/// The form with a gate. A weight keeps one form per Rust type, so this type lets it keep both orders of rows.
struct GateUp(Arc<Packed>);
