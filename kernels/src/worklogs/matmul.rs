//! C = A·B in nine steps: C_ij = Σ_k A_ik·B_kj. A (M, K), B (K, N) and C (M, N) are row-major and f32.
//!
//! Tolerance: 1e-5 of Σ_k |A_ik·B_kj| for steps 1 to 8. Step 9 rounds A and B to TF32, which has 10 bits
//! of mantissa: 2^-10 of it.
//!
//! The steps follow "How to optimize a CUDA matmul kernel for cuBLAS-like performance: a worklog", Simon
//! Boehm 2022.

use candle_core::{DType, Device, Result, Tensor};

use super::Counts;
use super::counts::count;
use crate::calls::List;
use crate::error::mismatch;
use crate::launch::{Launch, Module, is_aligned, module};
use crate::output;

/// A step: a kernel with one idea more than the one before.
#[derive(Debug)]
pub struct Step {
    /// From 1.
    pub number: usize,
    /// The idea.
    pub idea: &'static str,
    module: Module,
    entry: &'static str,
    cut: Cut,
}

/// How C is cut into blocks, and the operands that this allows.
#[derive(Debug)]
struct Cut {
    /// Rows and columns of C that a block computes.
    tile: usize,
    /// Threads of a block along x and y.
    block: [usize; 2],
    /// A step runs only if K and N are multiples of this.
    multiple: usize,
}

/// One element per thread.
const ELEMENTS: Cut = Cut {
    tile: 32,
    block: [32, 32],
    multiple: 1,
};
/// 8 elements of a column per thread.
const COLUMNS: Cut = Cut {
    tile: 64,
    block: [512, 1],
    multiple: 1,
};
/// 8×8 elements per thread.
const SQUARES: Cut = Cut {
    tile: 128,
    block: [256, 1],
    multiple: 1,
};
/// The same, read 16 bytes at a time.
const VECTORS: Cut = Cut {
    multiple: 4,
    ..SQUARES
};

const fn step(
    number: usize,
    idea: &'static str,
    module: Module,
    entry: &'static str,
    cut: Cut,
) -> Step {
    Step {
        number,
        idea,
        module,
        entry,
        cut,
    }
}

/// All steps.
#[rustfmt::skip] // one line each
pub static STEPS: [Step; 9] = [
    step(1, "one thread per element", module!("worklogs/matmul/step1", sm_75), "matmul_step1", ELEMENTS),
    step(2, "coalesced loads", module!("worklogs/matmul/step2", sm_75), "matmul_step2", ELEMENTS),
    step(3, "tiles in shared memory", module!("worklogs/matmul/step3", sm_75), "matmul_step3", ELEMENTS),
    step(4, "1-D register tile", module!("worklogs/matmul/step4", sm_75), "matmul_step4", COLUMNS),
    step(5, "2-D register tile", module!("worklogs/matmul/step5", sm_75), "matmul_step5", SQUARES),
    step(6, "16-byte loads", module!("worklogs/matmul/step6", sm_75), "matmul_step6", VECTORS),
    step(7, "layout without bank conflicts", module!("worklogs/matmul/step7", sm_75), "matmul_step7", VECTORS),
    step(8, "double buffering", module!("worklogs/matmul/step8", sm_75), "matmul_step8", VECTORS),
    step(9, "tensor cores, TF32", module!("worklogs/matmul/step9", sm_80), "matmul_step9", VECTORS),
];

impl Step {
    /// Returns C = A·B; A (M, K) and B (K, N) are contiguous, f32, and on a GPU or simulated.
    ///
    /// # Errors
    /// If there is no GPU; if the operands are not f32 or do not agree; if a matrix has 2³² elements or
    /// more; from step 6 on, if K or N is not a multiple of 4 or an operand is not 16-byte aligned; for
    /// step 9, below compute capability 8.0.
    pub fn matmul(&'static self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let ((m, k), (rows, n)) = (a.dims2()?, b.dims2()?);
        let dtypes = [a.dtype(), b.dtype()];
        if dtypes != [DType::F32; 2] {
            let found = format!("{:?}", dtypes.map(|dtype| dtype.as_str()));
            return Err(mismatch(self.entry, "f32 and f32", found));
        }
        if k != rows {
            let found = format!("{:?} and {:?}", a.dims(), b.dims());
            return Err(mismatch(self.entry, "A (M, K) and B (K, N)", found));
        }
        let Cut {
            tile,
            block: [x, y],
            multiple,
        } = self.cut;
        if [k, n].iter().any(|size| !size.is_multiple_of(multiple)) {
            let expected = format!("K and N that are multiples of {multiple}");
            return Err(mismatch(self.entry, expected, format!("{k} and {n}")));
        }
        if multiple > 1 && !is_aligned(&[a, b]) {
            return Err(mismatch(
                self.entry,
                "16-byte aligned operands",
                "another address",
            ));
        }
        if [m * k, k * n, m * n]
            .iter()
            .any(|&len| len > u32::MAX as usize)
        {
            let expected = "matrices of fewer than 2³² elements";
            return Err(mismatch(
                self.entry,
                expected,
                format!("M, N and K of {m}, {n} and {k}"),
            ));
        }
        let c = output::tensor((m, n), DType::F32, a.device())?;
        Launch::new(&self.module, self.entry)
            .grid(n.div_ceil(tile), m.div_ceil(tile), 1)
            .block(x, y, 1)
            .read(a)
            .read(b)
            .write(&c)
            .u32(m)
            .u32(n)
            .u32(k)
            .launch()?;
        Ok(c)
    }
}

