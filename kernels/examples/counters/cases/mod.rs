//! What is counted: every op at levels 3 to 5, in f32 and bf16, on odd and even shapes.
//!
//! Inputs come from one seed, so that indices, and with them the addresses that a kernel touches, are the
//! same on a GPU and in the simulator.

mod attentions;
mod graphs;
mod level5;
mod products;
mod rows;

use candle_core::{DType, Device, Result, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Of the inputs of each case.
const SEED: u64 = 7;

/// An op on operands of one shape and number format.
pub struct Case {
    /// `softmax, level 4, bf16: 3×65`
    pub name: String,
    dtype: DType,
    run: Run,
}

type Run = std::rc::Rc<dyn Fn(&mut Inputs) -> Result<()>>;

impl Case {
    /// Launches its kernels, whose results nobody looks at: the tests do.
    pub fn run(&self, device: &Device) -> Result<()> {
        (self.run)(&mut Inputs {
            rng: ChaCha8Rng::seed_from_u64(SEED),
            dtype: self.dtype,
            device: device.clone(),
        })
    }
}

/// All of them, in order.
pub fn all() -> Vec<Case> {
    let mut list = List(vec![]);
    rows::add(&mut list);
    products::add(&mut list);
    attentions::add(&mut list);
    graphs::add(&mut list);
    level5::add(&mut list);
    list.0
}

/// Cases so far.
struct List(Vec<Case>);

impl List {
    /// `what` (the op and its level) on `shape`, in both formats.
    fn add<T>(
        &mut self,
        what: &str,
        shape: &str,
        run: impl Fn(&mut Inputs) -> Result<T> + 'static,
    ) {
        self.add_in(&[DType::F32, DType::BF16], what, shape, run);
    }

    /// The same in these formats.
    fn add_in<T>(
        &mut self,
        dtypes: &[DType],
        what: &str,
        shape: &str,
        run: impl Fn(&mut Inputs) -> Result<T> + 'static,
    ) {
        let run: Run = std::rc::Rc::new(move |inputs| run(inputs).map(drop));
        for &dtype in dtypes {
            self.0.push(Case {
                name: format!("{what}, {}: {shape}", dtype.as_str()),
                dtype,
                run: run.clone(),
            });
        }
    }
}

/// Operands of a case, drawn one after the other.
struct Inputs {
    rng: ChaCha8Rng,
    dtype: DType,
    device: Device,
}

impl Inputs {
    /// Uniform in −1..1.
    fn tensor(&mut self, shape: &[usize]) -> Result<Tensor> {
        let len = shape.iter().product();
        let mut value = || self.rng.random::<f32>() * 2. - 1.;
        let values: Vec<f32> = (0..len).map(|_| value()).collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu)?;
        tensor.to_dtype(self.dtype)?.to_device(&self.device)
    }

    /// Numbers below `end`.
    fn indices(&mut self, len: usize, end: usize) -> Vec<u32> {
        (0..len)
            .map(|_| self.rng.random_range(0..end as u32))
            .collect()
    }

    fn u32s(&self, values: Vec<u32>) -> Result<Tensor> {
        let len = values.len();
        Tensor::from_vec(values, len, &self.device)
    }
}
