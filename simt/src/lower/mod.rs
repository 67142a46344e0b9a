//! From [`ast`](crate::ast) to [`code`](crate::code): names become numbers, functions are inlined, branches
//! know where their lanes meet again.

use crate::ast::Module;
use crate::code::Kernel;
use crate::error::Result;

/// The kernel of this name.
pub fn kernel(_module: &Module, _name: &str) -> Result<Kernel> {
    todo!()
}
