//! Modifiers, and the way from what they say to a constant of the program: a function pointer carries no
//! values, so each combination is a function of its own.

use super::rounding::{Clamp, Mode};
use crate::ast::Type;

/// The modifiers of an instruction that nobody has read yet.
pub(super) struct Mods<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    /// All of them.
    pub fn new(mods: &[&'a str]) -> Self {
        Self {
            rest: mods.to_vec(),
        }
    }

    /// Whether a modifier is there; it counts as read.
    pub fn take(&mut self, name: &str) -> bool {
        match self.rest.iter().position(|&m| m == name) {
            Some(i) => {
                self.rest.remove(i);
                true
            }
            None => false,
        }
    }

    /// The first that is there of several choices.
    pub fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let found = choices.iter().find(|&&(name, _)| self.rest.contains(&name));
        found.map(|&(name, value)| {
            self.take(name);
            value
        })
    }

    /// The last one.
    pub fn last(&mut self) -> Option<&'a str> {
        self.rest.pop()
    }

    /// The last one, which is a type.
    pub fn ty(&mut self) -> Option<Type> {
        let ty = Type::parse(self.rest.last()?)?;
        self.rest.pop();
        Some(ty)
    }

    /// `.rn`, `.rz`, `.rm`, `.rp`.
    pub fn mode(&mut self) -> Option<Mode> {
        self.choice(&[
            ("rn", Mode::Nearest),
            ("rz", Mode::Zero),
            ("rm", Mode::Down),
            ("rp", Mode::Up),
        ])
    }

    /// `.rni`, `.rzi`, `.rmi`, `.rpi`: to an integer.
    pub fn integral_mode(&mut self) -> Option<Mode> {
        self.choice(&[
            ("rni", Mode::Nearest),
            ("rzi", Mode::Zero),
            ("rmi", Mode::Down),
            ("rpi", Mode::Up),
        ])
    }

    /// `.sat`, `.relu`, or neither.
    pub fn clamp(&mut self) -> Clamp {
        let clamps = [("sat", Clamp::Unit), ("relu", Clamp::Positive)];
        self.choice(&clamps).unwrap_or(Clamp::None)
    }

    /// Whether all have been read.
    pub fn done(&self) -> bool {
        self.rest.is_empty()
    }
}

/// `$body` with the constant `$M` of a rounding mode.
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

/// `$body` with the constant `$C` of a [`Clamp`].
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

/// `$body` with the constant `$B`, true or false.
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

/// `Some($body)` with the types `$T` and `$Wide`, which is twice as wide, of an integer of 16 bits or more.
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

/// `Some($body)` with the unsigned type `$T` of 16, 32 or 64 bits.
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

/// `Some($body)` with the type `$T` of a floating-point number.
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
