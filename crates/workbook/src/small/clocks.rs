//! Times one matmul by every clock of the device, as `workbook ops` does: candle's, level 5's including the
//! picking, and on a CPU gemm's on one thread.

use anyhow::Result;
use benches::ops::Timed;
use benches::timer::Timer;
use candle_core::{Device, Tensor};
use kernels::cpu::parallel::Threads;
use kernels::dispatch::Problem;
use kernels::dispatch::tune::PICKED;
use kernels::matmul::level5::{Call, Run, matmul};
use results::OpRow;

use super::{CANDLE, GEMM};
use crate::ops::timed_row;

type Product = fn(&Tensor, &Tensor) -> candle_core::Result<Tensor>;

/// The timed matmuls.
const PRODUCTS: [(&str, Product); 3] = [
    (CANDLE, |a, b| a.matmul(b)),
    (GEMM, |a, b| {
        Call::new(a, b, None)?.run(Run::Gemm(Threads::One))
    }),
    (PICKED, |a, b| matmul(a, b, None)),
];

/// Timers of matmuls on one device.
pub struct Clocks {
    timer: Timer,
    samples: usize,
}

impl Clocks {
    /// Timers with `samples` samples per clock.
    pub fn new(device: &Device, samples: usize) -> Result<Self> {
        Ok(Self {
            timer: Timer::new(device)?,
            samples,
        })
    }

    /// Returns a row for each of [`PRODUCTS`] that the device has, all on the same operands.
    pub fn rows(&self, problem: &Problem, [a, b]: [&Tensor; 2]) -> Result<Vec<OpRow>> {
        let has = |(level, _): &(&str, Product)| *level != GEMM || a.device().is_cpu();
        let products = PRODUCTS.into_iter().filter(has);
        let (levels, mut calls): (Vec<&str>, Vec<_>) = (products)
            .map(|(level, product)| (level, move || product(a, b)))
            .unzip();
        let mut timed: Vec<&mut dyn Timed> = vec![];
        for call in &mut calls {
            timed.push(call);
        }
        let times = self.timer.in_turns(&mut timed, self.samples)?;
        let mut rows = vec![];
        for ((level, times), call) in levels.into_iter().zip(times).zip(timed) {
            let graph = self.timer.in_graph(call, self.samples)?;
            rows.push(super::row(
                problem,
                level,
                timed_row(&times, graph.as_ref()),
            ));
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::DType;
    use kernels::dispatch::{Layout, Op};

    /// Without a GPU there is one clock.
    #[test]
    fn each_product_has_a_row() -> Result<()> {
        let problem = Problem {
            op: Op::Matmul,
            batch: 2,
            m: 3,
            n: 4,
            k: 5,
            dtype: DType::F32,
            layout: [Layout::Rows; 2],
        };
        let [a, b] = super::super::operands(&problem, &Device::Cpu)?;
        let rows = Clocks::new(&Device::Cpu, 2)?.rows(&problem, [&a, &b])?;
        let keys: Vec<String> = rows.iter().map(OpRow::key).collect();
        assert_eq!(
            keys,
            [
                "matmul.2x3x4x5.f32.candle",
                "matmul.2x3x4x5.f32.gemm_one_thread",
                "matmul.2x3x4x5.f32.level5"
            ]
        );
        for row in &rows {
            assert_eq!((row.flops, row.samples), (Some(240), Some(2)));
            assert_eq!((row.device_us, row.cuda_graph_us), (None, None));
            assert!(row.host_us > 0. && row.spread().0 <= row.host_us);
        }
        Ok(())
    }
}
