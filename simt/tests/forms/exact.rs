//! Exact sums, products and quotients as two f64, and a single rounding to a type.

/// A rounding mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
}

/// The names of PTX.
pub const MODES: [(&str, Mode); 4] = [
    ("rn", Mode::Nearest),
    ("rz", Mode::Zero),
    ("rm", Mode::Down),
    ("rp", Mode::Up),
];

/// A type narrower than f64: bits of the significand with the leading one, exponents of the smallest normal
/// and of the largest number.
#[derive(Debug, Clone, Copy)]
pub struct Format(i32, i32, i32);

pub const F16: Format = Format(11, -14, 15);
pub const BF16: Format = Format(8, -126, 127);
pub const F32: Format = Format(24, -126, 127);

/// The format of a type's name.
pub fn format(ty: &str) -> Format {
    match ty {
        "f16" => F16,
        "bf16" => BF16,
        _ => F32,
    }
}

/// x + rest; the rest is below half a unit in the last place of x.
#[derive(Debug, Clone, Copy)]
pub struct Exact(pub f64, pub f64);

/// a + b: "The Art of Computer Programming", Knuth, 4.2.2, theorem B.
pub fn sum(a: f64, b: f64) -> Exact {
    let s = a + b;
    if !s.is_finite() {
        return Exact(s, 0.);
    }
    let other = s - a;
    Exact(s, (a - (s - other)) + (b - other))
}

/// a·b for numbers of at most 26 bits, which is exact.
pub fn product(a: f64, b: f64) -> f64 {
    a * b
}

/// a / b; the remainder of a tells on which side of the rounded quotient the exact one lies.
pub fn quotient(a: f64, b: f64) -> Exact {
    let q = a / b;
    if !q.is_finite() || q == 0. || !b.is_finite() {
        return Exact(q, 0.);
    }
    let left = f64::mul_add(-q, b, a);
    Exact(q, left * b.signum() * f64::MIN_POSITIVE.sqrt())
}

/// √a
pub fn root(a: f64) -> Exact {
    let s = a.sqrt();
    if !s.is_finite() || s == 0. {
        return Exact(s, 0.);
    }
    Exact(s, f64::mul_add(-s, s, a) * f64::MIN_POSITIVE.sqrt())
}

impl Exact {
    /// Rounds to a type.
    pub fn round(self, Format(digits, least, greatest): Format, mode: Mode) -> f64 {
        let Self(x, rest) = self;
        if x == 0. || !x.is_finite() {
            return x;
        }
        // Just below a power of two, numbers are half as far apart.
        let is_power = x.to_bits() << 12 == 0;
        let below = i32::from(is_power && rest != 0. && (rest < 0.) != (x < 0.));
        let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023 - below).max(least);
        // The distance of adjacent numbers.
        let unit = 2f64.powi(exponent - digits + 1);
        let scaled = x / unit;
        let (mut below, mut part) = (scaled.floor(), scaled - scaled.floor());
        // The rest matters only at a number of the type or halfway between two.
        let nudge = 2f64.powi(-30);
        if part == 0. && rest < 0. {
            (below, part) = (below - 1., 1. - nudge);
        } else if (part == 0. || part == 0.5) && rest != 0. {
            part += nudge.copysign(rest);
        }
        let up = match mode {
            Mode::Nearest => part > 0.5 || part == 0.5 && below % 2. != 0.,
            Mode::Zero => part > 0. && x < 0.,
            Mode::Down => false,
            Mode::Up => part > 0.,
        };
        let rounded = (below + f64::from(up)) * unit;
        let most = (2. - 2f64.powi(1 - digits)) * 2f64.powi(greatest);
        let stays = match mode {
            Mode::Nearest => false,
            Mode::Zero => true,
            Mode::Down => x > 0.,
            Mode::Up => x < 0.,
        };
        match (rounded.abs() > most, stays) {
            (true, true) => most.copysign(x),
            (true, false) => f64::INFINITY.copysign(x),
            (false, _) => rounded.copysign(x),
        }
    }
}

#[test]
fn values_are_rounded_once() {
    let near = |x: f64| Exact(x, 0.).round(F32, Mode::Nearest);
    for x in [1.1, -0.1, 1e-45, 3.5e38, 1e-40, 16_777_217., 0.] {
        assert_eq!(near(x).to_bits(), f64::from(x as f32).to_bits(), "{x}");
    }
    let tie = 1. + 2f64.powi(-24);
    assert_eq!(Exact(tie, 0.).round(F32, Mode::Nearest), 1.);
    assert_eq!(
        Exact(tie, 1e-30).round(F32, Mode::Nearest),
        1. + 2f64.powi(-23)
    );
    assert_eq!(
        Exact(1., -1e-30).round(F32, Mode::Down),
        1. - 2f64.powi(-24)
    );
    assert_eq!(Exact(1e39, 0.).round(F32, Mode::Zero), f64::from(f32::MAX));
}
