//! Text on stdout and stderr, without the panic of `println!` when the reader has closed the pipe, and [`plain`]: parts of it
//! are from files, folders and submissions of others, and must not act on a terminal.

use std::fmt::{Arguments, Display};
use std::io::{self, Write};
use std::path::Path;

use crate::{BadInput, plain};

/// Prints a line to stdout. A reader that has closed the pipe, as `| head` does, is no error: the program goes on with
/// its files and its exit code.
///
/// # Errors
/// [`BadInput`] if stdout cannot be written for another reason, such as a full disk.
pub fn say(line: impl Display) -> Result<(), BadInput> {
    print_line(&mut io::stdout().lock(), line)
}

/// Prints to stdout as `std::print!` does, but a reader that has closed the pipe is no error, as in
/// [`say`](crate::say()): the program goes on with its files and its exit code.
///
/// # Panics
/// If stdout cannot be written for another reason, with the message of `std::print!`. Programs end then with one line.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::print_text(::std::format_args!($($text)*), "") };
}

/// The same as [`print!`](crate::print), with a newline after the text.
#[macro_export]
macro_rules! println {
    () => { $crate::print_text(::std::format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::print_text(::std::format_args!($($text)*), "\n") };
}

/// Implements [`print!`](crate::print) and [`println!`](crate::println).
#[doc(hidden)]
pub fn print_text(text: Arguments, end: &str) {
    let text = text.to_string();
    let written = write!(io::stdout().lock(), "{}{end}", plain(&text));
    if let Err(e) = written.or_else(unless_closed) {
        panic!("failed printing to stdout: {e}");
    }
}

/// A closed pipe is no error.
fn unless_closed(e: io::Error) -> io::Result<()> {
    match e.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(e),
    }
}

/// Prints a line to stderr. If this fails, nothing can be printed.
pub fn note(line: impl Display) {
    let _ = print_line(&mut io::stderr().lock(), line);
}

fn print_line(out: &mut impl Write, line: impl Display) -> Result<(), BadInput> {
    let line = line.to_string();
    let written = writeln!(out, "{}", plain(&line)).and_then(|()| out.flush());
    written
        .or_else(unless_closed)
        .map_err(|e| BadInput::unwritable(Path::new("stdout"), &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error() {
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(print_line(&mut writer, "gone"), Ok(()));
    }

    #[test]
    fn a_printed_name_does_not_act_on_a_terminal() {
        let mut out = vec![];
        print_line(&mut out, "\u{1b}]0;title\u{7}a\tb\nc").unwrap();
        assert_eq!(out, b"\\u{1b}]0;title\\u{7}a\tb\nc\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_one() {
        let mut full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let error = print_line(&mut full, "a").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot write `stdout`: no space left"),
            "{error}"
        );
    }
}
