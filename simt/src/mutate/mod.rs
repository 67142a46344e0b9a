//! Mutation testing of kernels: a mutant has one small defect, which a test or a finding should reveal.
//!
//! [`mutants`] lists the mutants of an entry, [`OPERATORS`] the kinds of defects, and [`Judge`] runs mutants
//! and judges them. Mutants that are known to be equivalent to the original are not generated.

mod arithmetic;
mod compare;
mod guard;
mod judge;
mod memory;
mod operators;
mod outputs;
mod shuffle;
mod site;
mod sync;
mod text;

#[cfg(test)]
mod tests;

pub use judge::{Judge, Verdict};
pub use operators::{Change, OPERATORS, Operator};
pub use outputs::Difference;
pub use site::{Constants, Site};

use crate::Module;
use crate::ast::{self, Statement};

/// A kernel with one defect.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// Name of the kernel.
    pub entry: String,
    /// Name of the mutation operator.
    pub operator: &'static str,
    /// Line of the text.
    pub line: u32,
    /// The original instruction.
    pub was: String,
    /// The replacement; empty if the instruction is deleted.
    pub now: String,
    /// Position in the body: one index per enclosing block, and one in the innermost.
    path: Vec<usize>,
    change: Change,
}

/// Lists the mutants of an entry in source order; empty if there is no such entry.
pub fn mutants(module: &Module, entry: &str) -> Vec<Mutant> {
    let mut found = vec![];
    let functions = module.ast.functions.iter();
    for function in functions.filter(|f| f.is_entry && f.name == entry) {
        if let Some(body) = &function.body {
            let constants = Constants::of(body);
            collect(entry, body, &constants, &mut vec![], &mut found);
        }
    }
    found
}

fn collect(
    entry: &str,
    body: &[Statement],
    constants: &Constants,
    path: &mut Vec<usize>,
    found: &mut Vec<Mutant>,
) {
    for (number, statement) in body.iter().enumerate() {
        path.push(number);
        match statement {
            Statement::Block(inner) => collect(entry, inner, constants, path, found),
            Statement::Instruction(instruction) => {
                let site = Site {
                    instruction,
                    constants,
                };
                found.extend(at(entry, &site, path));
            }
            _ => {}
        }
        path.pop();
    }
}

/// Lists the mutants of an instruction.
fn at(entry: &str, site: &Site, path: &[usize]) -> Vec<Mutant> {
    let was = text::instruction(site.instruction);
    let one = |operator: &'static str, change: Change| Mutant {
        entry: entry.into(),
        operator,
        line: site.instruction.line,
        was: was.clone(),
        now: match &change {
            Change::Dropped => String::new(),
            Change::Becomes(statement) => text::statement(statement),
        },
        path: path.to_vec(),
        change,
    };
    let of = |o: &'static Operator| (o.changes)(site).into_iter().map(|c| one(o.name, c));
    OPERATORS.iter().flat_map(of).collect()
}

impl Mutant {
    /// Returns the module with this defect and without its other entries.
    pub fn apply(&self, module: &Module) -> Module {
        let functions = module.ast.functions.iter();
        let kept = functions.filter(|f| !f.is_entry || f.name == self.entry);
        let mut ast = ast::Module {
            version: module.ast.version,
            target: module.ast.target.clone(),
            files: module.ast.files.clone(),
            variables: module.ast.variables.clone(),
            functions: kept.cloned().collect(),
        };
        for function in ast.functions.iter_mut().filter(|f| f.is_entry) {
            if let Some(body) = &mut function.body {
                self.rewrite(body, &self.path);
            }
        }
        Module { ast }
    }

    fn rewrite(&self, body: &mut Vec<Statement>, path: &[usize]) {
        match (path, &self.change) {
            ([number], Change::Dropped) => _ = body.remove(*number),
            ([number], Change::Becomes(statement)) => body[*number] = statement.clone(),
            ([number, inner @ ..], _) => {
                if let Statement::Block(body) = &mut body[*number] {
                    self.rewrite(body, inner);
                }
            }
            ([], _) => {}
        }
    }
}
