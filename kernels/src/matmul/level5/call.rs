//! A call of level 5: its operands, checked, and the problem that the registry decides on.

use std::mem::MaybeUninit;

use candle_core::{Device, Result, Tensor};

use super::{REGISTRY, Run};
use crate::cpu::Slice;
use crate::dispatch::{Facts, Layout, Op, Picked, Problem};
use crate::error::mismatch;
use crate::matmul::View;
use crate::matmul::cpu::{self, Operand};
use crate::output;

/// A call of [`matmul`](super::matmul) whose operands have been checked.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) a: &'a Tensor,
    pub(super) b: &'a Tensor,
    pub(super) bias: Option<&'a Tensor>,
    pub(super) views: [View; 2],
    /// Dimensions of the batch.
    outer: &'a [usize],
    /// The problem that the registry decides on.
    pub problem: Problem,
}

impl<'a> Call<'a> {
    /// A·B + b: A (…, M, K), B (…, K, N), b (N) or none.
    ///
    /// # Errors
    /// When shapes, dtypes or devices do not agree, or the batch dimensions of a view do not lie at one
    /// distance from each other.
    #[inline(always)]
    pub fn new(a: &'a Tensor, b: &'a Tensor, bias: Option<&'a Tensor>) -> Result<Self> {
        let kernel = "matmul_level5";
        let views = [View::of(kernel, a)?, View::of(kernel, b)?];
        crate::element::same_dtype(kernel, &[a, b, bias.unwrap_or(a)])?;
        let ((m, k), (rows, n)) = (views[0].dims, views[1].dims);
        let (outer, other) = (&a.dims()[..a.rank() - 2], &b.dims()[..b.rank() - 2]);
        if k != rows || outer != other {
            let expected = format!("B {outer:?} of {k} rows for A {:?}", a.dims());
            return Err(mismatch(kernel, expected, format!("{:?}", b.dims())));
        }
        if let Some(bias) = bias.filter(|bias| bias.dims() != [n]) {
            return Err(mismatch(
                kernel,
                format!("b ({n})"),
                format!("{:?}", bias.dims()),
            ));
        }
        Ok(Self {
            a,
            b,
            bias,
            views,
            outer,
            problem: Problem {
                op: Op::Matmul,
                batch: views[0].len,
                m,
                n,
                k,
                dtype: a.dtype(),
                layout: [Layout::of(a), Layout::of(b)],
            },
        })
    }

    /// Which entry is for it, and why.
    ///
    /// # Errors
    /// When the driver does not answer, or no entry can.
    #[inline]
    pub fn pick(&self) -> Result<Picked<'static, Run>> {
        REGISTRY.pick(&self.problem, Facts::of(self.a.device())?)
    }

    /// Computes it: (…, M, N).
    ///
    /// # Errors
    /// When `run` cannot, or a view spans more elements than 32 bits count.
    pub fn run(&self, run: Run) -> Result<Tensor> {
        match run {
            Run::Candle => self.candle(),
            Run::Gemm(threads) => self.cpu(|a, b, bias, c| cpu::gemm(a, b, bias, c, threads)),
            Run::Cpu(threads) => self.cpu(|a, b, bias, c| cpu::matmul(a, b, bias, c, threads)),
            Run::Gemv(threads) => self.cpu(|a, b, bias, c| cpu::gemv(a, b, bias, c, threads)),
            Run::Scalar => self.cpu(cpu::scalar),
            Run::Tile(tile) => tile.launch(self),
        }
    }

    /// (…, M, N)
    pub(super) fn dims(&self) -> Vec<usize> {
        [self.outer, &[self.problem.m, self.problem.n]].concat()
    }

    fn candle(&self) -> Result<Tensor> {
        let c = self.a.matmul(self.b)?;
        match self.bias {
            Some(bias) => c.broadcast_add(bias),
            None => Ok(c),
        }
    }

    fn cpu(
        &self,
        product: impl FnOnce(Operand, Operand, Option<&[f32]>, &mut [MaybeUninit<f32>]),
    ) -> Result<Tensor> {
        let Problem { batch, m, n, .. } = self.problem;
        let [a, b] = [self.a, self.b].map(Slice::<f32>::strided);
        let (a, b) = (a?, b?);
        let bias = self.bias.map(Slice::<f32>::new).transpose()?;
        let mut c = output::uninit::<f32>(batch * m * n);
        let operand = |x, view| Operand { x, view };
        product(
            operand(&a, self.views[0]),
            operand(&b, self.views[1]),
            bias.as_deref(),
            &mut c,
        );
        // SAFETY: `product` is C = A·B + b, which writes all of C, zeros or b where K is 0.
        let c = unsafe { c.assume_init() }.into_vec();
        Tensor::from_vec(c, self.dims(), &Device::Cpu)
    }
}
