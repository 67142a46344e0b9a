//! The buffers and arguments of a case.

use std::path::Path;

use crate::error::Result;
use crate::{Arg, Buffer, Dim, Kernel};

use super::argument::{Argument, Fill, MAX_BYTES};
use super::element::Element;
use super::npy::{self, Array};
use super::{Case, fill, wrong};

/// A case with its buffers: the input of [`Kernel::launch`](crate::Kernel::launch), and the results to save
/// afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Operands {
    /// Size of the launch.
    pub dim: Dim,
    /// Buffers, in the order of the arguments that own one.
    pub buffers: Vec<Buffer>,
    /// Arguments in parameter order.
    pub args: Vec<Arg>,
    /// Type and shape of each buffer.
    pub layouts: Vec<(Element, Vec<u64>)>,
}

impl Operands {
    pub(super) fn new(case: &Case, seed: u64, folder: &Path) -> Result<Self> {
        let mut operands = Self {
            dim: case.dim,
            buffers: vec![],
            args: vec![],
            layouts: vec![],
        };
        fits(case)?;
        for (number, argument) in case.args.iter().enumerate() {
            let arg = operands.make(number, argument, seed, folder)?;
            operands.args.push(arg);
        }
        Ok(operands)
    }

    fn make(
        &mut self,
        number: usize,
        argument: &Argument,
        seed: u64,
        folder: &Path,
    ) -> Result<Arg> {
        match argument {
            Argument::Scalar(element, bits) => Ok(Arg::Number(*element, *bits)),
            Argument::Bytes(bytes) => Ok(Arg::Bytes(bytes.clone())),
            Argument::Null => Ok(Arg::Null),
            Argument::Buffer { contents, offset } => {
                // SplitMix64 advances by an odd constant, so states this far apart share nothing for 2⁴⁸
                // steps.
                let seed = seed ^ (number as u64) << 48;
                let Array {
                    element,
                    shape,
                    bytes,
                } = fill::array(contents, seed, folder, self.room())?;
                let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
                let name = format!("argument {number} ({element}:{})", sizes.join("x"));
                self.buffers.push(match contents.fill {
                    Fill::Poison => Buffer::uninitialised(name, bytes.len()),
                    _ => Buffer::new(name, bytes),
                });
                self.layouts.push((element, shape));
                Ok(address(self.buffers.len() - 1, element, *offset))
            }
            Argument::Same { argument, offset } => match self.buffer(*argument) {
                Some(buffer) => Ok(address(buffer, self.layouts[buffer].0, *offset)),
                None => Err(wrong(
                    &format!("--arg same:{argument}"),
                    "the number of an argument before it that has a buffer",
                    argument,
                )),
            },
        }
    }

    /// Bytes that further buffers may have.
    fn room(&self) -> u64 {
        let used: usize = self.buffers.iter().map(|buffer| buffer.bytes.len()).sum();
        MAX_BYTES.saturating_sub(used as u64)
    }

    /// Returns the index of the buffer that argument `number` points into.
    pub fn buffer(&self, number: usize) -> Option<usize> {
        match self.args.get(number)? {
            Arg::Buffer(buffer) | Arg::Inside(buffer, _) => Some(*buffer),
            _ => None,
        }
    }

    /// Renames the buffers, from `argument 1 (f32:30)` to `y (f32:30)` for the parameter `param_y` of PTX. Parameters that a
    /// compiler has numbered get their names in `cuda`, if there are any.
    pub fn name_buffers(&mut self, kernel: &Kernel, cuda: &[impl AsRef<str>]) {
        for (k, (name, _)) in kernel.params().enumerate() {
            let name = if name.ends_with(&format!("param_{k}")) {
                cuda.get(k).map(AsRef::as_ref)
            } else {
                Some(name.strip_prefix("param_").unwrap_or(name))
            };
            if let (Some(name), Some(b)) = (name, self.buffer(k)) {
                let known = &mut self.buffers[b].name;
                *known = known.replace(&format!("argument {k} ("), &format!("{name} ("));
            }
        }
    }

    /// Name of a buffer without its type and shape: `y`, or `argument 1`.
    pub fn name(&self, buffer: usize) -> &str {
        let name = &self.buffers[buffer].name;
        name.split_once(" (").map_or(name, |(name, _)| name)
    }

    /// Returns the whole buffer that argument `number` points into, as a .npy file.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if it points into none.
    pub fn npy(&self, number: usize) -> Result<Vec<u8>> {
        let expected = "the number of an argument that has a buffer, from 0";
        let buffer = (self.buffer(number)).ok_or_else(|| wrong("an array", expected, number))?;
        let (element, shape) = self.layouts[buffer].clone();
        Ok(npy::write(&Array {
            element,
            shape,
            bytes: self.buffers[buffer].bytes.clone(),
        }))
    }
}

/// Checks the sizes of all buffers before the first is filled. Those of files are checked when they are read.
fn fits(case: &Case) -> Result<()> {
    let bytes = |argument: &Argument| match argument {
        Argument::Buffer { contents, .. } => {
            let count = |shape: &Vec<u64>| shape.iter().product();
            contents.element.bytes() as u64 * contents.shape.as_ref().map_or(0, count)
        }
        _ => 0,
    };
    let found: u64 = case.args.iter().map(bytes).sum();
    if found <= MAX_BYTES {
        return Ok(());
    }
    let expected = format!("at most {MAX_BYTES} bytes in all");
    Err(wrong("the buffers of the arguments", expected, found))
}

fn address(buffer: usize, element: Element, offset: u64) -> Arg {
    match offset {
        0 => Arg::Buffer(buffer),
        offset => Arg::Inside(buffer, offset * element.bytes() as u64),
    }
}
