//! Parses text into [`ast::Module`](crate::ast::Module): a lexer, and one function per grammar rule with one
//! token of lookahead and no backtracking. [`lower`](crate::lower) resolves names and counts operands.

mod body;
mod cursor;
mod directive;
mod function;
mod initialiser;
mod lexer;
mod number;
mod operand;
mod variable;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::ast::Module;
use crate::error::{Error, Result};
use cursor::Cursor;
use lexer::Token;

/// Parses a text by nvcc, NVRTC or a person. Skips what only tools read: debug sections, `.pragma`, `.alias`,
/// and hints of `.entry` for ptxas.
///
/// # Errors
/// [`Error::Syntax`](crate::Error::Syntax) for the first part that is not PTX, or that this crate does not
/// understand: addresses in initialisers, `.callprototype`, textures; a second header, or a name that is
/// defined twice. Without `.version` or `.target`, the
/// module has zeros and an empty name there.
pub fn module(text: &str) -> Result<Module> {
    let mut cursor = Cursor::new(text)?;
    let mut module = Module::default();
    let mut ended = None;
    let mut defined = HashMap::new();
    while cursor.peek() != Token::End {
        let before = (module.functions.len(), module.variables.len());
        item(&mut cursor, &mut module, ended)?;
        ended = (module.functions.len() > before.0).then(|| cursor.last_line());
        let functions = module.functions[before.0..].iter();
        let functions = functions.map(|f| (&f.name, f.line, f.body.is_some()));
        let variables = module.variables[before.1..].iter();
        let variables = variables.map(|v| (&v.name, v.line, !v.is_extern));
        functions
            .chain(variables)
            .try_for_each(|new| define(new, &mut defined))?;
    }
    Ok(module)
}

/// Lines of the names of a module, and whether they are defined there. A declaration defines nothing.
type Defined = HashMap<String, (u32, bool)>;

/// Refuses a name that is defined twice: the first of two kernels would run in the place of the second.
fn define((name, line, is_new): (&String, u32, bool), defined: &mut Defined) -> Result<()> {
    match defined.get(name) {
        Some((before, true)) if is_new => Err(Error::Syntax {
            line,
            expected: "a name that is defined once".into(),
            found: format!("`{name:.40}`, which line {before} defines"),
        }),
        Some((_, true)) => Ok(()),
        _ => {
            defined.insert(name.clone(), (line, is_new));
            Ok(())
        }
    }
}

/// Line on which a function has just ended.
type Ended = Option<u32>;

/// Parses an item outside functions: a directive, a function or variables.
fn item(cursor: &mut Cursor, module: &mut Module, ended: Ended) -> Result<()> {
    let Token::Dot(word) = cursor.peek() else {
        return outside(cursor, module, ended);
    };
    let has_code = !module.functions.is_empty() || !module.variables.is_empty();
    let is_second = match word {
        "version" => has_code || module.version != (0, 0),
        "target" => has_code || !module.target.is_empty(),
        "address_size" => has_code,
        _ => false,
    };
    if is_second {
        return cursor.error("one header, before all else");
    }
    match word {
        "version" => module.version = directive::version(cursor)?,
        "target" => module.target = directive::target(cursor)?,
        "address_size" => directive::address_size(cursor)?,
        "file" => module.files.push(directive::file(cursor)?),
        "section" => directive::section(cursor)?,
        "pragma" => directive::pragma(cursor)?,
        "alias" => directive::alias(cursor)?,
        _ => return linked(cursor, module, ended),
    }
    Ok(())
}

/// Parses a function or variables with their linkage: `.visible`, `.extern` and the like.
fn linked(cursor: &mut Cursor, module: &mut Module, ended: Ended) -> Result<()> {
    let mut is_extern = false;
    while let Token::Dot(word @ ("visible" | "extern" | "weak" | "common")) = cursor.peek() {
        is_extern |= word == "extern";
        cursor.advance()?;
    }
    match cursor.peek() {
        Token::Dot("entry" | "func") => module.functions.push(function::function(cursor)?),
        Token::Dot("global" | "const" | "shared") => {
            module
                .variables
                .extend(variable::declaration(cursor, is_extern)?);
        }
        _ => return outside(cursor, module, ended),
    }
    Ok(())
}

/// The error of text that cannot stand outside functions. After a function, the cause may be an extra `}`.
fn outside(cursor: &Cursor, module: &Module, ended: Ended) -> Result<()> {
    let of_a_body = match cursor.peek() {
        Token::Word(_) => true,
        Token::Mark(mark) => matches!(mark, '@' | '{' | '}' | ';'),
        Token::Dot(word) => matches!(word, "reg" | "local" | "param" | "loc"),
        _ => false,
    };
    match (ended, module.functions.last()) {
        (Some(line), Some(function)) if of_a_body && function.body.is_some() => {
            let (name, token, next) = (&function.name, cursor.peek(), cursor.line());
            Err(Error::Syntax {
                line,
                expected: "no `}` here".into(),
                found: format!("one that ends `{name:.40}` before {token} in line {next}"),
            })
        }
        _ => cursor.error("a directive, a function or a variable"),
    }
}
