//! Splits PTX into tokens.

use crate::error::{Error, Result};
use std::fmt;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or an opcode: `%r1`, `$L__BB0_2`, `ld`.
    Word(&'a str),
    /// A directive, a type or a modifier, without its dot: `global`, `L1::no_allocate`.
    Dot(&'a str),
    /// A word that starts with a digit: `12`, `0x1f`, `0f3F800000`, `1.5e-3`.
    Number(&'a str),
    /// The contents of a quoted string.
    Text(&'a str),
    /// Any other character.
    Mark(char),
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    /// Formats the token as written, in at most 40 characters.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let whole = match self {
            Token::Word(word) | Token::Number(word) => shortened(word),
            Token::Dot(word) => shortened(&format!(".{word}")),
            Token::Text(text) => shortened(&format!("\"{text}\"")),
            Token::Mark(mark) => mark.to_string(),
            Token::End => return f.write_str("the end of the text"),
        };
        write!(f, "`{whole}`")
    }
}

/// Shortens text of more than 40 characters to its first 39 and `…`.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        None => text.to_string(),
        Some(_) => text.chars().take(39).chain(['…']).collect(),
    }
}

/// The remaining text.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    /// Starts before the first token.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            line: 1,
        }
    }

    /// Returns the next token and its line, from 1; after the last one, always [`Token::End`].
    ///
    /// # Errors
    /// An unterminated comment or string.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, u32)> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else {
            return Ok((Token::End, self.line));
        };
        let token = match first {
            '"' => self.text()?,
            '.' => self.dot(),
            '0'..='9' => Token::Number(self.take(number_length(self.rest))),
            _ if is_name(first) || (first == '%' && self.rest[1..].starts_with(is_name)) => {
                Token::Word(self.take(1 + name_length(&self.rest[1..])))
            }
            _ => {
                self.take(first.len_utf8());
                Token::Mark(first)
            }
        };
        Ok((token, self.line))
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.pass(blank);
            if self.rest.starts_with("//") {
                self.pass(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                match self.rest[2..].find("*/") {
                    Some(end) => self.pass(end + 4),
                    None => return self.unfinished("`*/`"),
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Takes a string, whose quote is next; `\"` does not end it.
    fn text(&mut self) -> Result<Token<'a>> {
        let mut escaped = false;
        let end = self.rest[1..].find(|c| {
            let ends = c == '\n' || (c == '"' && !escaped);
            escaped = c == '\\' && !escaped;
            ends
        });
        match end {
            Some(end) if self.rest[1 + end..].starts_with('"') => {
                Ok(Token::Text(&self.take(end + 2)[1..=end]))
            }
            _ => self.unfinished("`\"`"),
        }
    }

    /// Takes `.name` with any number of `::name` after it; a dot alone is a mark.
    fn dot(&mut self) -> Token<'a> {
        let mut length = 1 + name_length(&self.rest[1..]);
        while self.rest[length..].starts_with("::") {
            length += 2 + name_length(&self.rest[length + 2..]);
        }
        match self.take(length) {
            "." => Token::Mark('.'),
            dot => Token::Dot(&dot[1..]),
        }
    }

    /// Takes the next `length` bytes, which contain no newline.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Skips `length` bytes and counts their lines.
    fn pass(&mut self, length: usize) {
        let passed = self.take(length);
        self.line += passed.bytes().filter(|&b| b == b'\n').count() as u32;
    }

    /// The error of a comment or string that starts here without its `end`.
    fn unfinished<T>(&self, end: &str) -> Result<T> {
        let start = self.rest.lines().next().unwrap_or_default();
        Err(Error::Syntax {
            line: self.line,
            expected: format!("{end} at the end"),
            found: format!("`{}`", shortened(start)),
        })
    }
}

/// Whether a name may contain the character; `%` can only be its first one.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Returns the length in bytes of the name that `text` starts with.
fn name_length(text: &str) -> usize {
    text.find(|c| !is_name(c)).unwrap_or(text.len())
}

/// Returns the length in bytes of the number that `text` starts with, valid or not. A sign is part of it only
/// in a decimal's exponent: `1e-5` is one number, `0x1e-5` is two.
fn number_length(text: &str) -> usize {
    let mut decimal = true;
    let mut exponent = false;
    text.find(|c| {
        let sign = exponent && matches!(c, '+' | '-');
        exponent = decimal && matches!(c, 'e' | 'E');
        decimal &= c.is_ascii_digit() || c == '.';
        !sign && !is_name(c) && c != '.'
    })
    .unwrap_or(text.len())
}
