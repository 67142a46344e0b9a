//! Contents of a buffer before the launch.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

use super::argument::{Contents, Fill};
use super::element::Element;
use super::npy::{self, Array};

/// Bytes that a pipe or a device has fewer of.
const MAX_STREAM: u64 = 1 << 28;

/// Returns the array that `contents` describes. Poison is NaN in every float type.
pub fn array(contents: &Contents, seed: u64, folder: &Path) -> Result<Array> {
    let element = contents.element;
    if let Fill::File(file) = &contents.fill {
        return from_file(contents, &folder.join(file));
    }
    let shape = contents.shape.clone().unwrap_or_default();
    let count: u64 = shape.iter().product();
    let mut random = Random(seed);
    let bits = |i: u64| match &contents.fill {
        Fill::Random(bound) => random.draw(element, *bound),
        Fill::Iota => element.from_u64(i),
        Fill::Value(bits) => *bits,
        Fill::List(values) => values[i as usize],
        Fill::Poison | Fill::File(_) => u64::MAX,
    };
    let bits: Vec<u64> = (0..count).map(bits).collect();
    Ok(Array {
        element,
        shape,
        bytes: bits.iter().flat_map(|&b| element.to_bytes(b)).collect(),
    })
}

fn from_file(contents: &Contents, path: &Path) -> Result<Array> {
    let name = path.display().to_string();
    let wrong = |expected: String, found: String| Error::Launch {
        what: name.clone(),
        expected,
        found,
    };
    let unreadable = |e: std::io::Error| wrong("a readable file".into(), e.to_string());
    let opened = File::open(path).map_err(unreadable)?;
    let is_file = opened.metadata().is_ok_and(|file| file.is_file());
    // A device such as `/dev/zero` has no end.
    let most = if is_file { u64::MAX } else { MAX_STREAM };
    let mut file = vec![];
    let read = opened.take(most).read_to_end(&mut file);
    if read.map_err(unreadable)? as u64 == most {
        let expected = format!("fewer than {most} bytes from a pipe or a device");
        return Err(wrong(expected, "more".into()));
    }
    let mut array = npy::read(&name, &file, contents.element)?;
    if let Some(shape) = &contents.shape {
        let count = |shape: &[u64]| shape.iter().product::<u64>();
        let (expected, found) = (count(shape), count(&array.shape));
        if expected != found {
            return Err(wrong(format!("{expected} numbers"), found.to_string()));
        }
        array.shape.clone_from(shape);
    }
    Ok(array)
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same seed gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws one number: see [`Fill::Random`].
    fn draw(&mut self, element: Element, bound: Option<f64>) -> u64 {
        let bits = self.next();
        // The 53 bits of an f64's significand, uniform in [0, 1).
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        match (element.is_float(), bound) {
            (true, bound) => element.from_f64((2. * unit - 1.) * bound.unwrap_or(1.)),
            (false, Some(bound)) => element.from_f64((unit * bound).floor()),
            (false, None) => element.from_u64(bits),
        }
    }
}
