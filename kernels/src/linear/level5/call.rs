//! A call of a level 5 function: its operands, checked, and the problem that the registry decides on.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use operands::Linear;

use super::{REGISTRY, Run};
use crate::dispatch::{Facts, Layout, Op, Picked, Problem, Why};
use crate::launch::is_chained;
use crate::linear::gemm::Epilogue;
use crate::linear::level4::Packed;
use crate::linear::{Shape, check, gate_rows, with_bias, without_bias};

/// A call of a level 5 function whose operands have been checked.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) epilogue: Epilogue,
    pub(super) x: &'a Tensor,
    pub(super) w: Arc<Packed>,
    pub(super) b: Option<&'a Tensor>,
    pub(super) residual: Option<&'a Tensor>,
    pub(super) shape: Shape,
    /// The problem that the registry decides on.
    pub problem: Problem,
}

impl<'a> Call<'a> {
    /// As [`linear`](super::linear).
    ///
    /// # Errors
    /// When shapes or dtypes do not agree.
    pub fn linear(x: &'a Tensor, w: &'a Linear) -> Result<Self> {
        let b = w.bias.as_ref();
        Self::new(Op::Linear, x, Packed::of(&w.weight)?, b, None)
    }

    /// As [`linear_residual`](super::linear_residual).
    ///
    /// # Errors
    /// When shapes or dtypes do not agree.
    pub fn residual(x: &'a Tensor, w: &'a Linear, residual: &'a Tensor) -> Result<Self> {
        let (b, op) = (w.bias.as_ref(), Op::LinearResidual);
        Self::new(op, x, Packed::of(&w.weight)?, b, Some(residual))
    }

    /// As [`linear_gelu`](super::linear_gelu).
    ///
    /// # Errors
    /// When there is no bias, or shapes or dtypes do not agree.
    pub fn gelu(x: &'a Tensor, w: &'a Linear) -> Result<Self> {
        let b = with_bias("linear_gelu_level5", w)?;
        Self::new(Op::LinearGelu, x, Packed::of(&w.weight)?, Some(b), None)
    }

    /// As [`linear_swiglu`](super::linear_swiglu).
    ///
    /// # Errors
    /// When there is a bias, or shapes or dtypes do not agree.
    pub fn swiglu(x: &'a Tensor, w: &'a Linear) -> Result<Self> {
        without_bias("linear_swiglu_level5", w)?;
        let packed = Packed::gate_up_of(&w.weight)?;
        Self::new(Op::LinearSwiglu, x, packed, None, None)
    }

    fn new(
        op: Op,
        x: &'a Tensor,
        w: Arc<Packed>,
        b: Option<&'a Tensor>,
        residual: Option<&'a Tensor>,
    ) -> Result<Self> {
        let (kernel, epilogue) = match op {
            Op::LinearResidual => ("linear_residual_level5", Epilogue::Bias),
            Op::LinearGelu => ("linear_gelu_level5", Epilogue::BiasGelu),
            Op::LinearSwiglu => ("linear_swiglu_level5", Epilogue::SwiGlu),
            _ => ("linear_level5", Epilogue::Bias),
        };
        let (rows, k) = w.dims;
        let n = match epilogue {
            Epilogue::SwiGlu => gate_rows(kernel, rows)?,
            _ => rows,
        };
        let shape = check(kernel, x, (n, k), w.dtype, b, residual)?;
        let problem = Problem {
            op,
            batch: 1,
            m: shape.m,
            n,
            k,
            dtype: w.dtype,
            layout: [Layout::Rows, Layout::Columns],
        };
        Ok(Self {
            epilogue,
            x,
            w,
            b,
            residual,
            shape,
            problem,
        })
    }

    /// Computes it by the entry that the registry picks, or in a chain by a fixed one; with that entry and the reason.
    ///
    /// # Errors
    /// When x and w are on different devices, or the driver does not answer.
    pub fn picked(&self) -> Result<(Tensor, Picked<'static, Run>)> {
        let facts = Facts::of(self.x.device())?;
        let picked = match in_chain(&self.problem, facts) {
            Some(picked) => picked,
            None => REGISTRY.pick(&self.problem, facts)?,
        };
        let _span = picked.span();
        Ok((self.run(picked.entry.run)?, picked))
    }
}

/// The kernel for one row in a chain, where launches overlap: the one that has all of a row of w in flight before it
/// waits. The table is measured on launches that wait for each other, where another kernel may be the fastest.
fn in_chain(p: &Problem, facts: &Facts) -> Option<Picked<'static, Run>> {
    const WHY: &str = "one row in a chain: its weights load while the kernel before still runs";
    let overlaps = is_chained() && facts.at_least((9, 0));
    if !overlaps {
        return None;
    }
    let mut entries = REGISTRY.entries.iter();
    let entry = entries.find(|e| e.run == Run::RowGemv && e.may_run(p, facts))?;
    let why = Why::Fixed(WHY);
    Some(Picked { entry, why })
}
