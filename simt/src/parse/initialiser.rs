//! Initialisers of variables, as bytes.

use super::cursor::Cursor;
use super::lexer::Token;
use crate::ast::{Immediate, Type, Variable};
use crate::error::Result;
use half::{bf16, f16};

/// Parses `{1, 2, 0f3f800000}`, `{{1, 2}, {3, 4}}`, or for a scalar `1` into the variable's bytes. For `[]`,
/// the number of rows becomes the first dimension.
///
/// # Errors
/// A number that does not fit its type, more numbers than the variable holds, or an incomplete row other than
/// the last.
pub(super) fn initialiser(cursor: &mut Cursor, variable: &mut Variable) -> Result<()> {
    let mut shape = variable.dims.clone();
    if variable.vector > 1 {
        shape.push(variable.vector.into());
    }
    let mut bytes = Vec::new();
    if shape.is_empty() {
        constant(cursor, variable.ty, &mut bytes)?;
    } else {
        list(cursor, variable.ty, &shape, &mut bytes)?;
    }
    if let Some(first @ 0) = variable.dims.first_mut() {
        *first = (bytes.len() as u64).div_ceil(size(variable.ty, &shape[1..]));
    }
    variable.init = bytes;
    Ok(())
}

/// Parses `{ … }` of an array: constants, or nested lists for its rows.
fn list(cursor: &mut Cursor, ty: Type, shape: &[u64], bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    let row = size(ty, &shape[1..]);
    let end = match shape[0] {
        0 => u64::MAX, // `[]`
        length => start as u64 + length * row,
    };
    cursor.braces(|cursor| {
        loop {
            let before = bytes.len();
            if before as u64 == end {
                return cursor.error("`}`, as the array is full");
            }
            let is_row = cursor.peek() == Token::Mark('{');
            if is_row && shape.len() > 1 && ((before - start) as u64).is_multiple_of(row) {
                list(cursor, ty, &shape[1..], bytes)?;
            } else {
                constant(cursor, ty, bytes)?;
            }
            let is_short = is_row && (bytes.len() - before) as u64 != row;
            if is_short || !cursor.take(',')? {
                return Ok(());
            }
        }
    })
}

/// Size of an array in bytes.
fn size(ty: Type, shape: &[u64]) -> u64 {
    shape.iter().product::<u64>() * u64::from(ty.bytes())
}

/// Parses a number as an element; float bits are kept in an integer type of the same size.
fn constant(cursor: &mut Cursor, ty: Type, bytes: &mut Vec<u8>) -> Result<()> {
    let expected = "a constant that its type can hold";
    let element = cursor.constant(expected, |value| match (value, ty) {
        (Immediate::Int(value), _) => integer(ty, value),
        (Immediate::F32(bits), Type::F32 | Type::B32) => Some(bits.to_le_bytes().to_vec()),
        (Immediate::F64(bits), Type::F64 | Type::B64) => Some(bits.to_le_bytes().to_vec()),
        (Immediate::F32(bits), _) => float(ty, f32::from_bits(bits).into()),
        (Immediate::F64(bits), _) => float(ty, f64::from_bits(bits)),
    })?;
    bytes.extend_from_slice(&element);
    Ok(())
}

/// Converts an integer to an element; for a float type, the float of that value.
fn integer(ty: Type, value: i128) -> Option<Vec<u8>> {
    if let Some(element) = float(ty, value as f64) {
        return Some(element);
    }
    let bits = 8 * ty.bytes();
    let fits = bits > 64 || (-(1 << (bits - 1))..1 << bits).contains(&value);
    fits.then(|| value.to_le_bytes()[..ty.bytes() as usize].to_vec())
}

/// Converts a float to an element and rounds; `None` if the type is no float type.
fn float(ty: Type, value: f64) -> Option<Vec<u8>> {
    Some(match ty {
        Type::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
        Type::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
        Type::F32 => (value as f32).to_le_bytes().to_vec(),
        Type::F64 => value.to_le_bytes().to_vec(),
        _ => return None,
    })
}
