//! Reading files: whole, as text, and as rows of numbers. Errors name file and line.

use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use crate::BadInput;

/// Maximum bytes of a file that a person names, and of a pipe or a device: `/dev/zero` has no end.
const MAX_STREAM: u64 = 1 << 28;

/// Name of the file with a learner's progress, which is in the folder of their exercises.
pub const PROGRESS: &str = ".candlepower.json";

/// Reads a whole file that a person names, of at most 256 MiB. It may be a pipe or a device.
///
/// # Errors
/// [`BadInput`] if the file cannot be read or is larger.
pub fn read(path: &Path) -> Result<Vec<u8>, BadInput> {
    // A folder can be opened, and reading it fails.
    if path
        .metadata()
        .is_ok_and(|file| file.is_file() || file.is_dir())
    {
        return read_file(path, MAX_STREAM);
    }
    let file = File::open(path).map_err(|e| BadInput::unreadable(path, &e))?;
    all_of(path, file, MAX_STREAM, " from a pipe or a device")
}

/// Whether a folder has an entry of this name. A link that leads nowhere is one: reading it is an error, and it is not
/// the same as no file.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a whole file of at most `limit` bytes. Its size is checked before anything is read or allocated; one without a
/// size, as in `/proc`, is empty.
///
/// # Errors
/// [`BadInput`] if the file is larger or cannot be read, and for a folder, a pipe or a device: a pipe in a
/// folder of files would wait forever.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, BadInput> {
    let unreadable = |e| BadInput::unreadable(path, &e);
    let metadata = path.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(BadInput::new(path.display(), "a file", kind(&metadata)));
    }
    if metadata.len() > limit {
        let expected = format!("at most {limit} bytes");
        return Err(BadInput::new(path.display(), expected, metadata.len()));
    }
    // Files in `/proc` have this size, too, and reading one such as `/proc/kmsg` may wait forever.
    if metadata.len() == 0 {
        return Ok(vec![]);
    }
    all_of(path, File::open(path).map_err(unreadable)?, limit, "")
}

/// Reads `file` up to `limit` bytes; `from` ends the sentence about more.
fn all_of(path: &Path, file: File, limit: u64, from: &str) -> Result<Vec<u8>, BadInput> {
    let unreadable = |e| BadInput::unreadable(path, &e);
    let mut bytes = vec![];
    let size = file.metadata().map_or(0, |file| file.len().min(limit));
    let room = bytes.try_reserve_exact(size as usize);
    room.map_err(|e| unreadable(e.into()))?;
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        let expected = format!("at most {limit} bytes{from}");
        return Err(BadInput::new(path.display(), expected, "more"));
    }
    Ok(bytes)
}

/// Whether there is a file at `path`, which must be a regular one. Links are followed.
///
/// # Errors
/// [`BadInput`] for a folder, for a link that leads nowhere, which a write would replace, and for a pipe or a device, from
/// which a read may never return.
pub fn is_regular(path: &Path) -> Result<bool, BadInput> {
    match path.metadata() {
        Ok(file) if file.is_file() => Ok(true),
        Ok(other) => {
            let found = kind(&other);
            Err(BadInput::new(path.display(), "a regular file", found))
        }
        // Another program may have made the file since: `is_there` would take it for a link.
        Err(_) if path.is_symlink() => {
            let found = "a link that leads nowhere";
            Err(BadInput::new(path.display(), "a regular file", found))
        }
        // The next read names the reason, if there is one.
        Err(_) => Ok(false),
    }
}

/// Names something that is no regular file.
pub fn kind(other: &Metadata) -> &'static str {
    if other.is_dir() {
        "a folder"
    } else {
        "a pipe or a device"
    }
}

/// Reads a file that a person names as UTF-8, without a byte order mark.
///
/// # Errors
/// See [`read`]; and [`BadInput`] with the offset of the first byte that is no UTF-8.
pub fn read_text(path: &Path) -> Result<String, BadInput> {
    text(path, read(path)?)
}

