//! Notes on stderr: what a program did that its user may not expect.

use std::fmt::Display;
use std::io::Write;

/// `note: TEXT`
pub fn note(text: impl Display) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "note: {text}")
}
