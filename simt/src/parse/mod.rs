//! From text to [`ast::Module`](crate::ast::Module).

use crate::ast::Module;
use crate::error::Result;

/// Reads a text.
pub fn module(_text: &str) -> Result<Module> {
    todo!()
}
