//! Builds functions of registers from functions of one lane's values.
//!
//! A line such as `lanes!(i32, |a, b| a.wrapping_add(b))` is an [`Alu`]: a loop over the 32 lanes that reads
//! both registers as `i32` and writes the sum. The compiler vectorises these plain loops.

use half::{bf16, f16};

use super::{Alu, Compare, D, W};

/// The values of all lanes.
type Lanes<T> = [T; 32];

/// Bits of one lane in a register: `u32` in a word, `u64` in a double.
pub(super) trait Register: Copy {
    /// Wraps a function of one register, with a result in the same file.
    fn one(f: fn(&Lanes<Self>) -> Lanes<Self>) -> Alu;
    /// Wraps a function of two registers.
    fn two(f: fn(&Lanes<Self>, &Lanes<Self>) -> Lanes<Self>) -> Alu;
    /// Wraps a function of three registers.
    #[allow(clippy::type_complexity)]
    fn three(f: fn(&Lanes<Self>, &Lanes<Self>, &Lanes<Self>) -> Lanes<Self>) -> Alu;
    /// Wraps a comparison of two registers.
    fn compare(f: fn(&Lanes<Self>, &Lanes<Self>) -> u32) -> Compare;
}

impl Register for u32 {
    fn one(f: fn(&W) -> W) -> Alu {
        Alu::W(f)
    }
    fn two(f: fn(&W, &W) -> W) -> Alu {
        Alu::WW(f)
    }
    fn three(f: fn(&W, &W, &W) -> W) -> Alu {
        Alu::WWW(f)
    }
    fn compare(f: fn(&W, &W) -> u32) -> Compare {
        Compare::W(f)
    }
}

impl Register for u64 {
    fn one(f: fn(&D) -> D) -> Alu {
        Alu::D(f)
    }
    fn two(f: fn(&D, &D) -> D) -> Alu {
        Alu::DD(f)
    }
    fn three(f: fn(&D, &D, &D) -> D) -> Alu {
        Alu::DDD(f)
    }
    fn compare(f: fn(&D, &D) -> u32) -> Compare {
        Compare::D(f)
    }
}

/// A conversion from one file to another, or within one.
pub(super) trait Converts<To>: Register {
    /// Wraps a function of one register.
    fn alu(f: fn(&Lanes<Self>) -> Lanes<To>) -> Alu;
}

impl Converts<u32> for u32 {
    fn alu(f: fn(&W) -> W) -> Alu {
        Alu::W(f)
    }
}

impl Converts<u64> for u32 {
    fn alu(f: fn(&W) -> D) -> Alu {
        Alu::WtoD(f)
    }
}

impl Converts<u32> for u64 {
    fn alu(f: fn(&D) -> W) -> Alu {
        Alu::DtoW(f)
    }
}

impl Converts<u64> for u64 {
    fn alu(f: fn(&D) -> D) -> Alu {
        Alu::D(f)
    }
}

/// A type as a register holds it. A value narrower than a word is in the low bits; the high bits are ignored
/// when reading and zero when writing.
pub(super) trait Lane: Copy {
    /// The register file.
    type Register: Register;
    /// Reads the value from a register.
    fn read(bits: Self::Register) -> Self;
    /// Returns the register's bits for the value.
    fn write(self) -> Self::Register;
}

/// Implements [`Lane`] with two expressions.
macro_rules! lane {
    ($T:ty, $Register:ty, $read:expr, $write:expr) => {
        impl Lane for $T {
            type Register = $Register;
            #[inline(always)]
            fn read(bits: $Register) -> Self {
                let read: fn($Register) -> $T = $read;
                read(bits)
            }
            #[inline(always)]
            fn write(self) -> $Register {
                let write: fn($T) -> $Register = $write;
                write(self)
            }
        }
    };
}

lane!(u8, u32, |bits| bits as u8, |value| value.into());
// A 16-bit register holds a signed byte with its sign extension.
lane!(i8, u32, |bits| bits as i8, |value| (value as u16).into());
lane!(u16, u32, |bits| bits as u16, |value| value.into());
lane!(i16, u32, |bits| bits as i16, |value| (value as u16).into());
lane!(u32, u32, |bits| bits, |value| value);
lane!(i32, u32, |bits| bits as i32, |value| value as u32);
lane!(u64, u64, |bits| bits, |value| value);
lane!(i64, u64, |bits| bits as i64, |value| value as u64);
lane!(f32, u32, f32::from_bits, f32::to_bits);
lane!(f64, u64, f64::from_bits, f64::to_bits);
lane!(f16, u32, |bits| f16::from_bits(bits as u16), |value| value
    .to_bits()
    .into());
lane!(bf16, u32, |bits| bf16::from_bits(bits as u16), |value| {
    value.to_bits().into()
});

