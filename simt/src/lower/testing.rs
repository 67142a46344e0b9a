//! What the tests of this part share.

use crate::ast::{Function, Module, Space, Statement, Type, Variable};
use crate::code::{Kernel, Op};
use crate::error::{Error, Result};

/// A variable without initial value, aligned as its elements are.
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

/// A kernel of this body, `k`.
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

/// A text with a header.
pub fn module(text: &str) -> Module {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}");
    crate::parse::module(&text).unwrap()
}

const REGISTERS: &str = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; \
     .reg .b64 %d<9>;";

/// What the kernel `k` of a module with these declarations and this body becomes. The body has registers
/// `%p`, `%h`, `%r`, `%f` and `%d`, and begins in line 5.
pub fn lower_with(declarations: &str, body: &str) -> Result<Kernel> {
    let declarations = declarations.replace('\n', " ");
    let text = format!(
        "{declarations} .visible .entry k(.param .u64 a, .param .u32 n) {{ {REGISTERS}\n{body}\n}}"
    );
    super::kernel(&module(&text), "k")
}

/// The operations of the kernel with this body.
pub fn ops(body: &str) -> Vec<Op> {
    lower_with("", body)
        .unwrap()
        .code
        .into_iter()
        .map(|step| step.op)
        .collect()
}

/// The text of the error of the kernel with this body.
pub fn error(body: &str) -> String {
    lower_with("", body)
        .map(|_| ())
        .map_err(|e: Error| e.to_string())
        .unwrap_err()
}
