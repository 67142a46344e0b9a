//! Names of buffers: everything that `workbook sim` prints about a buffer calls it the same.

use simt::Kernel;
use simt::case::Operands;

/// Name of a buffer in the kernel: `y` of `param_y`, or else `argument 1`.
pub fn name(kernel: &Kernel, operands: &Operands, b: usize) -> String {
    let mut params = kernel.params().enumerate();
    let (k, (name, _)) = params
        .find(|(k, _)| operands.buffer(*k) == Some(b))
        .unwrap_or((b, ("", 0)));
    // A compiler numbers the parameters.
    let numbered = name.ends_with(&format!("param_{k}")) || name.is_empty();
    match name.strip_prefix("param_").unwrap_or(name) {
        _ if numbered => format!("argument {k}"),
        name => name.to_owned(),
    }
}

/// Renames the buffers for findings, from `argument 1 (f32:30)` to `y (f32:30)`.
pub fn set(kernel: &Kernel, operands: &mut Operands) {
    for b in 0..operands.buffers.len() {
        let name = name(kernel, operands, b);
        let known = &mut operands.buffers[b].name;
        if let Some((_, layout)) = known.split_once(" (") {
            *known = format!("{name} ({layout}");
        }
    }
}
