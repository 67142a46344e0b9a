//! `--input` and `--output`: tensors with the names of other frameworks.

use std::fmt::Display;
use std::path::Path;

use candle_core::{DType, Tensor};
use data::BadInput;
use models::checkpoint::TensorFile;
use models::{Error, Result};
use safetensors::tensor::{Dtype, TensorView};

use crate::files::Output;

/// Tensors of `--input`.
pub struct Input(TensorFile);

/// Integers with their shape.
pub struct Integers {
    /// Shape as in the file.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Vec<u32>,
}

impl Input {
    /// Reads the whole file.
    pub fn read(path: &Path, known: &[&str]) -> Result<Self> {
        let file = TensorFile::read(path)?;
        // A case has the answer next to the input.
        file.only(&[known, &["logits", "tokens"]].concat())?;
        Ok(Self(file))
    }

    /// An error about tensor `name`.
    pub fn complain(&self, name: &str, expected: &str, found: impl std::fmt::Display) -> BadInput {
        self.0.complain(name, expected, found)
    }

    /// Reads finite numbers as f32, of shape `expected`; `None` stands for any size.
    pub fn floats(&self, name: &str, expected: &[Option<usize>]) -> Result<Tensor> {
        let tensor = self.0.floats(name)?;
        self.check_shape(name, expected, tensor.dims())?;
        Ok(tensor)
    }

    /// Reads integers below `bound`, of shape `expected`; `what` describes them in errors.
    pub fn integers(
        &self,
        name: &str,
        expected: &[Option<usize>],
        what: &str,
        bound: usize,
    ) -> Result<Integers> {
        let (shape, values) = self.0.integers(name)?;
        self.check_shape(name, expected, &shape)?;
        let below = |&value: &i64| {
            let inside = u32::try_from(value).ok().filter(|v| (*v as usize) < bound);
            inside.ok_or_else(|| {
                self.complain(name, &format!("{what} from 0 to below {bound}"), value)
            })
        };
        let values = values
            .iter()
            .map(below)
            .collect::<std::result::Result<_, _>>()?;
        Ok(Integers { shape, values })
    }

    fn check_shape(
        &self,
        name: &str,
        expected: &[Option<usize>],
        found: &[usize],
    ) -> std::result::Result<(), BadInput> {
        let fits = |(e, f): (&Option<usize>, &usize)| e.is_none_or(|e| e == *f);
        if expected.len() == found.len() && expected.iter().zip(found).all(fits) {
            return Ok(());
        }
        let size = |e: &Option<usize>| e.map_or("any".into(), |e| e.to_string());
        let sizes: Vec<String> = expected.iter().map(size).collect();
        let expected = format!("shape [{}]", sizes.join(", "));
        Err(self.complain(name, &expected, format!("shape {found:?}")))
    }
}

/// A tensor of `--output`.
pub struct Named {
    name: &'static str,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Named {
    /// Converts a tensor to f32.
    ///
    /// # Errors
    /// [`BadInput`] if a number is not finite, because weights or inputs are too large.
    pub fn floats(name: &'static str, tensor: &Tensor) -> Result<Self> {
        let values = finite(name, tensor)?;
        Ok(Self {
            name,
            dtype: Dtype::F32,
            shape: tensor.dims().to_vec(),
            bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        })
    }

    /// Converts equally long rows of tokens to I64, (rows, length).
    pub fn tokens(name: &'static str, rows: &[Vec<u32>]) -> Self {
        let values = rows.iter().flatten().map(|&token| i64::from(token));
        Self {
            name,
            dtype: Dtype::I64,
            shape: vec![rows.len(), rows.first().map_or(0, Vec::len)],
            bytes: values.flat_map(i64::to_le_bytes).collect(),
        }
    }
}

/// Adds the name of the input to an error.
pub fn named(input: impl Display, error: Error) -> Error {
    match error {
        Error::Input(bad) => Error::Input(BadInput {
            what: format!("{input}: {}", bad.what),
            ..bad
        }),
        error => error,
    }
}

/// Returns the elements of `tensor` as f32.
///
/// # Errors
/// [`BadInput`] if one of them is not finite.
pub fn finite(name: &str, tensor: &Tensor) -> Result<Vec<f32>> {
    let values = tensor
        .to_dtype(DType::F32)?
        .flatten_all()?
        .to_vec1::<f32>()?;
    match values.iter().find(|x| !x.is_finite()) {
        Some(x) => {
            let expected = match crate::own::check_command() {
                Some(check) => format!("finite numbers ({check} tests the methods)"),
                None => {
                    "finite numbers (weights, config.json or the input make larger ones)".into()
                }
            };
            Err(BadInput::new(name, expected, x).into())
        }
        None => Ok(values),
    }
}

/// Writes `tensors` to a safetensors file.
pub fn write(output: &Output, tensors: &[Named]) -> anyhow::Result<()> {
    let views = tensors
        .iter()
        .map(|t| Ok((t.name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(output.write(&safetensors::serialize(views, None)?)?)
}
