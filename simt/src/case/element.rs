//! Types of arguments and of buffer elements.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};

/// A number's type. `i32` and PTX's `s32` are two names for the same type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

use Element::{Bf16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// Types and their names.
const ALL: [(Element, &str); 12] = [
    (U8, "u8"),
    (U16, "u16"),
    (U32, "u32"),
    (U64, "u64"),
    (I8, "i8"),
    (I16, "i16"),
    (I32, "i32"),
    (I64, "i64"),
    (F16, "f16"),
    (Bf16, "bf16"),
    (F32, "f32"),
    (F64, "f64"),
];

impl FromStr for Element {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let rust = match text.strip_prefix('s') {
            Some(bits) => format!("i{bits}"),
            None => text.to_owned(),
        };
        let known = ALL.iter().find(|(_, name)| *name == rust);
        known.map(|(element, _)| *element).ok_or(())
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let known = ALL.iter().find(|(element, _)| element == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

impl Element {
    /// The names, for messages.
    pub(super) const NAMES: &str = "u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32 or f64";

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            U8 | I8 => 1,
            U16 | I16 | F16 | Bf16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, F16 | Bf16 | F32 | F64)
    }

    /// Smallest and largest integer.
    fn range(self) -> (i128, i128) {
        let bits = 8 * self.bytes();
        match self {
            U8 | U16 | U32 | U64 => (0, (1 << bits) - 1),
            _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    /// Parses a number into its bits: `-3`, `0xff`, `1e-5`, `nan`. `None` if the text is no number of this
    /// type.
    pub fn parse(self, text: &str) -> Option<u64> {
        if self.is_float() {
            return Some(match self {
                // Parsing as f64 first would round twice.
                F32 => text.parse::<f32>().ok()?.to_bits().into(),
                _ => self.from_f64(text.parse().ok()?),
            });
        }
        let number = match text.strip_prefix("0x") {
            Some(digits) if !digits.starts_with(['+', '-']) => {
                i128::from_str_radix(digits, 16).ok()?
            }
            _ => text.parse().ok()?,
        };
        let (least, most) = self.range();
        (least..=most)
            .contains(&number)
            .then_some(self.masked(number as u64))
    }

    /// Formats bits as `parse` reads them.
    pub fn text(self, bits: u64) -> String {
        match self {
            U8 | U16 | U32 | U64 => bits.to_string(),
            I8 => (bits as i8).to_string(),
            I16 => (bits as i16).to_string(),
            I32 => (bits as i32).to_string(),
            I64 => (bits as i64).to_string(),
            F32 => format!("{:?}", f32::from_bits(bits as u32)),
            F16 | Bf16 | F64 => format!("{:?}", self.to_f64(bits)),
        }
    }

    /// Converts an integer into bits: wraps for an integer type, rounds to nearest for a float.
    pub fn from_u64(self, i: u64) -> u64 {
        if self.is_float() {
            self.from_f64(i as f64)
        } else {
            self.masked(i)
        }
    }

    /// Converts `x` into bits: rounds to nearest for a float, towards zero for an integer.
    pub fn from_f64(self, x: f64) -> u64 {
        match self {
            F16 => f16::from_f64(x).to_bits().into(),
            Bf16 => bf16::from_f64(x).to_bits().into(),
            F32 => (x as f32).to_bits().into(),
            F64 => x.to_bits(),
            _ => self.masked(x as i128 as u64),
        }
    }

    /// Converts bits into a number.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            U8 | U16 | U32 | U64 => bits as f64,
            I8 => f64::from(bits as i8),
            I16 => f64::from(bits as i16),
            I32 => f64::from(bits as i32),
            I64 => bits as i64 as f64,
            F16 => f16::from_bits(bits as u16).to_f64(),
            Bf16 => bf16::from_bits(bits as u16).to_f64(),
            F32 => f64::from(f32::from_bits(bits as u32)),
            F64 => f64::from_bits(bits),
        }
    }

    /// The bytes of a number in memory.
    pub fn to_bytes(self, bits: u64) -> Vec<u8> {
        bits.to_le_bytes()[..self.bytes()].to_vec()
    }

    fn masked(self, bits: u64) -> u64 {
        match self.bytes() {
            8 => bits,
            bytes => bits & ((1 << (8 * bytes)) - 1),
        }
    }
}
