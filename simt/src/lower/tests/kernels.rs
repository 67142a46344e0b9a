//! All kernels of the workbook.

use std::path::Path;

use crate::case::files_below;
use crate::code::Op;
use crate::lower::kernel;

/// All but those for Hopper that multiply by `wgmma` or copy boxes, whose error gives the reason.
#[test]
fn every_kernel_can_be_lowered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let paths = files_below(&folder, &["ptx"]).unwrap();
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in paths {
        let module = crate::parse::module(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.to_string_lossy();
        let hopper = name.ends_with(".sm_90a.ptx") && !name.contains("decoder_pass");
        for entry in module.functions.iter().filter(|f| f.is_entry) {
            match kernel(&module, &entry.name) {
                Ok(_) if hopper => failures.push(format!("{}: lowered", entry.name)),
                Ok(kernel) => check_targets(&kernel),
                Err(error) if hopper => {
                    assert!(error.to_string().contains("not supported"), "{error}")
                }
                Err(error) => failures.push(format!("{}: {error}", path.display())),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Checks that branch targets are valid and that most branches have a meeting point before the end.
fn check_targets(kernel: &crate::code::Kernel) {
    let end = kernel.code.len() as u32;
    assert!(matches!(
        kernel.code[end as usize - 1].op,
        Op::Exit | Op::Branch { .. }
    ));
    for step in &kernel.code {
        if let Op::Branch { to, meet } = &step.op {
            assert!(
                *to < end && meet.is_none_or(|m| m < end),
                "{}",
                step.location
            );
        }
    }
}
