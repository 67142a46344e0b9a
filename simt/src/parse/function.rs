//! Kernels and functions.

use super::cursor::Cursor;
use super::lexer::Token;
use super::{body, directive, variable};
use crate::ast::Function;
use crate::error::Result;

/// Parses `.entry name(…) .maxntid 256 { … }` or `.func (…) name(…) { … }`, or a declaration with `;` instead
/// of a body.
///
/// # Errors
/// An invalid header, or the first error of the body.
pub(super) fn function(cursor: &mut Cursor) -> Result<Function> {
    let is_entry = cursor.advance()? == Token::Dot("entry");
    while cursor.peek() == Token::Dot("attribute") {
        directive::attribute(cursor)?;
    }
    let returns = match cursor.peek() {
        Token::Mark('(') if !is_entry => variable::parameters(cursor)?,
        _ => Vec::new(),
    };
    let line = cursor.line();
    let mut function = Function {
        name: cursor.word("the function's name")?.to_string(),
        is_entry,
        returns,
        params: Vec::new(),
        max_threads: None,
        required_threads: None,
        body: None,
        line,
    };
    if cursor.peek() == Token::Mark('(') {
        function.params = variable::parameters(cursor)?;
    }
    while let Token::Dot(word) = cursor.peek() {
        tuning(cursor, word, &mut function)?;
    }
    if !cursor.take(';')? {
        function.body = Some(body::body(cursor)?);
    }
    Ok(function)
}

/// Parses a directive between the parameters and the body. Except for the number of threads, these are hints
/// for ptxas: a word and optional integers.
fn tuning(cursor: &mut Cursor, word: &str, function: &mut Function) -> Result<()> {
    if word == "pragma" {
        return directive::pragma(cursor);
    }
    cursor.advance()?;
    match word {
        "maxntid" => function.max_threads = Some(extent(cursor)?),
        "reqntid" => function.required_threads = Some(extent(cursor)?),
        _ => {
            if let Token::Number(_) = cursor.peek() {
                cursor.list(|cursor| cursor.unsigned::<u64>("an integer"))?;
            }
        }
    }
    Ok(())
}

/// `256, 2` → [256, 2, 1]
fn extent(cursor: &mut Cursor) -> Result<[u32; 3]> {
    let mut extent = [cursor.unsigned("a number of threads")?, 1, 1];
    for axis in &mut extent[1..] {
        if cursor.take(',')? {
            *axis = cursor.unsigned("a number of threads")?;
        }
    }
    Ok(extent)
}
