//! Arguments of a launch, and checks against the kernel's parameters.

use crate::ast::Type;
use crate::case::Element;
use crate::code::{Kernel, Param};
use crate::error::{Error, Result};

use super::global::{Buffer, Global};

/// The value of a kernel parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// 4 bytes.
    U32(u32),
    /// 4 bytes.
    I32(i32),
    /// 8 bytes.
    U64(u64),
    /// 4 bytes.
    F32(f32),
    /// 8 bytes.
    F64(f64),
    /// A number of any type, as bits.
    Number(Element, u64),
    /// The address of a buffer, by its index in the launch.
    Buffer(usize),
    /// An address in a buffer: the buffer's index and an offset in bytes.
    Inside(usize, u64),
    /// A null pointer.
    Null,
    /// A struct or other value, as bytes.
    Bytes(Vec<u8>),
}

impl Arg {
    /// Returns the bytes for the parameter block.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(x) => x.to_le_bytes().to_vec(),
            Self::I32(x) => x.to_le_bytes().to_vec(),
            Self::U64(x) => x.to_le_bytes().to_vec(),
            Self::F32(x) => x.to_le_bytes().to_vec(),
            Self::F64(x) => x.to_le_bytes().to_vec(),
            Self::Number(element, bits) => element.to_bytes(*bits),
            Self::Buffer(i) => Global::address(*i).to_le_bytes().to_vec(),
            Self::Inside(i, at) => Global::address(*i).wrapping_add(*at).to_le_bytes().to_vec(),
            Self::Null => vec![0; 8],
            Self::Bytes(bytes) => bytes.clone(),
        }
    }

    /// Type of a number; `None` for an address and for bytes.
    fn element(&self) -> Option<Element> {
        Some(match self {
            Self::U32(_) => Element::U32,
            Self::I32(_) => Element::I32,
            Self::U64(_) => Element::U64,
            Self::F32(_) => Element::F32,
            Self::F64(_) => Element::F64,
            Self::Number(element, _) => *element,
            Self::Buffer(_) | Self::Inside(..) | Self::Null | Self::Bytes(_) => return None,
        })
    }

    /// Describes the argument, for errors.
    fn words(&self) -> String {
        match self {
            Self::Buffer(_) | Self::Inside(..) => "a buffer".into(),
            Self::Null => "the null pointer".into(),
            Self::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
            _ => self.element().map_or(String::new(), |e| e.to_string()),
        }
    }

    /// Whether a parameter accepts the argument: sizes must be equal, and a float is not an integer.
    fn fits(&self, param: &Param) -> bool {
        let Some(ty) = param.ty else {
            return self.to_bytes().len() == param.bytes as usize;
        };
        let same_kind = match (self, self.element()) {
            (Self::Bytes(_), _) => true,
            (_, None) => float(ty).is_none(),
            (_, Some(element)) if element.is_float() => {
                is_untyped(ty) || float(ty) == Some(element)
            }
            (_, Some(_)) => float(ty).is_none(),
        };
        same_kind && self.to_bytes().len() == param.bytes as usize
    }
}

/// Checks the arguments against the kernel's parameters.
pub fn check(kernel: &Kernel, buffers: &[Buffer], args: &[Arg]) -> Result<()> {
    let wrong = |what: &str, expected: String, found: String| {
        Err(Error::Launch {
            what: format!("{}: {what}", kernel.name),
            expected,
            found,
        })
    };
    if args.len() != kernel.params.len() {
        let expected = match kernel.params.len() {
            0 => "none".into(),
            n => format!("{n} ({})", named(&kernel.params)),
        };
        return wrong("arguments", expected, args.len().to_string());
    }
    for (param, arg) in kernel.params.iter().zip(args) {
        if !arg.fits(param) {
            return wrong(&param.name, words(param), arg.words());
        }
        if let Arg::Buffer(i) | Arg::Inside(i, _) = arg
            && *i >= buffers.len()
        {
            let expected = format!("one of {} buffers", buffers.len());
            return wrong(&param.name, expected, format!("number {i}"));
        }
    }
    Ok(())
}

/// Whether a type gives only a size.
fn is_untyped(ty: Type) -> bool {
    matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64)
}

/// The floating-point type of a parameter.
fn float(ty: Type) -> Option<Element> {
    Some(match ty {
        Type::F16 => Element::F16,
        Type::Bf16 => Element::Bf16,
        Type::F32 => Element::F32,
        Type::F64 => Element::F64,
        _ => return None,
    })
}

/// Describes the values that a parameter accepts.
fn words(param: &Param) -> String {
    let name = type_name(param);
    let number = match param.ty {
        Some(ty) if is_untyped(ty) => "any {}-bit number",
        Some(ty) if float(ty).is_none() => "a {}-bit integer",
        _ => return name,
    };
    let number = number.replace("{}", &(8 * param.bytes).to_string());
    match param.bytes {
        8 => format!("a buffer or {number} ({name})"),
        _ => format!("{number} ({name})"),
    }
}

/// The PTX type of a parameter without its dot, or the size of a struct.
fn type_name(param: &Param) -> String {
    match param.ty {
        Some(ty) => format!("{ty:?}").to_lowercase(),
        None => format!("{} bytes", param.bytes),
    }
}

/// Lists the parameters with their types, as in `x: pointer or u64, n: u32`.
fn named(params: &[Param]) -> String {
    let each = params.iter().map(|param| {
        let name = type_name(param);
        let or_pointer = match param.ty {
            Some(Type::U64 | Type::B64 | Type::S64) => "pointer or ",
            _ => "",
        };
        format!("{}: {or_pointer}{name}", param.name)
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(ty: Option<Type>, bytes: u32) -> Param {
        Param {
            name: "p".into(),
            offset: 0,
            bytes,
            ty,
        }
    }

    #[test]
    fn numbers_must_match_their_parameter() {
        let float = Arg::F32(1.);
        let whole = Arg::Number(Element::I32, 1);
        for (ty, takes_float, takes_whole) in [
            (Type::U32, false, true),
            (Type::S32, false, true),
            (Type::B32, true, true),
            (Type::F32, true, false),
            (Type::U64, false, false),
        ] {
            let param = param(Some(ty), ty.bytes());
            assert_eq!(float.fits(&param), takes_float, "{ty:?}");
            assert_eq!(whole.fits(&param), takes_whole, "{ty:?}");
        }
        assert!(!Arg::Number(Element::Bf16, 0).fits(&param(Some(Type::F16), 2)));
        assert!(Arg::Number(Element::Bf16, 0).fits(&param(Some(Type::B16), 2)));
    }

    #[test]
    fn addresses_and_structs() {
        assert!(Arg::Buffer(0).fits(&param(Some(Type::U64), 8)));
        assert!(!Arg::Null.fits(&param(Some(Type::F64), 8)));
        assert!(!Arg::Buffer(0).fits(&param(Some(Type::U32), 4)));
        assert!(Arg::Bytes(vec![0; 12]).fits(&param(None, 12)));
        assert!(Arg::F32(1.).fits(&param(None, 4)));
        assert!(Arg::Bytes(vec![0; 4]).fits(&param(Some(Type::F32), 4)));
    }
}
