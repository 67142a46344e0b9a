//! Modifiers, and macros that turn them into constants of a function. Function pointers capture no values, so
//! each combination of modifiers is a function of its own.

use super::rounding::{Clamp, Mode};
use crate::ast::Type;

/// The modifiers of an instruction that are not read yet.
pub(super) struct Mods<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    /// Starts with all modifiers unread.
    pub fn new(mods: &[&'a str]) -> Self {
        Self {
            rest: mods.to_vec(),
        }
    }

    /// Whether a modifier is present; it then counts as read.
    pub fn take(&mut self, name: &str) -> bool {
        match self.rest.iter().position(|&m| m == name) {
            Some(i) => {
                self.rest.remove(i);
                true
            }
            None => false,
        }
    }

    /// Returns the first of several choices that is present.
    pub fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let found = choices.iter().find(|&&(name, _)| self.rest.contains(&name));
        found.map(|&(name, value)| {
            self.take(name);
            value
        })
    }

    /// Takes the last modifier.
    pub fn last(&mut self) -> Option<&'a str> {
        self.rest.pop()
    }

    /// Takes the last modifier as a type.
    pub fn ty(&mut self) -> Option<Type> {
        let ty = Type::parse(self.rest.last()?)?;
        self.rest.pop();
        Some(ty)
    }

    /// Takes `.rn`, `.rz`, `.rm` or `.rp`.
    pub fn mode(&mut self) -> Option<Mode> {
        self.choice(&[
            ("rn", Mode::Nearest),
            ("rz", Mode::Zero),
            ("rm", Mode::Down),
            ("rp", Mode::Up),
        ])
    }

    /// Takes `.rni`, `.rzi`, `.rmi` or `.rpi`: rounding to an integer.
    pub fn integral_mode(&mut self) -> Option<Mode> {
        self.choice(&[
            ("rni", Mode::Nearest),
            ("rzi", Mode::Zero),
            ("rmi", Mode::Down),
            ("rpi", Mode::Up),
        ])
    }

    /// Takes `.sat` or `.relu`, if either is present.
    pub fn clamp(&mut self) -> Clamp {
        let clamps = [("sat", Clamp::Unit), ("relu", Clamp::Positive)];
        self.choice(&clamps).unwrap_or(Clamp::None)
    }

    /// Whether all modifiers are read.
    pub fn done(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Evaluates `$body` with the constant `$M`, a rounding mode.
macro_rules! each_mode {
    ($mode:expr, $M:ident => $body:expr) => {
        match $mode {
            Mode::Nearest => {
                const $M: Mode = Mode::Nearest;
                $body
            }
            Mode::Zero => {
                const $M: Mode = Mode::Zero;
                $body
            }
            Mode::Down => {
                const $M: Mode = Mode::Down;
                $body
            }
            Mode::Up => {
                const $M: Mode = Mode::Up;
                $body
            }
        }
    };
}

/// Evaluates `$body` with the constant `$C`, a [`Clamp`].
macro_rules! each_clamp {
    ($clamp:expr, $C:ident => $body:expr) => {
        match $clamp {
            Clamp::None => {
                const $C: Clamp = Clamp::None;
                $body
            }
            Clamp::Unit => {
                const $C: Clamp = Clamp::Unit;
                $body
            }
            Clamp::Positive => {
                const $C: Clamp = Clamp::Positive;
                $body
            }
        }
    };
}

/// Evaluates `$body` with the constant `$B`, true or false.
macro_rules! each_bool {
    ($flag:expr, $B:ident => $body:expr) => {
        if $flag {
            const $B: bool = true;
            $body
        } else {
            const $B: bool = false;
            $body
        }
    };
}

/// `Some($body)`, where `$T` is an integer type of at least 16 bits and `$Wide` is twice as wide.
macro_rules! each_integer {
    ($ty:expr, $T:ident, $Wide:ident => $body:expr) => {
        match $ty {
            Type::U16 => forms::with_types!($T = u16, $Wide = u32 => $body),
            Type::S16 => forms::with_types!($T = i16, $Wide = i32 => $body),
            Type::U32 => forms::with_types!($T = u32, $Wide = u64 => $body),
            Type::S32 => forms::with_types!($T = i32, $Wide = i64 => $body),
            Type::U64 => forms::with_types!($T = u64, $Wide = u128 => $body),
            Type::S64 => forms::with_types!($T = i64, $Wide = i128 => $body),
            _ => None,
        }
    };
}

/// `Some($body)`, where `$T` is an unsigned type of 16, 32 or 64 bits.
macro_rules! each_bits {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::B16 => forms::with_types!($T = u16 => $body),
            Type::B32 => forms::with_types!($T = u32 => $body),
            Type::B64 => forms::with_types!($T = u64 => $body),
            _ => None,
        }
    };
}

/// `Some($body)`, where `$T` is a floating-point type.
macro_rules! each_float {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::F16 => forms::with_types!($T = half::f16 => $body),
            Type::Bf16 => forms::with_types!($T = half::bf16 => $body),
            Type::F32 => forms::with_types!($T = f32 => $body),
            Type::F64 => forms::with_types!($T = f64 => $body),
            _ => None,
        }
    };
}

/// `Some($body)` with names for types.
macro_rules! with_types {
    ($($T:ident = $type:ty),+ => $body:expr) => {{
        $(#[allow(dead_code)]
        type $T = $type;)+
        Some($body)
    }};
}

pub(super) use {
    each_bits, each_bool, each_clamp, each_float, each_integer, each_mode, with_types,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_read_in_any_order() {
        let mut mods = Mods::new(&["rm", "ftz", "sat", "f32"]);
        assert_eq!(mods.ty(), Some(Type::F32));
        assert!(mods.take("ftz") && !mods.take("ftz"));
        assert_eq!(mods.mode(), Some(Mode::Down));
        assert!(!mods.done());
        assert_eq!(mods.clamp(), Clamp::Unit);
        assert!(mods.done());
    }
}