/// Reads a file of at most `limit` bytes as UTF-8, without a byte order mark.
///
/// # Errors
/// See [`read_file`]; and [`BadInput`] with the offset of the first byte that is no UTF-8.
pub fn read_text_file(path: &Path, limit: u64) -> Result<String, BadInput> {
    text(path, read_file(path, limit)?)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, BadInput> {
    let mut text = String::from_utf8(bytes).map_err(|e| {
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

/// Returns a text whose lines end by `\n`, where a file of an old Mac has a `\r` at the end of each.
pub(crate) fn with_newlines(text: String) -> String {
    if text.contains('\r') && !text.contains('\n') {
        text.replace('\r', "\n")
    } else {
        text
    }
}

/// Reads comma-separated numbers of a regular file, one row per line, all of the same width; `expected` describes
/// them. Empty lines at the end are ignored.
pub(crate) fn rows<T: FromStr>(path: &Path, expected: &str) -> Result<Vec<Vec<T>>, BadInput> {
    let text = with_newlines(read_text_file(path, MAX_STREAM)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, "\u{feff}{}").unwrap();
        assert_eq!(read_text(&path).unwrap(), "{}");
        std::fs::write(&path, b"ab\xff").unwrap();
        let error = read_text(&path).unwrap_err().to_string();
        assert!(error.ends_with("expected UTF-8 text, found other bytes at offset 2"));
    }

    #[test]
    fn only_a_regular_file_is_regular() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert_eq!(is_regular(&path), Ok(false));
        std::fs::write(&path, "").unwrap();
        assert_eq!(is_regular(&path), Ok(true));
        let error = is_regular(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("expected a regular file, found a folder"));
        if cfg!(unix) {
            let error = is_regular(Path::new("/dev/null")).unwrap_err().to_string();
            assert!(error.ends_with("found a pipe or a device"), "{error}");
        }
    }

    #[test]
    fn a_file_has_a_limit() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.json");
        std::fs::write(&path, "1234")?;
        assert_eq!(read_text_file(&path, 4)?, "1234");
        let end = |error: BadInput| error.to_string().split_once(": ").unwrap().1.to_owned();
        let error = end(read_file(&path, 3).unwrap_err());
        assert_eq!(error, "expected at most 3 bytes, found 4");
        // A file with a hole takes no space on the disk.
        File::create(&path)?.set_len(1 << 40)?;
        let error = end(read(&path).unwrap_err());
        assert_eq!(
            error,
            "expected at most 268435456 bytes, found 1099511627776"
        );
        let error = end(read_file(folder.path(), 3).unwrap_err());
        assert_eq!(error, "expected a file, found a folder");
        if cfg!(unix) {
            let error = end(read_file("/dev/null".as_ref(), 3).unwrap_err());
            assert_eq!(error, "expected a file, found a pipe or a device");
        }
        Ok(())
    }

    /// A pipe in a folder would wait for a writer forever; `/dev/null` is like it, but has an end.
    #[cfg(unix)]
    #[test]
    fn rows_come_from_a_regular_file() {
        let error = rows::<i64>(Path::new("/dev/null"), "numbers").unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("expected a file, found a pipe or a device")
        );
    }

    #[test]
    fn lines_may_end_by_a_carriage_return() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "1,2\r3,4\r").unwrap();
        assert_eq!(rows(&path, "numbers"), Ok(vec![vec![1, 2], vec![3, 4]]));
    }

    /// The kernel's log is a regular file of no bytes, and its end never comes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_size_is_empty() {
        for path in ["/proc/kmsg", "/proc/version"] {
            assert_eq!(read(Path::new(path)), Ok(vec![]), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
        let expected = "/dev/zero: expected at most 268435456 bytes from a pipe or a device";
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        assert!(read(Path::new(".")).is_err());
    }
}
