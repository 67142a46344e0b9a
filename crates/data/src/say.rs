//! Lines on stdout and stderr, without the panic of `println!`.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use crate::BadInput;

/// Prints a line to stdout. A reader that has closed the pipe, as `| head` does, is no error: the program goes on with
/// its files and its exit code.
///
/// # Errors
/// [`BadInput`] if stdout cannot be written for another reason, such as a full disk.
pub fn say(line: impl Display) -> Result<(), BadInput> {
    print_line(&mut io::stdout().lock(), line)
}

/// Prints a line to stderr. If this fails, nothing can be printed.
pub fn note(line: impl Display) {
    let _ = print_line(&mut io::stderr().lock(), line);
}

fn print_line(out: &mut impl Write, line: impl Display) -> Result<(), BadInput> {
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(BadInput::unwritable(Path::new("stdout"), &e))
        }
        _ => Ok(()),
    }
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
