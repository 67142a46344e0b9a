//! Bodies of functions.

use super::cursor::Cursor;
use super::lexer::Token;
use super::{directive, operand, variable};
use crate::ast::{Instruction, Operand, Statement};
use crate::error::Result;

/// File and line of the last `.loc`, then those of the calls that it was inlined into.
type Loc = Vec<(u32, u32)>;

/// Maximum number of nested calls to keep, which is more than compilers emit.
const CALLS: usize = 32;

/// Parses a function's `{ … }`.
///
/// # Errors
/// The first invalid statement, blocks nested more than 64 levels deep, or a missing `}`.
pub(super) fn body(cursor: &mut Cursor) -> Result<Vec<Statement>> {
    block(cursor, &mut vec![])
}

/// `{ … }`
fn block(cursor: &mut Cursor, loc: &mut Loc) -> Result<Vec<Statement>> {
    cursor.braces(|cursor| {
        let mut statements = Vec::new();
        while cursor.peek() != Token::Mark('}') {
            statement(cursor, loc, &mut statements)?;
        }
        Ok(statements)
    })
}

/// Parses a statement. Some add nothing to the list; a declaration of several names adds several.
fn statement(cursor: &mut Cursor, loc: &mut Loc, statements: &mut Vec<Statement>) -> Result<()> {
    match cursor.peek() {
        Token::Mark('{') => statements.push(Statement::Block(block(cursor, loc)?)),
        Token::Mark('@') => statements.push(guarded(cursor, loc)?),
        Token::Word(_) => label_or_instruction(cursor, loc, statements)?,
        Token::Dot("loc") => move_to(directive::loc(cursor)?, loc),
        Token::Dot("pragma") => directive::pragma(cursor)?,
        Token::Dot(word) if variable::space(word).is_some() => {
            let variables = variable::declaration(cursor, false)?;
            statements.extend(variables.into_iter().map(Statement::Variable));
        }
        // Inline assembly leaves empty statements.
        Token::Mark(';') => _ = cursor.advance()?,
        _ => return cursor.error("a statement or `}`"),
    }
    Ok(())
}

/// Records a location and the call it was inlined into; the `.loc` before may add outer calls. Line 0 stands for code without
/// a line of its own, which keeps the location before, or has that of the call.
fn move_to((place, call): ((u32, u32), Option<(u32, u32)>), loc: &mut Loc) {
    if place.1 == 0 {
        if let Some(call) = call {
            move_to((call, None), loc);
        }
        return;
    }
    let mut calls = std::mem::take(loc);
    loc.push(place);
    if let Some(call) = call {
        match calls.iter().position(|known| *known == call) {
            Some(at) => loc.extend(calls.drain(at..).take(CALLS)),
            None => loc.push(call),
        }
    }
}

/// Parses `name:` or `opcode.mods operands;`. A list of targets, `name: .branchtargets a, b;`, becomes a
/// label and an instruction without effect.
fn label_or_instruction(
    cursor: &mut Cursor,
    loc: &Loc,
    statements: &mut Vec<Statement>,
) -> Result<()> {
    let line = cursor.line();
    let word = cursor.word("an instruction")?;
    if cursor.take(':')? {
        statements.push(Statement::Label(word.to_string()));
        return match cursor.peek() {
            Token::Dot("branchtargets") => {
                cursor.advance()?;
                let targets = instruction(cursor, None, "branchtargets", (line, loc))?;
                statements.push(targets);
                Ok(())
            }
            _ => Ok(()),
        };
    }
    if !is_opcode(word) {
        return cursor.error(&format!("`:` after the label `{word:.40}`"));
    }
    statements.push(instruction(cursor, None, word, (line, loc))?);
    Ok(())
}

/// Parses `@%p opcode.mods operands;` or `@!%p …`.
fn guarded(cursor: &mut Cursor, loc: &Loc) -> Result<Statement> {
    cursor.expect('@')?;
    let negated = cursor.take('!')?;
    let predicate = cursor.word("a predicate")?.to_string();
    let line = cursor.line();
    match cursor.peek() {
        Token::Word(word) if is_opcode(word) => {
            cursor.advance()?;
            instruction(cursor, Some((predicate, negated)), word, (line, loc))
        }
        _ => cursor.error("an instruction"),
    }
}

/// Parses an instruction after its opcode, which is at `place`.
fn instruction(
    cursor: &mut Cursor,
    guard: Option<(String, bool)>,
    opcode: &str,
    (line, loc): (u32, &Loc),
) -> Result<Statement> {
    let mut mods = Vec::new();
    while let Token::Dot(word) = cursor.peek() {
        mods.push(word.to_string());
        cursor.advance()?;
    }
    let operands = operands(cursor, line)?;
    let opcode = opcode.to_string();
    Ok(Statement::Instruction(Instruction {
        guard,
        opcode,
        mods,
        operands,
        line,
        loc: loc.clone(),
    }))
}

/// Parses the operands of an instruction whose modifiers end in `line`, and its `;`.
fn operands(cursor: &mut Cursor, line: u32) -> Result<Vec<Operand>> {
    if cursor.take(';')? {
        return Ok(Vec::new());
    }
    // Operands may start on the next line, but a line that starts another instruction suggests a missing `;`.
    let missing = (cursor.line() > line).then(|| cursor.unended(line));
    let read = cursor.list(operand::operand).and_then(|operands| {
        cursor.end_list(';')?;
        Ok(operands)
    });
    match (read, missing) {
        (Err(_), Some(missing)) => missing,
        (read, _) => read,
    }
}

/// Whether a word has the form of an opcode: `ld`, `dp4a`, but not `%r1` or `$L_1`.
fn is_opcode(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
}
