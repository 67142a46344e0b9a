//! Packing, unpacking and rounding of weights.

use candle_core::{DType, Device, Result, Tensor};
use half::bf16;

use super::Weights;
use crate::ternary_linear::Ternary;
use crate::testing::{devices, host, rng};

#[test]
fn unpacking_reverses_packing() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (n, k) in [(1, 1), (2, 3), (65, 4), (3, 127), (1, 4096), (7, 257)] {
            let weights = Weights::random(&mut rng, n, k);
            let w = weights.pack(&device)?;
            let expected: Vec<f64> = (0..n * k)
                .map(|i| weights.s[i / k] * weights.t[i])
                .collect();
            assert_eq!(host(&w.dequantize()?)?, expected);
            let again = Ternary::from_packed(&w.packed()?, w.scales(), k)?;
            assert_eq!(host(&again.dequantize()?)?, expected);
        }
    }
    Ok(())
}

#[test]
fn code_3_is_refused_by_row_and_column() -> Result<()> {
    let scales = Tensor::ones(3, DType::F32, &Device::Cpu)?;
    let mut codes = vec![0b01_10_00_01u8; 3 * 3];
    codes[2 * 3 + 1] = 0b01_11_00_01;
    let codes = Tensor::from_vec(codes, (3, 3), &Device::Cpu)?;
    let error = Ternary::from_packed(&codes, &scales, 11).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("code 3 in row 2, column 6"), "{message}");
    // Too few columns for those bytes, and codes beyond K.
    assert!(Ternary::from_packed(&codes, &scales, 8).is_err());
    let padding = Tensor::full(0b11_11_11_10u8, (3, 1), &Device::Cpu)?;
    let w = Ternary::from_packed(&padding, &scales, 1)?;
    assert_eq!(host(&w.dequantize()?)?, [1.; 3]);
    Ok(())
}

#[test]
fn quantize_takes_the_mean_and_rounds() -> Result<()> {
    let w = [
        [0.9f32, -0.2, 0.3, -2.2], // mean 0.9: 1, −0.22, 0.33, −2.4
        [0., 0., 0., 0.],
        [-1., 0.25, 0.5, 0.25], // mean 0.5: −2, 0.5 (a tie, to even), 1, 0.5
        [1e-30, -1e-30, 1e-32, 0.],
    ];
    for device in devices() {
        let w = Ternary::quantize(&Tensor::new(&w, &device)?)?;
        assert_eq!(w.shape(), (4, 4));
        let s = host(w.scales())?;
        let t: Vec<f64> = host(&w.dequantize()?)?
            .chunks(4)
            .zip(&s)
            .flat_map(|(row, s)| row.iter().map(move |w| if *s == 0. { 0. } else { w / s }))
            .collect();
        assert!(
            (s[0] - 0.9).abs() < 1e-6 && s[1] == 0. && s[2] == 0.5,
            "{s:?}"
        );
        let rows = [
            [1., 0., 0., -1.],
            [0.; 4],
            [-1., 0., 1., 0.],
            [1., -1., 0., 0.],
        ];
        assert_eq!(t, rows.concat());
    }
    Ok(())
}

/// Ternary weights with one magnitude per row and no zero quantise to themselves.
#[test]
fn quantize_of_the_dequantized() -> Result<()> {
    let mut rng = rng();
    let mut weights = Weights::random(&mut rng, 17, 130);
    weights
        .t
        .iter_mut()
        .for_each(|t| *t = if *t < 0. { -1. } else { 1. });
    weights
        .s
        .iter_mut()
        .for_each(|s| *s = f64::from(bf16::from_f64(s.abs() + 0.1)));
    let w = weights.pack(&Device::Cpu)?.dequantize()?;
    for dtype in [DType::F32, DType::BF16] {
        let again = Ternary::quantize(&w.to_dtype(dtype)?)?.dequantize()?;
        assert_eq!(host(&again)?, host(&w)?);
    }
    Ok(())
}

#[test]
fn invalid_weights_are_errors() -> Result<()> {
    let mut w = vec![1f32; 3 * 5];
    w[5 + 2] = f32::NAN;
    let w = Tensor::from_vec(w, (3, 5), &Device::Cpu)?;
    let message = Ternary::quantize(&w).unwrap_err().to_string();
    assert!(message.contains("NaN in row 1, column 2"), "{message}");
    assert!(Ternary::quantize(&w.to_dtype(DType::F64)?).is_err());
    assert!(Ternary::quantize(&Tensor::ones((3, 0), DType::F32, &Device::Cpu)?).is_err());
    Ok(())
}
