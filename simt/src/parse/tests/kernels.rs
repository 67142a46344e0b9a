//! All PTX texts of the repository.

use crate::ast::{Instruction, Module, Statement};
use std::fs;
use std::path::Path;

use crate::case::files_below;

/// Collects the instructions in source order, including inner blocks.
fn instructions<'a>(statements: &'a [Statement], found: &mut Vec<&'a Instruction>) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => found.push(instruction),
            Statement::Block(inner) => instructions(inner, found),
            _ => {}
        }
    }
}

fn all_instructions(module: &Module) -> Vec<&Instruction> {
    let mut found = Vec::new();
    for body in module
        .functions
        .iter()
        .filter_map(|function| function.body.as_ref())
    {
        instructions(body, &mut found);
    }
    found
}

/// Whether a statement starts with a guard or an opcode.
fn is_instruction(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '{']);
    let word = line.split([' ', '\t', ';']).next().unwrap_or_default();
    line.starts_with('@')
        || (line.starts_with(|c: char| c.is_ascii_lowercase()) && !word.ends_with(':'))
}

fn check(path: &Path) {
    let name = path.display();
    let text = fs::read_to_string(path).unwrap();
    let module = crate::parse::module(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let lines: Vec<&str> = text.lines().collect();
    let found = all_instructions(&module);
    for instruction in &found {
        let line = lines[instruction.line as usize - 1];
        assert!(
            line.contains(&instruction.form()),
            "{name}: {} in {line}",
            instruction.form()
        );
    }
    // The assembler text of a `.cu` file can have several on a line.
    let code = lines.iter().filter_map(|line| line.split("//").next());
    let statements = code.flat_map(|line| line.split(';'));
    let count = statements.filter(|s| is_instruction(s)).count();
    assert_eq!(found.len(), count, "{name}: instructions");
    let entries = module
        .functions
        .iter()
        .filter(|function| function.is_entry)
        .count();
    let count = lines.iter().filter(|line| line.contains(".entry ")).count();
    assert_eq!(entries, count, "{name}: entries");
    let files = lines
        .iter()
        .filter(|line| line.trim_start().starts_with(".file"))
        .count();
    assert_eq!(module.files.len(), files, "{name}: files");
    assert!(
        module.target.starts_with("sm_") && module.version.0 >= 6,
        "{name}"
    );
}

#[test]
fn all_kernels() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let found = files_below(&folder, &["ptx"]).unwrap();
    assert!(found.len() > 40);
    for path in &found {
        check(path);
    }
}
