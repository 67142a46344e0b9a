//! Makes output equal on every system. Test programs include this file with `#[path]`.

/// The UTF-8 text of a program's output; on Windows with `/` for each `\`, as the tests write paths.
///
/// # Panics
/// If it is not UTF-8.
pub fn text(output: Vec<u8>) -> String {
    slashes(&String::from_utf8(output).unwrap())
}

/// The same for expected text that may contain a path.
pub fn slashes(text: &str) -> String {
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.to_owned()
    }
}
