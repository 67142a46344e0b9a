//! Lines of this program on stdout and stderr.

use std::fmt::Display;
use std::process::exit;

/// Prints a line to stdout. A closed pipe is no error; any other failure ends the program with one line and exit code 2.
pub fn say(line: impl Display) {
    if let Err(bad) = data::say(line) {
        error(bad);
        exit(2)
    }
}

/// Prints an error to stderr as one line.
pub fn error(error: impl Display) {
    let text = error.to_string();
    data::note(format_args!("error: {}", one_line(&text)));
}

/// The text with blanks in place of newlines.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