/// Returns `f` of lanes 0 to 31.
///
/// This is a plain loop because the optimiser unrolls `std::array::from_fn`: with it, the 1,743 functions
/// built from this one took 40% of the crate's compile time.
#[inline(always)]
pub(super) fn each_lane<T: Copy + Default>(f: impl Fn(usize) -> T) -> Lanes<T> {
    let mut lanes = [T::default(); 32];
    let mut i = 0;
    while i < 32 {
        lanes[i] = f(i);
        i += 1;
    }
    lanes
}

/// An [`Alu`] whose operands and result are of one type: `lanes!(f32, |a, b| a + b)`.
macro_rules! lanes {
    ($T:ty, |$a:ident| $f:expr) => {
        <<$T as Lane>::Register as Register>::one(|x| {
            crate::alu::lane::each_lane(|i| {
                let $a = <$T as Lane>::read(x[i]);
                Lane::write($f)
            })
        })
    };
    ($T:ty, |$a:ident, $b:ident| $f:expr) => {
        <<$T as Lane>::Register as Register>::two(|x, y| {
            crate::alu::lane::each_lane(|i| {
                let ($a, $b) = (<$T as Lane>::read(x[i]), <$T as Lane>::read(y[i]));
                Lane::write($f)
            })
        })
    };
    ($T:ty, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        <<$T as Lane>::Register as Register>::three(|x, y, z| {
            crate::alu::lane::each_lane(|i| {
                let ($a, $b) = (<$T as Lane>::read(x[i]), <$T as Lane>::read(y[i]));
                let $c = <$T as Lane>::read(z[i]);
                Lane::write($f)
            })
        })
    };
}

/// The same for pairs: `$f` is applied to the low halves and to the high halves.
macro_rules! pairs {
    ($T:ty, |$($a:ident),+| $f:expr) => {
        lanes!(u32, |$($a),+| {
            let f = |$($a: $T),+| -> $T { $f };
            let low = f($(<$T as Lane>::read($a)),+).write();
            let high = f($(<$T as Lane>::read($a >> 16)),+).write();
            low | high << 16
        })
    };
}

/// An [`Alu`] of any kind; each operand has its own type:
/// `map!(WWtoD, |a: u32, b: u32| a as u64 * b as u64)`.
macro_rules! map {
    ($kind:ident, |$($a:ident: $T:ty),+| $f:expr) => {
        Alu::$kind(|$($a),+| {
            crate::alu::lane::each_lane(|i| {
                $(let $a = <$T as Lane>::read($a[i]);)+
                Lane::write($f)
            })
        })
    };
}

/// A conversion: `convert!(i32, |a| a as i64)` is `cvt.s64.s32`.
macro_rules! convert {
    ($From:ty, $To:ty, |$a:ident| $f:expr) => {
        <<$From as Lane>::Register as Converts<<$To as Lane>::Register>>::alu(|x| {
            crate::alu::lane::each_lane(|i| {
                let $a = <$From as Lane>::read(x[i]);
                let converted: $To = $f;
                Lane::write(converted)
            })
        })
    };
}

pub(super) use {convert, lanes, map, pairs};

/// `mov.b64 d, {low, high}`.
pub fn pack64(low: &W, high: &W) -> D {
    std::array::from_fn(|i| u64::from(low[i]) | u64::from(high[i]) << 32)
}

/// The low word of `mov.b64 {low, high}, a`.
pub fn low(a: &D) -> W {
    a.map(|x| x as u32)
}

/// The high word of `mov.b64 {low, high}, a`.
pub fn high(a: &D) -> W {
    a.map(|x| (x >> 32) as u32)
}

/// `mov.b32 d, {low, high}`; the halves are in the low bits of words.
pub fn pack16(low: &W, high: &W) -> W {
    std::array::from_fn(|i| low[i] & 0xffff | high[i] << 16)
}

/// The low half of `mov.b32 {low, high}, a`.
pub fn low16(a: &W) -> W {
    a.map(|x| x & 0xffff)
}

/// The high half of `mov.b32 {low, high}, a`.
pub fn high16(a: &W) -> W {
    a.map(|x| x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_reverses_packing() {
        let a: W = std::array::from_fn(|i| 0xdead_0000 + i as u32);
        let b: W = std::array::from_fn(|i| 0x0234_5678 * i as u32);
        assert_eq!(pack64(&a, &b)[3], u64::from(b[3]) << 32 | u64::from(a[3]));
        assert_eq!((low(&pack64(&a, &b)), high(&pack64(&a, &b))), (a, b));
        assert_eq!(pack16(&low16(&a), &high16(&a)), a);
        assert_eq!(pack16(&a, &b)[1], 0x5678_0001);
    }

    #[test]
    fn narrow_values_clear_the_rest_of_the_word() {
        assert_eq!(i16::read(0x7777_8000), i16::MIN);
        assert_eq!(i16::MIN.write(), 0x8000);
        assert_eq!((-1i8).write(), 0xffff);
        assert_eq!(i8::read(0x180), -128);
        assert_eq!(u8::read(0x180), 128);
    }
}
