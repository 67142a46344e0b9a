//! Compares results with the oracle's.

use candle_core::DType;
use classroom::pattern;

use super::super::child::Output;
use super::super::oracle::Expected;

/// Rounding errors in f32 of the product of two sums of 512 numbers, over the largest result.
const ROUNDING: f64 = 2e-6;

/// The first difference between results; `None` within rounding errors.
pub fn difference(expected: &[Expected], found: &[Output], dtype: DType) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!(
            "expected {} results, found {}",
            expected.len(),
            found.len()
        ));
    }
    for (i, (right, found)) in expected.iter().zip(found).enumerate() {
        let which = match expected.len() {
            1 => String::new(),
            _ => format!("result {i}: "),
        };
        if right.shape != found.shape {
            return Some(format!(
                "{which}expected the shape {:?}, found {:?}",
                right.shape, found.shape
            ));
        }
        if found.dtype != dtype.as_str() && found.dtype != "u32" {
            return Some(format!(
                "{which}expected {}, found {}",
                dtype.as_str(),
                found.dtype
            ));
        }
        if right.values.len() != found.bits.len() {
            return Some(format!(
                "{which}expected {} elements, found {}",
                right.values.len(),
                found.bits.len()
            ));
        }
        let largest = right.values.iter().fold(1f64, |max, x| max.max(x.abs()));
        let is_close = |y: f64, value: f64| {
            let tolerance = match (&*found.dtype, dtype) {
                ("u32", _) => 0.,
                (_, DType::BF16) => 3e-2 * largest,
                // A product of sums rounds in proportion to the largest ones, also where it is small itself.
                _ => (1e-4 * value.abs().max(1.)).max(ROUNDING * largest),
            };
            // A NaN is within no tolerance.
            (y - value).abs() <= tolerance
        };
        let values: Vec<f64> = found
            .bits
            .iter()
            .map(|bits| f64::from_bits(*bits))
            .collect();
        let mut pairs = values.iter().zip(&right.values);
        let Some(j) = pairs.position(|(y, value)| !is_close(*y, *value)) else {
            continue;
        };
        let (value, y) = (right.values[j], values[j]);
        let result = pattern::Compared {
            shape: &right.shape,
            expected: &right.values,
            found: &values,
            is_close: &is_close,
        };
        let pattern = result.pattern().map_or(String::new(), |p| format!("; {p}"));
        return Some(format!(
            "{which}element {j}: expected {value:.6}, found {y:.6}{pattern}"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_result_next_to_a_large_one_may_round() {
        let right = |largest| {
            [Expected {
                shape: vec![2],
                values: vec![largest, 0.051598],
            }]
        };
        let is_close = |largest: f64| {
            let found = [Output {
                shape: vec![2],
                dtype: "f32".into(),
                bits: vec![largest.to_bits(), 0.051699f64.to_bits()],
            }];
            difference(&right(largest), &found, DType::F32).is_none()
        };
        assert!(is_close(100.) && !is_close(10.));
    }

    #[test]
    fn a_pattern_is_named() {
        let shape = vec![2, 2];
        let right = [Expected {
            shape: shape.clone(),
            values: vec![1., -2., 3., 0.5],
        }];
        let found = [2., -4., 6., 1.].map(f64::to_bits);
        let found = [Output {
            shape,
            dtype: "f32".into(),
            bits: found.into(),
        }];
        let line =
            "element 0: expected 1.000000, found 2.000000; every value is 2 times the expected";
        let is = difference(&right, &found, DType::F32);
        assert_eq!(is.as_deref(), Some(line));
    }

    #[test]
    fn a_difference_is_named() {
        let right = [Expected {
            shape: vec![2],
            values: vec![1., -2.],
        }];
        let found = |values: &[f64], dtype: &str| {
            [Output {
                shape: vec![values.len()],
                dtype: dtype.into(),
                bits: values.iter().map(|x| x.to_bits()).collect(),
            }]
        };
        let line = |values: &[f64], dtype| difference(&right, &found(values, dtype), DType::F32);
        assert_eq!(line(&[1., -2.], "f32"), None);
        let expected = |text: &str| Some(text.to_owned());
        assert_eq!(
            line(&[1., -2.1], "f32"),
            expected("element 1: expected -2.000000, found -2.100000")
        );
        assert_eq!(
            line(&[f64::NAN, -2.], "f32"),
            expected("element 0: expected 1.000000, found NaN")
        );
        assert_eq!(
            line(&[2., -4.], "f32"),
            expected("element 0: expected 1.000000, found 2.000000")
        );
        assert_eq!(
            line(&[1.], "f32"),
            expected("expected the shape [2], found [1]")
        );
        // A child can withhold elements, or add some.
        for bits in [&[] as &[f64], &[1.], &[1., -2., 0.]] {
            let found = [Output {
                shape: vec![2],
                dtype: "f32".into(),
                bits: bits.iter().map(|x| x.to_bits()).collect(),
            }];
            let count = bits.len();
            assert_eq!(
                difference(&right, &found, DType::F32),
                expected(&format!("expected 2 elements, found {count}"))
            );
        }
        assert_eq!(line(&[1., -2.], "f64"), expected("expected f32, found f64"));
        assert_eq!(
            difference(&right, &[], DType::F32),
            expected("expected 1 results, found 0")
        );
    }
}
