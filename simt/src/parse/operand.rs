//! Operands of instructions.

use super::cursor::Cursor;
use super::lexer::Token;
use crate::ast::Operand;
use crate::error::Result;

/// Parses an operand.
///
/// # Errors
/// Text that is no operand, or an address with more in its brackets than a base and an offset.
pub(super) fn operand(cursor: &mut Cursor) -> Result<Operand> {
    match cursor.peek() {
        Token::Mark('[') => address(cursor),
        Token::Mark('{') => Ok(Operand::Vector(group(cursor, '{', '}')?)),
        Token::Mark('(') => Ok(Operand::List(group(cursor, '(', ')')?)),
        _ => single(cursor),
    }
}

/// `[%rd1+16]`, `[%rd1+-16]`, `[name]`, `[4096]`, `[%rd1, {%r1, %r2}]`
fn address(cursor: &mut Cursor) -> Result<Operand> {
    cursor.expect('[')?;
    let address = match cursor.peek() {
        Token::Word(_) => {
            let base = name(cursor)?;
            if cursor.take(',')? {
                Operand::Element(base, group(cursor, '{', '}')?)
            } else {
                Operand::Address(Some(base), moved(cursor)?.unwrap_or(0))
            }
        }
        Token::Number(_) => Operand::Address(None, cursor.offset()?),
        _ => return cursor.error("a register, a variable or an integer"),
    };
    cursor.expect(']')?;
    Ok(address)
}

/// Parses `+16`, `+-16` or `-16` if the next token is a sign.
fn moved(cursor: &mut Cursor) -> Result<Option<i64>> {
    let there = cursor.take('+')? || cursor.peek() == Token::Mark('-');
    if there && matches!(cursor.peek(), Token::Word(_)) {
        return cursor.error("an integer (an address is a register plus a constant)");
    }
    there.then(|| cursor.offset()).transpose()
}

/// `{a, b}` or `(a, b)`; `()` is empty.
fn group(cursor: &mut Cursor, open: char, close: char) -> Result<Vec<Operand>> {
    cursor.expect(open)?;
    if cursor.take(close)? {
        return Ok(Vec::new());
    }
    let operands = cursor.list(single)?;
    cursor.end_list(close)?;
    Ok(operands)
}

/// Parses an operand without brackets: a name in one of its forms, or a constant.
fn single(cursor: &mut Cursor) -> Result<Operand> {
    match cursor.peek() {
        Token::Mark('!') => {
            cursor.advance()?;
            Ok(Operand::Not(name(cursor)?))
        }
        Token::Word(_) => named(cursor),
        _ => Ok(Operand::Immediate(cursor.constant("an operand", Some)?)),
    }
}

/// `a`, `a|b` or `a+4`
fn named(cursor: &mut Cursor) -> Result<Operand> {
    let name = name(cursor)?;
    if cursor.take('|')? {
        let second = Operand::Name(self::name(cursor)?);
        return Ok(Operand::Pair(
            Box::new(Operand::Name(name)),
            Box::new(second),
        ));
    }
    Ok(match moved(cursor)? {
        Some(offset) => Operand::Offset(name, offset),
        None => Operand::Name(name),
    })
}

/// Parses a name with its dotted parts: `%tid.x` is one.
fn name(cursor: &mut Cursor) -> Result<String> {
    let mut name = cursor.word("a name")?.to_string();
    while let Token::Dot(part) = cursor.peek() {
        name.push('.');
        name.push_str(part);
        cursor.advance()?;
    }
    Ok(name)
}
