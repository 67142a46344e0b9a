//! Directives other than functions and variables. Each function parses one whole directive, starting at its
//! first token.

use super::cursor::Cursor;
use super::lexer::Token;
use crate::error::Result;

/// `.version 8.7` → (8, 7).
pub(super) fn version(cursor: &mut Cursor) -> Result<(u32, u32)> {
    cursor.advance()?;
    let version = match cursor.peek() {
        Token::Number(text) => text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))),
        _ => None,
    };
    let Some(version) = version else {
        return cursor.error("a version, such as 8.7");
    };
    cursor.advance()?;
    Ok(version)
}

/// `.target sm_90a, debug` → `sm_90a`.
pub(super) fn target(cursor: &mut Cursor) -> Result<String> {
    cursor.advance()?;
    let names = cursor.list(|cursor| cursor.word("a target, such as sm_80"))?;
    Ok(names[0].to_string())
}

/// `.address_size 64`; an address of 32 bits is an error.
pub(super) fn address_size(cursor: &mut Cursor) -> Result<()> {
    cursor.advance()?;
    if cursor.peek() != Token::Number("64") {
        return cursor.error("64");
    }
    cursor.advance()?;
    Ok(())
}

/// `.file 1 "a.cu", 1700000000, 1234` → (1, "a.cu"); the time and the size may be missing.
pub(super) fn file(cursor: &mut Cursor) -> Result<(u32, String)> {
    cursor.advance()?;
    let number = cursor.unsigned("the file's number")?;
    let name = cursor.text("the file's name in quotes")?;
    while cursor.take(',')? {
        cursor.unsigned::<u64>("an integer")?;
    }
    Ok((number, name.to_string()))
}

/// `.loc 2 23 3, function_name $L__info_string0, inlined_at 1 6 3` → (2, 23), (1, 6): file and line of the
/// code, and those of the call it was inlined into.
pub(super) fn loc(cursor: &mut Cursor) -> Result<(Position, Option<Position>)> {
    cursor.advance()?;
    let place = position(cursor)?;
    let mut call = None;
    while cursor.take(',')? {
        match cursor.peek() {
            Token::Word("function_name") => function_name(cursor)?,
            Token::Word("inlined_at") => {
                cursor.advance()?;
                call = Some(position(cursor)?);
            }
            _ => return cursor.error("`function_name` or `inlined_at`"),
        }
    }
    Ok((place, call))
}

/// File and line.
type Position = (u32, u32);

/// File, line and column → (file, line).
fn position(cursor: &mut Cursor) -> Result<Position> {
    let file = cursor.unsigned("a file's number")?;
    let line = cursor.unsigned("a line")?;
    cursor.unsigned::<u32>("a column")?;
    Ok((file, line))
}

/// `function_name $L__info_string0`, `function_name .debug_str+16`
fn function_name(cursor: &mut Cursor) -> Result<()> {
    cursor.advance()?;
    let (Token::Word(_) | Token::Dot(_)) = cursor.peek() else {
        return cursor.error("a label");
    };
    cursor.advance()?;
    if cursor.take('+')? {
        cursor.unsigned::<u64>("an integer")?;
    }
    Ok(())
}

/// Skips `.section .debug_str { … }` with its contents.
pub(super) fn section(cursor: &mut Cursor) -> Result<()> {
    cursor.advance()?;
    let (Token::Word(_) | Token::Dot(_)) = cursor.peek() else {
        return cursor.error("the section's name");
    };
    cursor.advance()?;
    skip(cursor, '{', '}')
}

/// `.attribute(.managed)`, `.attribute(.unified(19, 95))`
pub(super) fn attribute(cursor: &mut Cursor) -> Result<()> {
    cursor.advance()?;
    skip(cursor, '(', ')')
}

/// `.pragma "nounroll";`
pub(super) fn pragma(cursor: &mut Cursor) -> Result<()> {
    cursor.advance()?;
    cursor.list(|cursor| cursor.text("a string"))?;
    cursor.end_list(';')
}

/// `.alias name, other;`
pub(super) fn alias(cursor: &mut Cursor) -> Result<()> {
    cursor.advance()?;
    cursor.list(|cursor| cursor.word("a function's name"))?;
    cursor.end_list(';')
}

/// Skips from `open` to the matching `close`.
fn skip(cursor: &mut Cursor, open: char, close: char) -> Result<()> {
    cursor.expect(open)?;
    let mut levels = 1_usize;
    while levels > 0 {
        match cursor.peek() {
            Token::Mark(mark) if mark == open => levels += 1,
            Token::Mark(mark) if mark == close => levels -= 1,
            Token::End => return cursor.error(&format!("`{close}`")),
            _ => {}
        }
        cursor.advance()?;
    }
    Ok(())
}
