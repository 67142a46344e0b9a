//! Compares results with the oracle's.

use candle_core::DType;

use super::super::child::Output;
use super::super::oracle::Expected;

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
        for (j, (value, bits)) in right.values.iter().zip(&found.bits).enumerate() {
            let y = f64::from_bits(*bits);
            let tolerance = match (&*found.dtype, dtype) {
                ("u32", _) => 0.,
                (_, DType::BF16) => 3e-2 * largest,
                _ => 1e-4 * value.abs().max(1.),
            };
            let apart = (y - value).abs();
            // A NaN is within no tolerance.
            if apart.is_nan() || apart > tolerance {
                return Some(format!(
                    "{which}element {j}: expected {value:.6}, found {y:.6}"
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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
