//! Contents of a buffer before the launch.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::Result;

use super::argument::{Contents, Fill, MAX_BYTES};
use super::element::Element;
use super::npy::{self, Array};
use super::wrong;

/// Bytes that a pipe or a device has fewer of.
const MAX_STREAM: u64 = 1 << 28;
/// Bytes of a .npy file before its data, at most.
const MAX_HEADER: u64 = 1 << 16;

/// Returns the array that `contents` describes, of at most `room` bytes. Poison is NaN in every float type.
pub fn array(contents: &Contents, seed: u64, folder: &Path, room: u64) -> Result<Array> {
    let element = contents.element;
    if let Fill::File(file) = &contents.fill {
        return from_file(contents, &folder.join(file), room);
    }
    let shape = contents.shape.clone().unwrap_or_default();
    let count: u64 = shape.iter().product();
    let size = count * element.bytes() as u64;
    if size > room {
        let expected = format!("at most {MAX_BYTES} bytes in all");
        let found = MAX_BYTES - room + size;
        return Err(wrong("the buffers of the arguments", expected, found));
    }
    let mut random = Random(seed);
    let bits = |i: u64| match &contents.fill {
        Fill::Random(bound) => random.draw(element, *bound),
        Fill::Iota => element.from_u64(i),
        Fill::Value(bits) => *bits,
        Fill::List(values) => values[i as usize],
        Fill::Poison | Fill::File(_) => u64::MAX,
    };
    let mut bytes = Vec::with_capacity(size as usize);
    for value in (0..count).map(bits) {
        bytes.extend(element.to_bytes(value));
    }
    Ok(Array {
        element,
        shape,
        bytes,
    })
}

fn from_file(contents: &Contents, path: &Path, room: u64) -> Result<Array> {
    let name = path.display().to_string();
    let unreadable = |e: std::io::Error| {
        let found = match e.kind() {
            ErrorKind::NotFound => "no such file".to_owned(),
            _ => e.to_string(),
        };
        wrong(&name, "a readable file", found)
    };
    let opened = File::open(path).map_err(unreadable)?;
    let metadata = opened.metadata().map_err(unreadable)?;
    let is_file = metadata.is_file();
    // Files in `/proc` have this size, too, and reading one such as `/proc/kmsg` may wait forever.
    if is_file && metadata.len() == 0 {
        return Err(wrong(&name, "an array", "0 bytes"));
    }
    let most = room + MAX_HEADER;
    // A device such as `/dev/zero` has no end.
    let most = if is_file { most } else { MAX_STREAM.min(most) };
    let mut file = vec![];
    let read = opened.take(most).read_to_end(&mut file);
    if read.map_err(unreadable)? as u64 == most {
        let expected = if is_file {
            format!("at most {MAX_BYTES} bytes in the buffers of all arguments")
        } else {
            format!("fewer than {most} bytes from a pipe or a device")
        };
        return Err(wrong(&name, expected, "more"));
    }
    let mut array = npy::read(&name, &file, contents.element)?;
    if let Some(shape) = &contents.shape {
        let count = |shape: &[u64]| shape.iter().product::<u64>();
        let (expected, found) = (count(shape), count(&array.shape));
        if expected != found {
            return Err(wrong(&name, format!("{expected} numbers"), found));
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

#[cfg(test)]
mod tests {
    use super::super::argument::Argument;
    use super::*;

    fn array_of(text: &str, folder: &Path, room: u64) -> Result<Array> {
        let Argument::Buffer { contents, .. } = text.parse()? else {
            panic!("{text}: expected a buffer");
        };
        array(&contents, 0, folder, room)
    }

    #[test]
    fn buffers_share_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let made = array_of("f32:4:iota", folder, 16).unwrap();
        assert_eq!(made.bytes.len(), 16);
        let refused = |text: &str, room| array_of(text, folder, room).unwrap_err().to_string();
        let expected = "the buffers of the arguments: expected at most 1073741824 bytes in all, found 1073741825";
        assert_eq!(refused("f32:4:iota", 15), expected);

        std::fs::write(folder.join("a.npy"), npy::write(&made)).unwrap();
        assert_eq!(array_of("f32:a.npy", folder, 16).unwrap(), made);
        // A file with a hole takes no space on the disk.
        let hole = File::create(folder.join("b.npy")).unwrap();
        hole.set_len(1 << 40).unwrap();
        let error = refused("f32:b.npy", 16);
        assert!(
            error.ends_with("in the buffers of all arguments, found more"),
            "{error}"
        );
    }
}
