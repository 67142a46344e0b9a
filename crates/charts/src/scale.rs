//! Scales of axes: positions of values, and ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// A linear or logarithmic scale.
#[derive(Debug, Clone)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// Whether ticks are powers of two.
    binary: bool,
}

impl Scale {
    /// A scale from the smallest to the largest value, extended by the fraction `room` on either side; `None`
    /// without a value.
    pub fn around(values: impl Iterator<Item = f64>, room: f64, log: bool) -> Option<Self> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let warp = |v: f64| if log { v.ln() } else { v };
        let (a, b) = (warp(low), warp(high));
        if !(a.is_finite() && b.is_finite()) {
            return None;
        }
        let room = if a == b { 0.5 } else { room * (b - a) };
        let back = |v: f64| if log { v.exp() } else { v };
        let (low, high) = (back(a - room), back(b + room));
        let binary = false;
        Some(Self {
            low,
            high,
            log,
            binary,
        })
    }

    /// The same scale, with powers of two as ticks or not.
    pub fn binary(self, binary: bool) -> Self {
        Self { binary, ..self }
    }

    /// A linear scale from exactly `low` to exactly `high`.
    pub fn exact(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            log: false,
            binary: false,
        }
    }

    /// Whether the scale can show `v`.
    pub fn shows(v: f64, log: bool) -> bool {
        v.is_finite() && (!log || v > 0.)
    }

    /// Returns the position of `v` between the ends, 0 to 1.
    fn fraction(&self, v: f64) -> f64 {
        let warp = |v: f64| if self.log { v.ln() } else { v };
        (warp(v) - warp(self.low)) / (warp(self.high) - warp(self.low))
    }

    /// Returns at most `most` round values.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if self.binary {
            return self.powers_of_two(most);
        }
        if !self.log || self.high < 10. * self.low {
            return self.multiples(most);
        }
        [&[1., 2., 5.][..], &[1., 3.], &[1.]]
            .iter()
            .map(|digits| self.powers(digits))
            .find(|ticks| ticks.len() <= most)
            .unwrap_or_else(|| {
                let ticks = self.powers(&[1.]);
                let step = ticks.len().div_ceil(most.max(1));
                ticks.into_iter().step_by(step).collect()
            })
    }

    /// Returns the values `digits` × 10ᵏ.
    fn powers(&self, digits: &[f64]) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        decades
            .flat_map(|k| digits.iter().map(move |d| d * 10f64.powi(k)))
            .filter(|v| (self.low..=self.high).contains(v))
            .collect()
    }

    /// Returns every power of two, or every second, third, … one.
    fn powers_of_two(&self, most: usize) -> Vec<f64> {
        // The ends may be a rounding error off a power.
        let first = (self.low.log2() - 1e-9).ceil() as i32;
        let last = (self.high.log2() + 1e-9).floor() as i32;
        let powers: Vec<i32> = (first..=last).collect();
        let step = powers.len().div_ceil(most.max(1)).max(1);
        let powers = powers.into_iter().step_by(step);
        powers.map(|power| 2f64.powi(power)).collect()
    }

    /// Returns multiples of 1, 2 or 5 × 10ᵏ.
    fn multiples(&self, most: usize) -> Vec<f64> {
        let least = (self.high - self.low) / most.max(1) as f64;
        let decade = 10f64.powf(least.log10().floor());
        let step = [1., 2., 5., 10.]
            .map(|digit| digit * decade)
            .into_iter()
            .find(|&step| step >= least)
            .unwrap_or(10. * decade);
        let (first, last) = (
            (self.low / step).ceil() as i64,
            (self.high / step).floor() as i64,
        );
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, v: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * self.fraction(*v)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.bold_points())
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

/// Formats a tick with up to six significant digits, without trailing zeros.
pub fn label(v: f64) -> String {
    if v == 0. {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&v.abs()) {
        return format!("{v:.0e}");
    }
    let digits = (5 - v.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{v:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, most: usize) -> Vec<String> {
        scale.ticks(most).into_iter().map(label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let ticks = labels(&Scale::exact(0., 1.37), 8);
        assert_eq!(ticks, ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]);
        assert_eq!(
            labels(&Scale::exact(-3., 21.), 5),
            ["0", "5", "10", "15", "20"]
        );
    }

    #[test]
    fn logarithmic_ticks_follow_the_decades() {
        let scale = |low, high| Scale {
            low,
            high,
            log: true,
            binary: false,
        };
        assert_eq!(
            labels(&scale(0.9, 60.), 8),
            ["1", "2", "5", "10", "20", "50"]
        );
        assert_eq!(
            labels(&scale(0.001, 1e5), 5),
            ["0.001", "0.1", "10", "1000", "100000"]
        );
        // Within a decade, powers alone would leave the axis without labels.
        assert_eq!(labels(&scale(2.1, 6.9), 6), ["3", "4", "5", "6"]);
    }

    #[test]
    fn binary_ticks_are_the_sizes_themselves() {
        let sizes = [256., 512., 1024., 2048., 4096.];
        let scale = Scale::around(sizes.into_iter(), 0., true).expect("five values");
        let scale = scale.binary(true);
        let all = ["256", "512", "1024", "2048", "4096"];
        assert_eq!(labels(&scale, 6), all);
        assert_eq!(labels(&scale, 3), ["256", "1024", "4096"]);
        assert_eq!(scale.map(&256., (0, 100)), 0);
        assert_eq!(scale.map(&4096., (0, 100)), 100);
    }

    #[test]
    fn ends_map_to_ends() {
        let scale = Scale {
            low: 1.,
            high: 100.,
            log: true,
            binary: false,
        };
        assert_eq!(scale.map(&1., (10, 210)), 10);
        assert_eq!(scale.map(&10., (10, 210)), 110);
        assert_eq!(scale.map(&100., (10, 210)), 210);
    }

    #[test]
    fn a_single_value_still_has_an_axis() {
        let scale = Scale::around([4.].into_iter(), 0., false).expect("one value");
        assert_eq!(scale.map(&4., (0, 100)), 50);
        assert!(Scale::around(std::iter::empty(), 0., true).is_none());
    }

    #[test]
    fn labels_are_short() {
        let texts = [0.30000000000000004, 1234.5, 2e7, 1e-5, 250000.].map(label);
        assert_eq!(texts, ["0.3", "1234.5", "2e7", "1e-5", "250000"]);
    }
}
