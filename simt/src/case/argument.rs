//! An argument as text: `i32:64`, `f32:4096:random`, `f32:64x64:x.npy`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Error, Result};

use super::element::Element;
use super::list;
use super::npy::MAX_DIMENSIONS;

/// Maximum bytes of the buffers of a launch together. A larger size is probably a typing error, and each byte needs
/// shadow memory, too.
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// The value of a kernel parameter. As text:
///
/// | text | what |
/// |---|---|
/// | `i32:64`, `f32:1e-5`, `u64:0xff` | a number |
/// | `null` | the null pointer |
/// | `hex:0a0b0c0d` | a struct, by its bytes |
/// | `f32:4096:random` | the address of a buffer of that many numbers, and its contents: see [`Fill`] |
/// | `f32:64x64:random` | the same with a shape, which a saved file keeps |
/// | `u32:[0,3,5]`, `u32:[100*0,4]`, `u8:[0x0a22ff]`, `f32:FILE.npy` | a buffer as long as its content |
/// | `f32:4096:zeros@16` | an address inside a buffer: of element 16 |
/// | `same:0`, `same:0@16` | an address in the buffer of argument 0, offset in its elements |
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A number.
    Scalar(Element, u64),
    /// A struct.
    Bytes(Vec<u8>),
    /// A null pointer.
    Null,
    /// An address in a new buffer.
    Buffer {
        /// Contents of the buffer.
        contents: Contents,
        /// The element whose address is passed.
        offset: u64,
    },
    /// An address in the buffer of an earlier argument.
    Same {
        /// Index of the other argument, from 0.
        argument: usize,
        /// The element whose address is passed.
        offset: u64,
    },
}

/// The contents of a buffer before the launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Type of the elements.
    pub element: Element,
    /// Shape, outermost dimension first; `None` if the file has it.
    pub shape: Option<Vec<u64>>,
    /// The numbers.
    pub fill: Fill,
}

/// The source of a buffer's numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Fill {
    /// `random`: floats uniform in [-1, 1), integers uniform over their type.
    /// `random:N`: floats uniform in [-N, N), integers in 0..N.
    Random(Option<f64>),
    /// `iota`: 0, 1, 2, …; an integer wraps, a float rounds.
    Iota,
    /// `poison`: uninitialised; reading it before writing is a finding.
    Poison,
    /// `zeros`, or any number: the same bits in every element.
    Value(u64),
    /// `[0,3,5]`; `[100*0,4]` is a hundred zeros and a four.
    List(Vec<u64>),
    /// A .npy file of the same type; NumPy lacks bf16, whose bits are stored as uint16.
    File(PathBuf),
}

/// An error that says which argument it is about, unless all of it is what was found.
fn wrong<T>(text: &str, expected: impl Into<String>, found: &str) -> Result<T> {
    let what = if found == text {
        "--arg".to_owned()
    } else {
        format!("--arg {text}")
    };
    Err(Error::Launch {
        what,
        expected: expected.into(),
        found: format!("\"{found}\""),
    })
}

impl FromStr for Argument {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "null" {
            return Ok(Self::Null);
        }
        let Some((head, rest)) = text.split_once(':') else {
            let expected = "null, TYPE:NUMBER or TYPE:LENGTH:FILL";
            return wrong(text, expected, text);
        };
        match head {
            "hex" => return hex(text, rest).map(Self::Bytes),
            "same" => return same(text, rest),
            _ => {}
        }
        let Ok(element) = head.parse::<Element>() else {
            let expected = format!("a type: {}", Element::NAMES);
            return wrong(text, expected, head);
        };
        // `@` may be part of a file name; it starts an offset only before a number.
        let (rest, offset) = match rest.rsplit_once('@') {
            Some((before, digits)) if digits.parse::<u64>().is_ok() => (before, Some(digits)),
            _ => (rest, None),
        };
        match Contents::parse(text, element, rest)? {
            Some(contents) => Ok(Self::Buffer {
                contents,
                offset: offset.map_or(Ok(0), |digits| number(text, digits))?,
            }),
            None => match (element.parse(rest), offset) {
                (Some(bits), None) => Ok(Self::Scalar(element, bits)),
                _ => {
                    let expected = format!("a number of type {element}, or LENGTH:FILL");
                    wrong(text, expected, text.split_once(':').unwrap_or_default().1)
                }
            },
        }
    }
}

/// `0a0b` → [10, 11]
fn hex(text: &str, digits: &str) -> Result<Vec<u8>> {
    match list::bytes(digits) {
        Some(bytes) => Ok(bytes),
        None => wrong(text, "pairs of hexadecimal digits", digits),
    }
}

