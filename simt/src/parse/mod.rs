//! From text to [`ast::Module`](crate::ast::Module): a lexer, and a function for each rule of the grammar
//! that looks one token ahead and never back. Names are not looked up and operands not counted here;
//! [`lower`](crate::lower) does that.

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

use crate::ast::Module;
use crate::error::{Error, Result};
use cursor::Cursor;
use lexer::Token;

/// Reads a text, as nvcc, NVRTC or a person writes it. What only tools read is skipped: sections with
/// debug information, `.pragma`, `.alias`, and what `.entry` says for ptxas to tune.
///
/// # Errors
///
/// [`Error::Syntax`](crate::Error::Syntax) for the first thing that is not PTX, or that no part of this
/// crate understands: addresses in initialisers, `.callprototype`, textures. A text
/// without `.version` or `.target` is no error; its module has zeros and an empty name there.
pub fn module(text: &str) -> Result<Module> {
    let mut cursor = Cursor::new(text)?;
    let mut module = Module::default();
    let mut ended = None;
    while cursor.peek() != Token::End {
        let before = module.functions.len();
        item(&mut cursor, &mut module, ended)?;
        ended = (module.functions.len() > before).then(|| cursor.last_line());
    }
    Ok(module)
}

/// Line in which a function ended just before.
type Ended = Option<u32>;

/// Reads what stands outside of functions: a directive, a function or variables.
fn item(cursor: &mut Cursor, module: &mut Module, ended: Ended) -> Result<()> {
    let Token::Dot(word) = cursor.peek() else {
        return outside(cursor, module, ended);
    };
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

/// Reads a function or variables, and how other texts see them: `.visible`, `.extern` and their like.
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

/// The error of what cannot stand outside of functions. Where a function has ended just before, its `}` may be one too
/// many.
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
