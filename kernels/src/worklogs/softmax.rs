//! Softmax of rows in four steps: y_ij = exp(x_ij − maxᵢ) / Σ_k exp(x_ik − maxᵢ). x and y (M, N), f32.
//!
//! Tolerance: 1e-5 of each element. The kernels use `ex2.approx`, whose error is 2 units in the last place
//! ("PTX ISA"), on x·log₂e.

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
    /// Threads of a block.
    threads: usize,
    /// Rows that a block computes.
    rows: usize,
    /// Whether a row has to fit into the registers of a block, in groups of 16 bytes.
    in_registers: bool,
}

/// All steps.
pub static STEPS: [Step; 4] = [
    Step {
        number: 1,
        idea: "one thread per row",
        module: module!("worklogs/softmax/step1", sm_75),
        entry: "softmax_step1",
        threads: 128,
        rows: 128,
        in_registers: false,
    },
    Step {
        number: 2,
        idea: "one block per row",
        module: module!("worklogs/softmax/step2", sm_75),
        entry: "softmax_step2",
        threads: 256,
        rows: 1,
        in_registers: false,
    },
    Step {
        number: 3,
        idea: "online softmax, shuffles",
        module: module!("worklogs/softmax/step3", sm_75),
        entry: "softmax_step3",
        threads: 256,
        rows: 1,
        in_registers: false,
    },
    Step {
        number: 4,
        idea: "the row in registers",
        module: module!("worklogs/softmax/step4", sm_75),
        entry: "softmax_step4",
        threads: 256,
        rows: 1,
        in_registers: true,
    },
];

/// The longest row that step 4 holds in the registers of a block: `THREADS * GROUPS * 4` of `step4.cu`.
pub const MAX_IN_REGISTERS: usize = 8192;

/// Rows and columns of the simulated softmax whose [`Counts`] are recorded.
pub const COUNTED: [usize; 2] = [32, 8192];

impl Step {
    /// Returns the softmax of each row of x (M, N), which is contiguous, f32, and on a GPU or simulated.
    ///
    /// # Errors
    /// If there is no GPU; if x is not f32 or has no columns, or its sizes exceed 32 bits; for step 4, if N is
    /// not a multiple of 4 or above [`MAX_IN_REGISTERS`], or x is not 16-byte aligned.
    pub fn softmax(&'static self, x: &Tensor) -> Result<Tensor> {
        let (m, n) = x.dims2()?;
        if x.dtype() != DType::F32 {
            return Err(mismatch(self.entry, "f32", x.dtype().as_str()));
        }
        if n == 0 {
            return Err(mismatch(self.entry, "at least one column", n));
        }
        if self.in_registers && !(n.is_multiple_of(4) && n <= MAX_IN_REGISTERS) {
            let expected = format!("a multiple of 4 columns, at most {MAX_IN_REGISTERS}");
            return Err(mismatch(self.entry, expected, n));
        }
        if self.in_registers && !is_aligned(&[x]) {
            return Err(mismatch(
                self.entry,
                "a 16-byte aligned operand",
                "another address",
            ));
        }
        let y = output::tensor((m, n), DType::F32, x.device())?;
        Launch::new(&self.module, self.entry)
            .grid(m.div_ceil(self.rows), 1, 1)
            .block(self.threads, 1, 1)
            .read(x)
            .write(&y)
            .u32(m)
            .u32(n)
            .launch()?;
        Ok(y)
    }

    /// Simulates a softmax of [`COUNTED`] rows and columns, and returns its cost per 32 elements.
    ///
    /// # Errors
    /// If the simulator finds a fault.
    pub fn counts(&'static self) -> Result<Counts> {
        let [m, n] = COUNTED;
        let x = Tensor::arange(0f32, (m * n) as f32, &Device::Cpu)?.sin()?;
        let x = x.reshape((m, n))?;
        let units = COUNTED.iter().product::<usize>() / 32;
        count((self.number, self.idea), self.entry, units, || {
            self.softmax(&x)
        })
    }
}

