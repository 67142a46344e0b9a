//! NumPy's .npy file as far as kernels need it: one little-endian array in C order.
//!
//! Format: "NEP 1, A Simple File Format for NumPy Arrays". Hand-written because only a header of three keys
//! is read; the crates for it depend on a parser of Python literals or on ndarray.

use crate::error::{Error, Result};

use super::element::Element;

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy's limit.
pub(super) const MAX_DIMENSIONS: usize = 64;

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Type of the elements.
    pub element: Element,
    /// Shape, outermost dimension first; empty for a scalar.
    pub shape: Vec<u64>,
    /// The data, in C order.
    pub bytes: Vec<u8>,
}

/// NumPy's name of a type. NumPy lacks bfloat16, whose bits are saved as integers.
fn descr(element: Element) -> &'static str {
    match element {
        Element::U8 => "|u1",
        Element::U16 | Element::Bf16 => "<u2",
        Element::U32 => "<u4",
        Element::U64 => "<u8",
        Element::I8 => "|i1",
        Element::I16 => "<i2",
        Element::I32 => "<i4",
        Element::I64 => "<i8",
        Element::F16 => "<f2",
        Element::F32 => "<f4",
        Element::F64 => "<f8",
    }
}

/// Writes an array as a file.
pub fn write(array: &Array) -> Vec<u8> {
    let sizes: Vec<String> = array.shape.iter().map(u64::to_string).collect();
    // A Python tuple of one element is `(64,)`.
    let comma = if sizes.len() == 1 { "," } else { "" };
    let (descr, sizes) = (descr(array.element), sizes.join(", "));
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}{comma}), }}");
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(&array.bytes);
    file
}

/// Reads an array of type `element` from the bytes of a file; error messages use `name`.
///
/// # Errors
/// [`Error::Launch`] if the bytes are no such array or are truncated.
pub fn read(name: &str, file: &[u8], element: Element) -> Result<Array> {
    let wrong = |expected: &str, found: String| Error::Launch {
        what: name.to_owned(),
        expected: expected.to_owned(),
        found,
    };
    let not_npy = || wrong("a .npy file of NumPy", "something else".into());
    let (header, data) = split(file).ok_or_else(not_npy)?;
    let value = |key: &str| {
        let rest = header.split_once(&format!("'{key}':"))?.1.trim_start();
        Some(rest.to_owned())
    };
    let (Some(found), Some(order), Some(shape)) =
        (value("descr"), value("fortran_order"), value("shape"))
    else {
        return Err(not_npy());
    };
    let found = found.split('\'').nth(1).unwrap_or("a structure");
    let expected = descr(element);
    if found != expected {
        let expected = format!("'{expected}', {element} to NumPy");
        return Err(wrong(&expected, format!("'{found}'")));
    }
    let shape = tuple(&shape).ok_or_else(not_npy)?;
    if order.starts_with("True") && shape.len() > 1 {
        return Err(wrong("an array in C order", "Fortran order".into()));
    }
    let count = (shape.iter()).try_fold(1, |product: u64, &n| product.checked_mul(n));
    let bytes = count.and_then(|n| n.checked_mul(element.bytes() as u64));
    if bytes != Some(data.len() as u64) {
        let expected = format!("{shape:?} numbers of {} bytes", element.bytes());
        return Err(wrong(&expected, format!("{} bytes", data.len())));
    }
    Ok(Array {
        element,
        shape,
        bytes: data.to_vec(),
    })
}

/// Splits a file of format 1, 2 or 3 into header and data.
fn split(file: &[u8]) -> Option<(&str, &[u8])> {
    let rest = file.strip_prefix(MAGIC)?;
    let (&[version, _], rest) = rest.split_first_chunk()?;
    let (length, rest) = match version {
        1 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*length), rest)
        }
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length as usize)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// `(3, 4), …` → [3, 4]
fn tuple(text: &str) -> Option<Vec<u64>> {
    let inside = text.strip_prefix('(')?.split_once(')')?.0;
    let sizes = inside.split(',').map(str::trim).filter(|s| !s.is_empty());
    let sizes: Vec<u64> = sizes.map(|s| s.parse().ok()).collect::<Option<_>>()?;
    (sizes.len() <= MAX_DIMENSIONS).then_some(sizes)
}
