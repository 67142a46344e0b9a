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
        required_cluster: None,
        explicit_cluster: false,
        max_cluster: None,
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

/// A directive between the parameters and the body. But for the numbers of threads and of blocks of a cluster they
/// are hints to ptxas: a word and perhaps integers.
fn tuning(cursor: &mut Cursor, word: &str, function: &mut Function) -> Result<()> {
    if word == "pragma" {
        return directive::pragma(cursor);
    }
    cursor.advance()?;
    match word {
        "maxntid" => function.max_threads = Some(extent(cursor)?),
        "reqntid" => function.required_threads = Some(extent(cursor)?),
        "reqnctapercluster" => function.required_cluster = Some(extent(cursor)?),
        "explicitcluster" => function.explicit_cluster = true,
        "maxclusterrank" => function.max_cluster = Some(cursor.unsigned("a number of blocks")?),
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