/// M, N and K of the simulated matmul whose [`Counts`] are recorded: whole tiles of each step.
pub const COUNTED: usize = 128;

impl Step {
    /// Simulates a matmul of [`COUNTED`] rows and columns, and returns its cost per 32 multiply-adds: one FFMA of a
    /// warp.
    ///
    /// # Errors
    /// If the simulator finds a fault.
    pub fn counts(&'static self) -> Result<Counts> {
        let operand = || Tensor::rand(-1f32, 1., (COUNTED, COUNTED), &Device::Cpu);
        let (a, b) = (operand()?, operand()?);
        let units = COUNTED.pow(3) / 32;
        count((self.number, self.idea), self.entry, units, || {
            self.matmul(&a, &b)
        })
    }
}

/// Calls of each step: whole tiles up to step 4, and tails in all three sizes.
pub(crate) fn add(list: &mut List) {
    for step in &STEPS {
        for [m, n, k] in [[64, 64, 32], [65, 36, 20], [130, 132, 36]] {
            list.kernel(
                step.entry,
                4,
                &[DType::F32],
                &format!("{m}×{n}×{k}"),
                move |i| {
                    let (a, b) = (i.tensor(&[m, k])?, i.tensor(&[k, n])?);
                    step.matmul(&a, &b)
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;

    use super::super::counts::check_recorded;
    use super::*;
    use crate::launch::on_cpu;
    use crate::output::poisoned;
    use crate::testing::{Expected, assert_close, devices, rng, uniform};

    /// C, and Σ_k |A_ik·B_kj| as the scale of its rounding, in f64.
    fn oracle(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Expected {
        let products = |i: usize, j: usize| (0..k).map(move |l| a[i * k + l] * b[l * n + j]);
        let all = || (0..m * n).map(|at| products(at / n, at % n));
        Expected {
            values: all().map(Iterator::sum).collect(),
            scales: all().map(|of| of.map(f64::abs).sum()).collect(),
        }
    }

    fn compare(rng: &mut ChaCha8Rng, sizes: [usize; 3], device: &Device) -> Result<()> {
        for step in &STEPS {
            let [m, n, k] = sizes.map(|size: usize| size.next_multiple_of(step.cut.multiple));
            let (a, a64) = uniform(rng, &[m, k], DType::F32, device)?;
            let (b, b64) = uniform(rng, &[k, n], DType::F32, device)?;
            let c = poisoned(|| step.matmul(&a, &b))?;
            let tolerance = if step.number == 9 {
                2f64.powi(-10)
            } else {
                1e-5
            };
            let what = format!("{} {device:?} {m}×{n}×{k}", step.entry);
            assert_close(&what, &c, &oracle(&a64, &b64, [m, n, k]), tolerance)?;
        }
        Ok(())
    }

    #[test]
    fn each_step_agrees_with_the_oracle_at_odd_sizes() -> Result<()> {
        let mut rng = rng();
        for device in devices().filter(|device| !on_cpu(device)) {
            for sizes in [[1, 1, 1], [33, 70, 17], [129, 133, 35]] {
                compare(&mut rng, sizes, &device)?;
            }
            let any = [0; 3].map(|_| rng.random_range(1..100));
            compare(&mut rng, any, &device)?;
        }
        Ok(())
    }

    #[test]
    fn operands_that_do_not_fit_are_named() -> Result<()> {
        let of = |shape: [usize; 2]| Tensor::zeros(&shape, DType::F32, &Device::Cpu);
        let refusal = |step: usize, a: &Tensor, b: &Tensor| {
            let refused = STEPS[step - 1].matmul(a, b);
            refused.err().map(|e| e.to_string()).unwrap_or_default()
        };
        let found = refusal(1, &of([2, 3])?, &of([4, 5])?);
        assert!(found.contains("expected A (M, K) and B (K, N)"), "{found}");
        let found = refusal(6, &of([2, 6])?, &of([6, 8])?);
        assert!(found.contains("multiples of 4"), "{found}");
        let whole = of([8, 8])?;
        let found = refusal(2, &whole.to_dtype(DType::F64)?, &whole);
        assert!(found.contains("f64"), "{found}");
        Ok(())
    }

    #[test]
    fn the_recorded_counts_are_those_of_the_simulator() -> Result<()> {
        check_recorded("matmul", STEPS.iter().map(Step::counts))
    }
}
