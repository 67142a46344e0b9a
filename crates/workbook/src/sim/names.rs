//! Names of buffers: everything that `workbook sim` prints about a buffer calls it the same.

use simt::Kernel;
use simt::case::Operands;

use super::text::Text;

/// Renames the buffers, from `argument 1 (f32:30)` to `y (f32:30)` for the parameter `param_y` of PTX, or `y` of CUDA.
pub fn set(text: &Text, kernel: &Kernel, operands: &mut Operands) {
    let in_cuda = text.parameters(kernel.name());
    for (k, (name, _)) in kernel.params().enumerate() {
        // A compiler numbers the parameters.
        let is_numbered = name.ends_with(&format!("param_{k}"));
        let name = if is_numbered {
            in_cuda.get(k).map(String::as_str)
        } else {
            Some(name.strip_prefix("param_").unwrap_or(name))
        };
        if let (Some(name), Some(b)) = (name, operands.buffer(k)) {
            let known = &mut operands.buffers[b].name;
            *known = known.replace(&format!("argument {k} ("), &format!("{name} ("));
        }
    }
}

/// Name of a buffer without its type and shape: `y`, or `argument 1`.
pub fn name(operands: &Operands, b: usize) -> &str {
    let name = &operands.buffers[b].name;
    name.split_once(" (").map_or(name, |(name, _)| name)
}
