//! Lists of numbers: `0,3,5`, `100*0,4` with a repeat count, or bytes in hexadecimal, `0x0a22ff,0`.

use super::element::Element;

/// Maximum length of a list.
const MOST: usize = 1 << 20;
/// Equal numbers in a row from which on a repeat count is written.
const MANY: usize = 3;

/// Parses a list into bits; `None` if a number is not of this type or there are too many.
pub fn parse(element: Element, text: &str) -> Option<Vec<u64>> {
    let mut all = vec![];
    for part in text.split(',') {
        if let Some(digits) = hex_of(element, part) {
            let bytes = bytes(digits).filter(|bytes| bytes.len() <= MOST - all.len())?;
            all.extend(bytes.into_iter().map(u64::from));
            continue;
        }
        let (count, number) = part.split_once('*').unwrap_or(("1", part));
        let count: usize = count.parse().ok().filter(|n| *n <= MOST - all.len())?;
        all.resize(all.len() + count, element.parse(number)?);
    }
    Some(all)
}

/// The hexadecimal digits of a part such as `0x0a22ff`.
fn hex_of(element: Element, part: &str) -> Option<&str> {
    part.strip_prefix("0x").filter(|_| element == Element::U8)
}

/// One byte for each two hexadecimal digits: `0a0b` → [10, 11]. `None` for anything else.
pub fn bytes(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |d: &u8| Some(char::from(*d).to_digit(16)? as u8);
    let pair = |pair: &[u8]| Some(16 * digit(&pair[0])? + digit(&pair[1])?);
    digits.as_bytes().chunks(2).map(pair).collect()
}

/// Formats a list as `parse` reads it: bytes in hexadecimal where that is shorter.
pub fn text(element: Element, values: &[u64]) -> String {
    let decimal = in_decimal(element, values);
    if element == Element::U8 && 2 + 2 * values.len() < decimal.len() {
        return values.iter().fold("0x".to_owned(), |mut text, byte| {
            text.push_str(&format!("{byte:02x}"));
            text
        });
    }
    decimal
}

fn in_decimal(element: Element, values: &[u64]) -> String {
    let run = |run: &[u64]| {
        let number = element.text(run[0]);
        match run.len() {
            n if n >= MANY => format!("{n}*{number}"),
            n => vec![number; n].join(","),
        }
    };
    let runs: Vec<String> = values.chunk_by(|a, b| a == b).map(run).collect();
    runs.join(",")
}
