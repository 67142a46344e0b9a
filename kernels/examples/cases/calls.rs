//! Calls of every op at levels 3 to 5: sizes below, at and beyond those of warps, vectors, tiles and blocks, rows
//! that do not begin at a multiple of 16 bytes, and numbers that are small and large. All draw from one generator, so
//! that a change here changes later operands. A new op has its edges in its own `calls.rs`, and nothing here.

mod attention;
mod graphs;
mod level5;
mod peaks;
mod products;
mod rows;
mod ties;

use candle_core::{DType, Device, Result, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The formats that kernels have.
const DTYPES: [DType; 2] = [DType::F32, DType::BF16];

/// A file of this folder: its calls.
type File = fn(&mut Draw, DType) -> Result<()>;

/// All of them. Prints each file before its calls, which take seconds to minutes.
pub fn all() -> Result<()> {
    let files: [(&str, File); 7] = [
        ("rows", rows::all),
        ("attention", attention::all),
        ("graphs", graphs::all),
        ("products", products::all),
        ("level5", level5::all),
        ("ties", |_, dtype| ties::all(dtype)),
        ("peaks", |_, dtype| peaks::all(dtype)),
    ];
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(1));
    for dtype in DTYPES {
        for (name, calls) in files {
            eprintln!("simulating calls/{name}.rs in {}", dtype.as_str());
            calls(&mut draw, dtype)?;
        }
    }
    Ok(())
}

/// Random operands.
struct Draw(ChaCha8Rng);

impl Draw {
    /// Uniform in −1..1.
    fn floats(&mut self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        self.wide(shape, dtype, 1.)
    }

    /// Uniform in −most..most.
    fn wide(&mut self, shape: &[usize], dtype: DType, most: f32) -> Result<Tensor> {
        let draw = |_| (self.0.random::<f32>() * 2. - 1.) * most;
        let values: Vec<f32> = (0..shape.iter().product()).map(draw).collect();
        Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)
    }

    /// The same from `offset` elements into its memory.
    fn shifted(&mut self, shape: &[usize], dtype: DType, offset: usize) -> Result<Tensor> {
        let len = shape.iter().product();
        self.floats(&[offset + len], dtype)?
            .narrow(0, offset, len)?
            .reshape(shape)
    }

    /// Uniform in −1..1, but for one that is NaN.
    fn spoilt(&mut self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        let len: usize = shape.iter().product();
        let nan = Tensor::new(&[f32::NAN], &Device::Cpu)?.to_dtype(dtype)?;
        let [before, after] = [len / 2, len - len / 2 - 1].map(|len| self.floats(&[len], dtype));
        Tensor::cat(&[before?, nan, after?], 0)?.reshape(shape)
    }

    /// Below `end`.
    fn indices(&mut self, len: usize, end: u32) -> Result<Tensor> {
        let values: Vec<u32> = (0..len).map(|_| self.0.random_range(0..end)).collect();
        Tensor::from_vec(values, len, &Device::Cpu)
    }
}
