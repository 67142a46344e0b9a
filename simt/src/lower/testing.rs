//! Helpers of this folder's tests.

use crate::ast::{Function, Module, Space, Statement, Type, Variable};
use crate::code::{Kernel, Op};
use crate::error::{Error, Result};

/// A variable without an initialiser and with the alignment of its elements.
pub fn variable(space: Space, ty: Type, name: &str, dims: &[u64]) -> Variable {
    Variable {
        space,
        ty,
        vector: 1,
        name: name.into(),
        range: None,
        dims: dims.to_vec(),
        align: ty.bytes(),
        init: vec![],
        is_extern: false,
        line: 1,
    }
}

/// A kernel `k` with this body.
pub fn entry(body: Vec<Statement>) -> Function {
    Function {
        name: "k".into(),
        is_entry: true,
        returns: vec![],
        params: vec![],
        max_threads: None,
        required_threads: None,
        required_cluster: None,
        explicit_cluster: false,
        max_cluster: None,
        body: Some(body),
        line: 1,
    }
}

/// Parses a text after adding a header.
pub fn module(text: &str) -> Module {
    let text = format!(".version 8.4\n.target sm_90\n.address_size 64\n{text}");
    crate::parse::module(&text).unwrap()
}

const REGISTERS: &str = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; \
     .reg .b64 %d<9>;";

/// Lowers the kernel `k` of a module with these declarations and this body. The body declares the registers
/// `%p`, `%h`, `%r`, `%f` and `%d`, and starts in line 5.
pub fn lower_with(declarations: &str, body: &str) -> Result<Kernel> {
    let declarations = declarations.replace('\n', " ");
    let text = format!(
        "{declarations} .visible .entry k(.param .u64 a, .param .u32 n) {{ {REGISTERS}\n{body}\n}}"
    );
    super::kernel(&module(&text), "k")
}

/// Operations of the kernel with this body.
pub fn ops(body: &str) -> Vec<Op> {
    lower_with("", body)
        .unwrap()
        .code
        .into_iter()
        .map(|step| step.op)
        .collect()
}

/// Error message of the kernel with this body.
pub fn error(body: &str) -> String {
    lower_with("", body)
        .map(|_| ())
        .map_err(|e: Error| e.to_string())
        .unwrap_err()
}