/// Calls of each step: whole rows of a block, and tails.
pub(crate) fn add(list: &mut List) {
    for step in &STEPS {
        for [m, n] in [[2, 1024], [3, 36], [130, 4]] {
            list.kernel(
                step.entry,
                4,
                &[DType::F32],
                &format!("{m}×{n}"),
                move |i| step.softmax(&i.tensor(&[m, n])?),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::super::counts::check_recorded;
    use super::*;
    use crate::launch::on_cpu;
    use crate::output::poisoned;
    use crate::testing::{Expected, assert_close, devices, directive, rng, uniform};

    fn oracle(x: &[f64], n: usize) -> Expected {
        let rows = x.chunks(n).flat_map(|row| {
            let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exponentials: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
            let sum: f64 = exponentials.iter().sum();
            exponentials.into_iter().map(move |e| e / sum)
        });
        let values: Vec<f64> = rows.collect();
        Expected {
            scales: values.clone(),
            values,
        }
    }

    #[test]
    fn each_step_agrees_with_the_oracle_at_odd_sizes() -> Result<()> {
        let mut rng = rng();
        for device in devices().filter(|device| !on_cpu(device)) {
            let any = [rng.random_range(1..200), rng.random_range(1..400)];
            for sizes in [[1, 1], [129, 37], [3, 1025], any] {
                for step in &STEPS {
                    let [m, n]: [usize; 2] = sizes;
                    let n = if step.in_registers {
                        n.next_multiple_of(4)
                    } else {
                        n
                    };
                    let (x, x64) = uniform(&mut rng, &[m, n], DType::F32, &device)?;
                    let y = poisoned(|| step.softmax(&x))?;
                    let what = format!("{} {device:?} {m}×{n}", step.entry);
                    assert_close(&what, &y, &oracle(&x64, n), 1e-5)?;
                }
            }
        }
        Ok(())
    }

    /// Logits as a model may have them: exp of the largest would be infinite.
    #[test]
    fn large_elements_do_not_overflow() -> Result<()> {
        for device in devices().filter(|device| !on_cpu(device)) {
            let row = [1000f32, 999., -1000., 0.];
            let x = Tensor::from_slice(&row, (1, 4), &device)?;
            let expected = oracle(&row.map(f64::from), 4);
            for step in &STEPS {
                let y: Vec<f32> = step.softmax(&x)?.flatten_all()?.to_vec1()?;
                for (y, expected) in y.iter().zip(&expected.values) {
                    assert!((f64::from(*y) - expected).abs() < 1e-5, "{}", step.entry);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn operands_that_do_not_fit_are_named() -> Result<()> {
        let refusal = |step: usize, shape: [usize; 2], dtype| -> Result<String> {
            let refused = STEPS[step - 1].softmax(&Tensor::zeros(&shape, dtype, &Device::Cpu)?);
            Ok(refused.err().map(|e| e.to_string()).unwrap_or_default())
        };
        for shape in [[1, 6], [1, MAX_IN_REGISTERS + 4]] {
            let found = refusal(4, shape, DType::F32)?;
            assert!(
                found.contains("a multiple of 4 columns, at most 8192"),
                "{found}"
            );
        }
        assert!(refusal(1, [2, 2], DType::F64)?.contains("f64"));
        assert!(refusal(1, [2, 0], DType::F32)?.contains("at least one column"));
        Ok(())
    }

    #[test]
    fn threads_are_those_of_the_kernel() {
        for step in &STEPS {
            let threads = directive(step.module.texts()[0], step.entry, ".maxntid");
            assert_eq!(threads, step.threads, "{}", step.entry);
        }
    }

    #[test]
    fn the_recorded_counts_are_those_of_the_simulator() -> Result<()> {
        check_recorded("softmax", STEPS.iter().map(Step::counts))
    }
}
