//! Lowers [`ast`](crate::ast) to [`code`](crate::code): replaces names by numbers, inlines functions, and
//! computes reconvergence points.

mod arguments;
mod arithmetic;
mod asynchronous;
mod atomics;
mod barriers;
mod blocks;
mod branches;
mod calls;
mod carry;
mod choose;
mod cluster;
mod convert;
mod flow;
mod fragments;
mod incomplete;
mod instructions;
mod lanewise;
mod layout;
mod limits;
mod matrix;
mod mbarrier;
mod memory;
mod modifiers;
mod moves;
mod names;
mod operands;
mod predicates;
mod registers;
mod spaces;
mod statements;
mod system;
mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod types;
mod warp;

use std::collections::HashMap;

use crate::ast::{Function, Module, Space};
use crate::code::{Kernel, Op, Reg, Step};
use crate::error::{Error, Location, Result};

use layout::Shared;
use names::{Binding, Names};
use registers::Registers;

/// Lowers the kernel of this name.
pub fn kernel(module: &Module, name: &str) -> Result<Kernel> {
    let named = module
        .functions
        .iter()
        .filter(|f| f.is_entry && f.name == name);
    let Some((entry, body)) = named.filter_map(|f| Some((f, f.body.as_deref()?))).next() else {
        let (location, found) = (Location::default(), name.to_owned());
        return Err(Error::Name {
            location,
            expected: "a kernel of the module".into(),
            found,
        });
    };
    let mut lowering = Lowering::new(module, entry);
    lowering.check_module(entry)?;
    lowering.check_clusters(entry)?;
    lowering.shared = Shared::of(module, entry);
    let constants = lowering.module_variables();
    lowering.entry_params(entry)?;
    lowering.names.enter_block();
    lowering.body(body)?;
    lowering.check_shared()?;
    lowering.end();
    lowering.resolve_labels();
    flow::find_meeting_points(&mut lowering.code);
    Ok(lowering.finish(entry, constants))
}

/// State while a kernel's instructions are lowered in order.
struct Lowering<'a> {
    module: &'a Module,
    files: HashMap<u32, &'a str>,
    functions: HashMap<&'a str, &'a Function>,
    names: Names<'a>,
    registers: Registers,
    shared: Shared<'a>,
    local_bytes: u64,
    /// Steps so far; branches refer to labels until all positions are known.
    code: Vec<Step>,
    /// Targets of all `brx.idx` so far, which may share a list.
    targets: usize,
    /// Position of each label.
    labels: Vec<Option<u32>>,
    /// Functions being lowered, the entry first.
    calls: Vec<&'a str>,
    /// For each inlined function, the label after it, where `ret` goes.
    returns: Vec<u32>,
    /// Location of the instruction being lowered.
    location: Location,
    form: String,
    guard: Option<(Reg, bool)>,
}

impl<'a> Lowering<'a> {
    fn new(module: &'a Module, entry: &'a Function) -> Self {
        let with_body = |f: &&Function| f.body.is_some();
        let mut functions: HashMap<_, _> = module
            .functions
            .iter()
            .map(|f| (f.name.as_str(), f))
            .collect();
        functions.extend(
            module
                .functions
                .iter()
                .filter(with_body)
                .map(|f| (f.name.as_str(), f)),
        );
        Self {
            module,
            files: module
                .files
                .iter()
                .map(|(number, name)| (*number, name.as_str()))
                .collect(),
            functions,
            names: Names::default(),
            registers: Registers::default(),
            shared: Shared::default(),
            local_bytes: 0,
            code: Vec::new(),
            targets: 0,
            labels: Vec::new(),
            calls: vec![&entry.name],
            returns: Vec::new(),
            location: Location {
                line: entry.line,
                ..Location::default()
            },
            form: String::new(),
            guard: None,
        }
    }

    /// Declares the module's variables; returns the bytes of constant memory.
    fn module_variables(&mut self) -> Vec<u8> {
        let (bytes, constants) = layout::constants(self.module);
        for (variable, offset) in constants {
            self.names
                .declare(&variable.name, Binding::Memory(Space::Const, offset));
        }
        for variable in &self.module.variables {
            if variable.space == Space::Global {
                self.names
                    .declare(&variable.name, Binding::Global(&variable.name));
            }
            if let Some(offset) = self.shared.offset(variable) {
                self.names
                    .declare(&variable.name, Binding::Memory(Space::Shared, offset));
            }
        }
        bytes
    }

    /// Declares the parameters of the entry.
    fn entry_params(&mut self, entry: &'a Function) -> Result<()> {
        self.names.enter_function();
        let (params, _) = layout::params(entry);
        for (variable, param) in entry.params.iter().zip(params) {
            let binding = Binding::Memory(Space::Param, param.offset.into());
            self.declare(variable, binding)?;
        }
        Ok(())
    }

    /// Emits an exit after the last instruction, for threads that reach it.
    fn end(&mut self) {
        let at_the_end = self.labels.contains(&Some(self.code.len() as u32));
        let last = self.code.last();
        let stops = last.is_some_and(|step| step.guard.is_none() && matches!(step.op, Op::Exit));
        if at_the_end || !stops {
            self.guard = None;
            self.form = "exit".into();
            self.emit(Op::Exit);
        }
    }

    fn finish(self, entry: &Function, constants: Vec<u8>) -> Kernel {
        let (params, param_bytes) = layout::params(entry);
        let at_most = entry.max_threads.map(|threads| (threads, false));
        let exactly = entry.required_threads.map(|threads| (threads, true));
        Kernel {
            name: entry.name.clone(),
            params,
            param_bytes: param_bytes as u32,
            code: self.code,
            words: self.registers.words,
            doubles: self.registers.doubles,
            preds: self.registers.preds,
            word_constants: self.registers.word_constants(),
            double_constants: self.registers.double_constants(),
            global_addresses: self.registers.globals(),
            specials: self.registers.specials(),
            names: self.registers.names,
            shared_bytes: self.shared.bytes as u32,
            shared: self.shared.regions,
            local_bytes: self.local_bytes as u32,
            constants,
            max_threads: exactly.or(at_most),
            cluster: entry.required_cluster,
            explicit_cluster: entry.explicit_cluster,
            max_cluster: entry.max_cluster,
        }
    }

    /// Appends a step of the current instruction, under its guard.
    fn emit(&mut self, op: Op) {
        let (location, form) = (self.location.clone(), self.form.clone());
        let mut words = form.split('.');
        let is_access = matches!(words.next(), Some("ld" | "st" | "atom" | "red"));
        let is_narrow = is_access && words.any(|word| word == "cta");
        self.code.push(Step {
            guard: self.guard,
            op,
            location,
            form,
            is_narrow,
        });
    }

    /// Appends the only step of an instruction.
    fn emit_only(&mut self, op: Op) -> Result<()> {
        self.emit(op);
        Ok(())
    }

    /// The error of an unsupported instruction; `why` is empty or begins with `: `.
    fn unsupported(&self, why: &str) -> Error {
        Error::Unsupported {
            location: self.location.clone(),
            form: self.form.clone(),
            why: why.into(),
        }
    }

    /// The error of an invalid name or other operand.
    fn wrong(&self, expected: &str, found: &str) -> Error {
        Error::Name {
            location: self.location.clone(),
            expected: expected.into(),
            found: found.into(),
        }
    }
}
