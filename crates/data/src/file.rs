//! Text files of numbers; errors name file and line.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use crate::BadInput;

/// Reads a whole file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, BadInput> {
    std::fs::read(path).map_err(|e| BadInput::unreadable(path, &e))
}

/// Reads a whole file as UTF-8, without a byte order mark.
pub(crate) fn text(path: &Path) -> Result<String, BadInput> {
    let mut text = String::from_utf8(bytes(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        BadInput::new(
            path.display(),
            "UTF-8 text",
            format!("other bytes at offset {at}"),
        )
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads comma-separated numbers, one row per line, all of the same width; `expected` describes them. Empty
/// lines at the end are ignored.
pub(crate) fn rows<T: FromStr>(path: &Path, expected: &str) -> Result<Vec<Vec<T>>, BadInput> {
    let text = text(path)?;
    let mut rows: Vec<Vec<T>> = vec![];
    for (line, content) in text.trim_end().lines().enumerate() {
        let row: Result<Vec<T>, _> = content.split(',').map(|s| s.trim().parse()).collect();
        let row = row.map_err(|_| at(path, line, expected, quoted(content)))?;
        let width = rows.first().map_or(row.len(), Vec::len);
        if row.len() != width {
            let expected = format!("{width} values, as on line 1");
            return Err(at(path, line, expected, row.len()));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Reads one number per line.
pub(crate) fn column<T: FromStr>(path: &Path, expected: &str) -> Result<Vec<T>, BadInput> {
    let rows = rows(path, expected)?;
    let width = rows.first().map_or(1, Vec::len);
    if width != 1 {
        return Err(at(path, 0, expected, format!("{width} values")));
    }
    Ok(rows.into_iter().flatten().collect())
}

/// Reads rows of finite numbers.
pub(crate) fn attributes(path: &Path) -> Result<Vec<Vec<f32>>, BadInput> {
    let expected = "finite numbers, comma-separated";
    let rows: Vec<Vec<f32>> = rows(path, expected)?;
    let infinite = |row: &Vec<f32>| row.iter().any(|x| !x.is_finite());
    match rows.iter().position(infinite) {
        Some(line) => Err(at(path, line, expected, format!("{:?}", rows[line]))),
        None => Ok(rows),
    }
}

/// An error about line `line` (from 0) of a file.
pub(crate) fn at(
    path: &Path,
    line: usize,
    expected: impl Display,
    found: impl Display,
) -> BadInput {
    BadInput::new(format!("{}:{}", path.display(), line + 1), expected, found)
}

/// Quotes `content`, and shortens it if it is long.
pub(crate) fn quoted(content: &str) -> String {
    const LONGEST: usize = 40;
    match content.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("\"{}…\"", &content[..end]),
        None => format!("\"{content}\""),
    }
}
