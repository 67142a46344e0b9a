//! Calls of the ops: `OP/calls.rs` lists those of its folder, and `crate::calls` all of them.
//!
//! One list serves the examples `cases` and `counters` and the tests. Inputs come from one seed, so that indices, and with
//! them the addresses that a kernel touches, are the same on a GPU and in the simulator.

use std::rc::Rc;

use candle_core::{DType, Device, Result, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::functions::{Functions, functions};

/// Seed of the inputs of each call.
const SEED: u64 = 7;

/// dtypes that kernels have.
pub(crate) const BOTH: [DType; 2] = [DType::F32, DType::BF16];

/// Rows and columns: on 16 bytes or not, shorter and longer than a block.
pub(crate) const ROWS: [[usize; 2]; 4] = [[3, 65], [5, 512], [2, 1031], [33, 128]];

type OfLevel = dyn Fn(&Functions, &mut Inputs) -> Result<Tensor>;
type OfCase = dyn Fn(&mut Inputs) -> Result<()>;

/// A narrow function on one shape and dtype, at any level.
pub struct Call {
    /// `softmax`
    pub function: &'static str,
    /// `softmax, bf16: 3×65`
    pub name: String,
    /// dtype of the operands.
    pub dtype: DType,
    run: Rc<OfLevel>,
}

impl Call {
    /// Calls the function of a level.
    ///
    /// # Errors
    /// The errors of the function.
    pub fn run(&self, level: &Functions, device: &Device) -> Result<Tensor> {
        (self.run)(level, &mut Inputs::new(self.dtype, device))
    }
}

/// Kernels of one level on one shape and dtype.
pub struct Case {
    /// `softmax, level 4, bf16: 3×65`
    pub name: String,
    dtype: DType,
    run: Rc<OfCase>,
}

impl Case {
    /// Launches the kernels and drops their results, which the tests of each op check.
    ///
    /// # Errors
    /// The errors of the launches.
    pub fn run(&self, device: &Device) -> Result<()> {
        (self.run)(&mut Inputs::new(self.dtype, device))
    }
}

/// The calls so far.
#[derive(Default)]
pub struct List {
    /// Functions that all levels have.
    pub calls: Vec<Call>,
    /// The same at levels 3 and 4, and kernels that not every level has.
    pub cases: Vec<Case>,
}

impl List {
    /// Adds a function that all levels have, on one shape, in both dtypes.
    pub(crate) fn function(
        &mut self,
        function: &'static str,
        shape: &str,
        run: impl Fn(&Functions, &mut Inputs) -> Result<Tensor> + 'static,
    ) {
        let run = Rc::new(run);
        let of_level = run.clone();
        self.edge(function, shape, move |f, i| of_level(f, i));
        self.calls.extend(BOTH.map(|dtype| Call {
            function,
            name: format!("{function}, {}: {shape}", dtype.as_str()),
            dtype,
            run: run.clone(),
        }));
    }

    /// Adds a function that all levels have, on an input at an edge: the kernels of levels 3 and 4 run it, and no test
    /// compares the results of levels, which may be NaN.
    pub(crate) fn edge(
        &mut self,
        function: &'static str,
        shape: &str,
        run: impl Fn(&Functions, &mut Inputs) -> Result<Tensor> + 'static,
    ) {
        let run = Rc::new(run);
        // Level 5 picks its kernels from a table; each of them has a case of its own.
        for level in functions().into_iter().filter(|of| of.level < 5) {
            let run = run.clone();
            self.kernel(function, level.level, &BOTH, shape, move |i| run(&level, i));
        }
    }

    /// Adds kernels of one level, on one shape, in these dtypes.
    pub(crate) fn kernel<T>(
        &mut self,
        what: &str,
        level: u8,
        dtypes: &[DType],
        shape: &str,
        run: impl Fn(&mut Inputs) -> Result<T> + 'static,
    ) {
        let run = Rc::new(move |inputs: &mut Inputs| run(inputs).map(drop));
        self.cases.extend(dtypes.iter().map(|&dtype| Case {
            name: format!("{what}, level {level}, {}: {shape}", dtype.as_str()),
            dtype,
            run: run.clone(),
        }));
    }
}

/// Operands of a call, drawn one after the other.
pub struct Inputs {
    rng: ChaCha8Rng,
    /// dtype of the tensors.
    pub(crate) dtype: DType,
    /// Where the tensors are.
    pub(crate) device: Device,
}

impl Inputs {
    fn new(dtype: DType, device: &Device) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(SEED),
            dtype,
            device: device.clone(),
        }
    }

    /// Uniform in −1..1.
    pub(crate) fn tensor(&mut self, shape: &[usize]) -> Result<Tensor> {
        let len = shape.iter().product();
        let mut value = || self.rng.random::<f32>() * 2. - 1.;
        let values: Vec<f32> = (0..len).map(|_| value()).collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu)?;
        tensor.to_dtype(self.dtype)?.to_device(&self.device)
    }

    /// The same, not aligned to 16 bytes: it begins at the second element of its memory.
    pub(crate) fn misaligned(&mut self, shape: &[usize]) -> Result<Tensor> {
        let len = shape.iter().product::<usize>();
        self.tensor(&[len + 1])?.narrow(0, 1, len)?.reshape(shape)
    }

    /// The same, with NaN as its first element.
    pub(crate) fn with_nan(&mut self, shape: &[usize]) -> Result<Tensor> {
        let len = shape.iter().product::<usize>();
        let nan = Tensor::new(&[f32::NAN], &self.device)?.to_dtype(self.dtype)?;
        Tensor::cat(&[nan, self.tensor(&[len - 1])?], 0)?.reshape(shape)
    }

    /// Numbers below `end`.
    pub(crate) fn indices(&mut self, len: usize, end: usize) -> Vec<u32> {
        (0..len)
            .map(|_| self.rng.random_range(0..end as u32))
            .collect()
    }

    /// A tensor of these numbers.
    pub(crate) fn u32s(&self, values: Vec<u32>) -> Result<Tensor> {
        let len = values.len();
        Tensor::from_vec(values, len, &self.device)
    }
}
