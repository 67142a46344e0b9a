//! A token stream with one token of lookahead, and helpers for all grammar rules.

use super::lexer::{Lexer, Token};
use super::number;
use crate::ast::Immediate;
use crate::error::{Error, Result};

/// Maximum nesting of braces, which bounds the parser's recursion.
const MAX_LEVELS: u32 = 64;

/// A position in the text: the next token and the text after it.
pub(super) struct Cursor<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    line: u32,
    /// Line of the token before the next one.
    last_line: u32,
    levels: u32,
}

impl<'a> Cursor<'a> {
    /// Starts at the first token.
    pub(super) fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        let (token, line) = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            line,
            last_line: line,
            levels: 0,
        })
    }

    /// The next token.
    pub(super) fn peek(&self) -> Token<'a> {
        self.token
    }

    /// Line of the next token.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Line of the token before the next one.
    pub(super) fn last_line(&self) -> u32 {
        self.last_line
    }

    /// Takes the next token.
    pub(super) fn advance(&mut self) -> Result<Token<'a>> {
        let token = self.token;
        self.last_line = self.line;
        (self.token, self.line) = self.lexer.next()?;
        Ok(token)
    }

    /// Takes the next token if it is `mark`, and says whether it was.
    pub(super) fn take(&mut self, mark: char) -> Result<bool> {
        self.take_token(Token::Mark(mark))
    }

    /// Takes the next token if it is `.word`, and says whether it was.
    pub(super) fn take_dot(&mut self, word: &str) -> Result<bool> {
        self.take_token(Token::Dot(word))
    }

    fn take_token(&mut self, token: Token) -> Result<bool> {
        let there = self.token == token;
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Takes `mark`; an error if it is missing.
    pub(super) fn expect(&mut self, mark: char) -> Result<()> {
        if self.take(mark)? {
            Ok(())
        } else {
            self.error(&format!("`{mark}`"))
        }
    }

    /// Takes the `mark` that ends a list; an error if it is missing.
    pub(super) fn end_list(&mut self, mark: char) -> Result<()> {
        match self.take(mark)? {
            true => Ok(()),
            false if mark == ';' && self.line > self.last_line => self.unended(self.last_line),
            false => self.error(&format!("`,` or `{mark}`")),
        }
    }

    /// The error of a statement without its end: its last line is `line`, and the next token follows.
    pub(super) fn unended<T>(&self, line: u32) -> Result<T> {
        Err(Error::Syntax {
            line,
            expected: "`;` at the end of the line".into(),
            found: match self.token {
                Token::End => self.token.to_string(),
                token => format!("{token} in line {}", self.line),
            },
        })
    }

    /// Takes a [`Token::Word`].
    pub(super) fn word(&mut self, expected: &str) -> Result<&'a str> {
        let Token::Word(word) = self.token else {
            return self.error(expected);
        };
        self.advance()?;
        Ok(word)
    }

    /// Takes a [`Token::Text`].
    pub(super) fn text(&mut self, expected: &str) -> Result<&'a str> {
        let Token::Text(text) = self.token else {
            return self.error(expected);
        };
        self.advance()?;
        Ok(text)
    }

    /// Takes an unsigned integer that fits into a `T`.
    pub(super) fn unsigned<T: TryFrom<i128>>(&mut self, expected: &str) -> Result<T> {
        self.unsigned_if(expected, |_| true)
    }

    /// Takes an unsigned integer that fits into a `T` and satisfies `is_fine`.
    pub(super) fn unsigned_if<T: TryFrom<i128>>(
        &mut self,
        expected: &str,
        is_fine: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        self.number(false, expected, |value| match value {
            Immediate::Int(value) => T::try_from(value).ok().filter(is_fine),
            _ => None,
        })
    }

    /// Takes a 64-bit integer with an optional sign. Values above `i64::MAX` wrap, as addresses do.
    pub(super) fn offset(&mut self) -> Result<i64> {
        self.constant("an integer", |value| match value {
            Immediate::Int(value) => Some(value as i64),
            _ => None,
        })
    }

    /// Takes a number with an optional sign that `read` accepts.
    pub(super) fn constant<T>(
        &mut self,
        expected: &str,
        read: impl FnOnce(Immediate) -> Option<T>,
    ) -> Result<T> {
        let negative = self.take('-')?;
        if !negative {
            self.take('+')?;
        }
        self.number(negative, expected, read)
    }

    /// Takes a number after its sign.
    fn number<T>(
        &mut self,
        negative: bool,
        expected: &str,
        read: impl FnOnce(Immediate) -> Option<T>,
    ) -> Result<T> {
        let value = match self.token {
            Token::Number(text) => number::immediate(text, negative),
            // `.5`
            Token::Dot(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                number::immediate(&format!("0.{digits}"), negative)
            }
            _ => None,
        };
        let Some(value) = value.and_then(read) else {
            return self.error(expected);
        };
        self.advance()?;
        Ok(value)
    }

    /// Takes `{`, the contents by `inside`, and `}`.
    pub(super) fn braces<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.levels == MAX_LEVELS {
            return self.error(&format!("at most {MAX_LEVELS} levels of braces"));
        }
        self.expect('{')?;
        self.levels += 1;
        let value = inside(self)?;
        self.levels -= 1;
        self.expect('}')?;
        Ok(value)
    }

    /// Takes one or more items, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take(',')? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The error that the next token is not `expected`.
    pub(super) fn error<T>(&self, expected: &str) -> Result<T> {
        Err(Error::Syntax {
            line: self.line,
            expected: expected.to_string(),
            found: self.token.to_string(),
        })
    }
}
