//! PTX constants.

use crate::ast::Immediate;

/// Parses a number: `12`, `017`, `0x1F`, `0b101`, each with an optional `U`; `0f` and 8 or `0d` and 16
/// hexadecimal digits; `1.5`, `2e-3`. `None` if it is no number, or an integer of more than 64 bits.
pub(super) fn immediate(text: &str, negative: bool) -> Option<Immediate> {
    let (prefix, digits) = text.split_at_checked(2).unwrap_or((text, ""));
    match prefix {
        "0x" | "0X" => integer(digits, 16, negative),
        "0b" | "0B" => integer(digits, 2, negative),
        "0f" | "0F" => {
            let bits = bits(digits, 8)? as u32;
            Some(Immediate::F32(bits ^ (u32::from(negative) << 31)))
        }
        "0d" | "0D" => {
            let bits = bits(digits, 16)?;
            Some(Immediate::F64(bits ^ (u64::from(negative) << 63)))
        }
        _ if text.contains(['.', 'e', 'E']) => {
            let value: f64 = text.parse().ok()?;
            Some(Immediate::F64(
                if negative { -value } else { value }.to_bits(),
            ))
        }
        _ if text.starts_with('0') => integer(text, 8, negative),
        _ => integer(text, 10, negative),
    }
}

/// Parses digits with an optional `U`.
fn integer(text: &str, radix: u32, negative: bool) -> Option<Immediate> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?);
    match negative {
        false => Some(Immediate::Int(value)),
        true if value <= 1 << 63 => Some(Immediate::Int(-value)),
        true => None,
    }
}

/// Parses exactly `count` hexadecimal digits.
fn bits(digits: &str, count: usize) -> Option<u64> {
    if digits.len() != count {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::immediate;
    use crate::ast::Immediate::{self, F32, F64, Int};

    fn read(text: &str) -> Option<Immediate> {
        match text.strip_prefix('-') {
            Some(text) => immediate(text, true),
            None => immediate(text, false),
        }
    }

    #[test]
    fn integers() {
        for (text, value) in [
            ("0", 0),
            ("12", 12),
            ("-1", -1),
            ("017", 15),
            ("0U", 0),
            ("5U", 5),
            ("0x7fffffff", 0x7fff_ffff),
            ("0XFFU", 255),
            ("-0x10", -16),
            ("0b101", 5),
            ("0x1E", 30),
            ("18446744073709551615", u64::MAX.into()),
            ("-9223372036854775808", i64::MIN.into()),
        ] {
            assert_eq!(read(text), Some(Int(value)), "{text}");
        }
    }

    #[test]
    fn floats() {
        for (text, value) in [
            ("0f3f800000", F32(0x3f80_0000)),
            ("0FBF800000", F32(0xbf80_0000)),
            ("-0f3f800000", F32(0xbf80_0000)),
            ("0d3ff0000000000000", F64(1f64.to_bits())),
            ("0D3FF0000000000000", F64(1f64.to_bits())),
            ("1.5", F64(1.5f64.to_bits())),
            ("2.", F64(2f64.to_bits())),
            ("2.0e3", F64(2000f64.to_bits())),
            ("-1e-5", F64((-1e-5f64).to_bits())),
            ("0.0", F64(0)),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
    }

    #[test]
    fn words_that_are_no_numbers() {
        for text in [
            "08",
            "1x",
            "0x",
            "0b2",
            "0b",
            "0f3f80000",
            "0f3f8000000",
            "0d3ff0",
            "1.2.3",
            "1e",
            "1_0",
            "U",
            "18446744073709551616",
            "-9223372036854775809",
            "",
            "0f",
            "1.5U",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
