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
use crate::error::Result;
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
    while cursor.peek() != Token::End {
        item(&mut cursor, &mut module)?;
    }
    Ok(module)
}

/// Reads what stands outside of functions: a directive, a function or variables.
fn item(cursor: &mut Cursor, module: &mut Module) -> Result<()> {
    let expected = "a directive, a function or a variable";
    let Token::Dot(word) = cursor.peek() else {
        return cursor.error(expected);
    };
    match word {
        "version" => module.version = directive::version(cursor)?,
        "target" => module.target = directive::target(cursor)?,
        "address_size" => directive::address_size(cursor)?,
        "file" => module.files.push(directive::file(cursor)?),
        "section" => directive::section(cursor)?,
        "pragma" => directive::pragma(cursor)?,
        "alias" => directive::alias(cursor)?,
        _ => return linked(cursor, module, expected),
    }
    Ok(())
}

/// Reads a function or variables, and how other texts see them: `.visible`, `.extern` and their like.
fn linked(cursor: &mut Cursor, module: &mut Module, expected: &str) -> Result<()> {
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
        _ => return cursor.error(expected),
    }
    Ok(())
}
