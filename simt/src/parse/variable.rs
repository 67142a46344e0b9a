//! Declarations of variables and parameters.

use super::cursor::Cursor;
use super::lexer::Token;
use super::{directive, initialiser};
use crate::ast::{Space, Type, Variable};
use crate::error::Result;

/// `shared` → `Shared`; `None` for what is no state space.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        "reg" => Space::Reg,
        "global" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" => Space::Param,
        _ => return None,
    })
}

/// Parses `.reg .b32 %r<9>, %x;` or `.global .align 4 .b32 table[2][2] = {1, 2, 3, 4};`.
///
/// # Errors
/// An invalid declaration, an array whose size in bytes exceeds `i64::MAX`, or an initialiser that does not
/// fit.
pub(super) fn declaration(cursor: &mut Cursor, is_extern: bool) -> Result<Vec<Variable>> {
    let mut head = head(cursor)?;
    head.is_extern = is_extern;
    let variables = cursor.list(|cursor| {
        let mut variable = named(cursor, &head)?;
        if matches!(head.space, Space::Global | Space::Const) && cursor.take('=')? {
            initialiser::initialiser(cursor, &mut variable)?;
        }
        Ok(variable)
    })?;
    cursor.end_list(';')?;
    Ok(variables)
}

/// Parses `(.param .u64 x, .param .u32 n)`: a function's parameters or results.
///
/// # Errors
/// An invalid parameter.
pub(super) fn parameters(cursor: &mut Cursor) -> Result<Vec<Variable>> {
    cursor.expect('(')?;
    if cursor.take(')')? {
        return Ok(Vec::new());
    }
    let parameters = cursor.list(|cursor| {
        let head = head(cursor)?;
        named(cursor, &head)
    })?;
    cursor.end_list(')')?;
    Ok(parameters)
}

/// Parses the part before the names: `.param .u64 .ptr .global .align 16`, `.shared .align 16 .b8`.
fn head(cursor: &mut Cursor) -> Result<Variable> {
    let space = dot(cursor, "a state space", space)?;
    let mut align = None;
    let mut vector = 1;
    loop {
        match cursor.peek() {
            Token::Dot("align") => align = Some(alignment(cursor)?),
            Token::Dot("v2" | "v4") => vector = dot(cursor, "a vector", |v| v[1..].parse().ok())?,
            Token::Dot("attribute") => directive::attribute(cursor)?,
            _ => break,
        }
    }
    let ty = dot(cursor, "a type", Type::parse)?;
    if cursor.take_dot("ptr")? {
        pointer(cursor)?;
    }
    Ok(Variable {
        space,
        ty,
        vector,
        name: String::new(),
        range: None,
        dims: Vec::new(),
        align: align.unwrap_or(vector * ty.bytes()),
        init: Vec::new(),
        is_extern: false,
        line: 0,
    })
}

/// Takes a [`Token::Dot`] that `read` accepts.
fn dot<T>(cursor: &mut Cursor, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    let value = match cursor.peek() {
        Token::Dot(word) => read(word),
        _ => None,
    };
    let Some(value) = value else {
        return cursor.error(expected);
    };
    cursor.advance()?;
    Ok(value)
}

/// `.align 16`
fn alignment(cursor: &mut Cursor) -> Result<u32> {
    cursor.advance()?;
    cursor.unsigned_if("a power of two", |align: &u32| align.is_power_of_two())
}

/// Skips the attributes of `.ptr`: `.global .align 16`.
fn pointer(cursor: &mut Cursor) -> Result<()> {
    while let Token::Dot(word) = cursor.peek() {
        match word {
            "align" => _ = alignment(cursor)?,
            _ => _ = dot(cursor, "a state space or `.align`", space)?,
        }
    }
    Ok(())
}

/// Parses a name with its range or dimensions.
fn named(cursor: &mut Cursor, head: &Variable) -> Result<Variable> {
    let mut variable = head.clone();
    variable.line = cursor.line();
    variable.name = cursor.word("a name")?.to_string();
    if cursor.take('<')? {
        variable.range = Some(cursor.unsigned("a number of registers")?);
        cursor.expect('>')?;
    }
    let mut bytes = u64::from(head.vector * head.ty.bytes());
    while cursor.take('[')? {
        let length = dimension(cursor, &variable.dims, bytes)?;
        bytes *= length.max(1);
        variable.dims.push(length);
    }
    Ok(variable)
}

/// Parses `4]`, or `]` for the first dimension; the dimensions before it have `bytes` bytes in total.
fn dimension(cursor: &mut Cursor, before: &[u64], bytes: u64) -> Result<u64> {
    let is_first = before.is_empty();
    if is_first && cursor.take(']')? {
        return Ok(0);
    }
    let fits = |length: &u64| {
        let bytes = length.checked_mul(bytes);
        (is_first || *length > 0) && bytes.is_some_and(|bytes| bytes < 1 << 63)
    };
    let length = cursor.unsigned_if("a length, of less than 2^63 bytes in all", fits)?;
    cursor.expect(']')?;
    Ok(length)
}
