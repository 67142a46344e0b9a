//! Mutants of a kernel: the same text with one small mistake, to see whether a test or a finding shows it.
//!
//! [`mutants`] lists those of an entry, [`OPERATORS`] says which mistakes are made, and [`Judge`] runs mutants
//! over launches and says what became of each. Where it is known beforehand that nothing changes, no mutant is made.

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

/// A kernel with a mistake in it.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The kernel.
    pub entry: String,
    /// Name of the mutation operator.
    pub operator: &'static str,
    /// Line of the text.
    pub line: u32,
    /// The instruction.
    pub was: String,
    /// What stands in its place; empty if nothing does.
    pub now: String,
    /// Where it stands: a number in the body, and one more for each block that it is in.
    path: Vec<usize>,
    change: Change,
}

/// Those of an entry, in the order of the text; none of a kernel that is not there.
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

/// Those of an instruction.
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
    /// The module with this mistake, and with no other entry.
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