/// `0@16`
fn same(text: &str, rest: &str) -> Result<Argument> {
    let (argument, offset) = rest.split_once('@').unwrap_or((rest, "0"));
    Ok(Argument::Same {
        argument: number(text, argument)? as usize,
        offset: number(text, offset)?,
    })
}

/// Parses a count of elements or an argument's index. The limit keeps sums and products of two exact.
fn number(text: &str, digits: &str) -> Result<u64> {
    match digits.parse::<u32>() {
        Ok(n) => Ok(n.into()),
        Err(_) => wrong(text, "a number of 32 bits", digits),
    }
}

impl Contents {
    /// Parses the text after the type; `None` if it can only be a number.
    fn parse(text: &str, element: Element, rest: &str) -> Result<Option<Self>> {
        if let Some(list) = rest.strip_prefix('[') {
            let Some(list) = list.strip_suffix(']') else {
                return wrong(text, "a list that ends with ]", rest);
            };
            return match list::parse(element, list) {
                Some(values) => Ok(Some(Self {
                    element,
                    shape: Some(vec![values.len() as u64]),
                    fill: Fill::List(values),
                })),
                None => wrong(text, format!("numbers of type {element}"), rest),
            };
        }
        if rest.ends_with(".npy") && !rest.contains(':') {
            return Ok(Some(Self {
                element,
                shape: None,
                fill: Fill::File(rest.into()),
            }));
        }
        let Some((length, fill)) = rest.split_once(':') else {
            return Ok(None);
        };
        Ok(Some(Self {
            element,
            shape: Some(shape(text, element, length)?),
            fill: Fill::parse(text, element, fill)?,
        }))
    }
}

/// `64x64` → [64, 64]
fn shape(text: &str, element: Element, length: &str) -> Result<Vec<u64>> {
    let sizes: Option<Vec<u64>> = length.split('x').map(|n| n.parse().ok()).collect();
    let Some(sizes) = sizes.filter(|sizes| sizes.len() <= MAX_DIMENSIONS) else {
        return wrong(text, "a length such as 4096 or 64x64", length);
    };
    let count = (sizes.iter()).try_fold(1, |product: u64, &n| product.checked_mul(n));
    match count.and_then(|n| n.checked_mul(element.bytes() as u64)) {
        Some(bytes) if bytes <= MAX_BYTES => Ok(sizes),
        _ => wrong(text, format!("at most {MAX_BYTES} bytes"), length),
    }
}

impl Fill {
    fn parse(text: &str, element: Element, fill: &str) -> Result<Self> {
        if let Some(bound) = fill.strip_prefix("random:") {
            let whole = |x: &f64| element.is_float() || x.fract() == 0.;
            let bound = bound.parse().ok();
            return match bound.filter(|x: &f64| x.is_finite() && *x > 0. && whole(x)) {
                Some(bound) => Ok(Self::Random(Some(bound))),
                None => wrong(text, "random, or random: and a number above 0", fill),
            };
        }
        Ok(match fill {
            "random" => Self::Random(None),
            "iota" => Self::Iota,
            "poison" => Self::Poison,
            "zeros" => Self::Value(0),
            file if file.ends_with(".npy") => Self::File(file.into()),
            value => match element.parse(value) {
                Some(bits) => Self::Value(bits),
                None => {
                    let expected = "random, zeros, iota, poison, a number or FILE.npy";
                    return wrong(text, expected, fill);
                }
            },
        })
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let at = |f: &mut fmt::Formatter, offset: u64| match offset {
            0 => Ok(()),
            offset => write!(f, "@{offset}"),
        };
        match self {
            Self::Scalar(element, bits) => write!(f, "{element}:{}", element.text(*bits)),
            Self::Bytes(bytes) => {
                write!(f, "hex:")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
            Self::Null => write!(f, "null"),
            Self::Buffer { contents, offset } => {
                write!(f, "{contents}")?;
                at(f, *offset)
            }
            Self::Same { argument, offset } => {
                write!(f, "same:{argument}")?;
                at(f, *offset)
            }
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:", self.element)?;
        if let (Some(shape), false) = (&self.shape, matches!(self.fill, Fill::List(_))) {
            let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
            write!(f, "{}:", sizes.join("x"))?;
        }
        match &self.fill {
            Fill::Random(None) => write!(f, "random"),
            Fill::Random(Some(bound)) => write!(f, "random:{bound}"),
            Fill::Iota => write!(f, "iota"),
            Fill::Poison => write!(f, "poison"),
            Fill::Value(0) => write!(f, "zeros"),
            Fill::Value(bits) => write!(f, "{}", self.element.text(*bits)),
            Fill::List(values) => {
                write!(f, "[{}]", list::text(self.element, values))
            }
            Fill::File(path) => write!(f, "{}", path.display()),
        }
    }
}
