// Online softmax (Milakov and Gimelshein 2018): the maximum m and the sum Σ exp(x − m) of a row, in
// one pass. With it, attention need not store its scores.

/// Maximum and sum of the numbers so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The maximum; −∞ if there is no number.
    pub max: f32,
    /// Σ exp(x − max); 0 if there is no number.
    pub sum: f32,
}

pub const NOTHING: Stats = Stats {
    max: f32::NEG_INFINITY,
    sum: 0.,
};

/// The numbers of both, as if they had come in one row.
pub fn merge(a: Stats, b: Stats) -> Stats {
    // REGION: merge
    //|     // Before you add the two sums, scale both to the same maximum.
    //|     // Take care of NOTHING and of masked scores, which are −∞: −∞ − (−∞) is NaN.
    //|     Stats { max: a.max.max(b.max), sum: a.sum + b.sum }
    let max = a.max.max(b.max);
    let scaled = |s: Stats| if s.max == f32::NEG_INFINITY { 0. } else { s.sum * (s.max - max).exp() };
    Stats { max, sum: scaled(a) + scaled(b) }
    // END
}

/// Statistics of all numbers, each read once.
pub fn stats(numbers: impl Iterator<Item = f32>) -> Stats {
    // REGION: stats
    //|     let max = numbers.fold(f32::NEG_INFINITY, f32::max);
    //|     // The numbers are gone now. What else can be done with each while it is here?
    //|     Stats { max, sum: 0. }
    let one = |x: f32| Stats { max: x, sum: 1. };
    numbers.fold(NOTHING, |so_far, x| merge(so_far, one(x)))
    // END
}
