//! One row of x with all of a row of w in flight against the oracle, and the rule that picks it in a chain.

use candle_core::{DType, Device, Result, Tensor};
use operands::Linear;
use rand_chacha::ChaCha8Rng;

use super::oracle::{expected, sums};
use crate::dispatch::{Facts, Why};
use crate::launch::{chained, on_cpu};
use crate::linear::level5::{Call, Run};
use crate::output::poisoned;
use crate::testing::{assert_close, behind, devices, rng, tolerance, uniform};

/// Rows of one chunk, of some lanes' chunks, and of all chunks of each kernel; columns that fill no block, and many.
const SHAPES: [(usize, usize); 14] = [
    (1, 8),
    (7, 264),
    (64, 512),
    (65, 576),
    (3, 768),
    (129, 1000),
    (50, 1536),
    (5, 2048),
    (7, 2056),
    (6, 4096),
    (4, 4104),
    (2, 8000),
    (3, 8192),
    (1000, 520),
];

#[test]
fn a_row_in_flight_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        if on_cpu(&device) {
            continue; // a CPU has panels
        }
        for dtype in [DType::F32, DType::BF16] {
            for (n, k) in SHAPES {
                for shifted in [false, true] {
                    compare(&mut rng, (n, k, shifted), dtype, &device)?;
                }
            }
        }
    }
    Ok(())
}

/// More rows than an H200's blocks have at a time, for each kernel whose blocks go from row to row; the last turn has not all
/// rows.
#[test]
fn blocks_that_go_from_row_to_row_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(|device| !on_cpu(device)) {
        for (dtype, shapes) in [
            (DType::F32, [(1590, 1544), (270, 2056)]),
            (DType::BF16, [(1590, 2056), (795, 4104)]),
        ] {
            for (n, k) in shapes {
                compare(&mut rng, (n, k, false), dtype, &device)?;
            }
        }
    }
    Ok(())
}

/// With `shifted`, operands start one element after a multiple of 16 bytes.
fn compare(
    rng: &mut ChaCha8Rng,
    (n, k, shifted): (usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let mut operand = |dims: &[usize]| {
        let (x, values) = uniform(rng, dims, dtype, device)?;
        let x = if shifted { behind(&x)? } else { x };
        Ok::<_, candle_core::Error>((x, values))
    };
    let ((x, x64), (w, w64)) = (operand(&[1, 1, k])?, operand(&[n, k])?);
    let ((b, b64), (r, r64)) = (operand(&[n])?, operand(&[1, 1, n])?);
    let all = sums(&x64, &w64, (1, n, k));
    for (bias, residual) in [(false, false), (true, false), (false, true), (true, true)] {
        let layer = Linear::new(w.clone(), bias.then(|| b.clone()));
        let call = if residual {
            Call::residual(&x, &layer, &r)?
        } else {
            Call::linear(&x, &layer)?
        };
        let what = format!("{n}×{k} {dtype:?} {device:?} {shifted} {bias} {residual}");
        let y = poisoned(|| call.run(Run::RowGemv))?;
        let more = |i: usize| {
            let bias = if bias { b64[i] } else { 0. };
            bias + if residual { r64[i] } else { 0. }
        };
        let sums = all.iter().enumerate().map(|(i, s)| s.plus(more(i)));
        assert_close(&what, &y, &expected(sums), tolerance(dtype, 1e-4))?;
    }
    Ok(())
}

#[test]
fn a_row_longer_than_the_registers_is_an_error() -> Result<()> {
    for device in devices().filter(|device| !on_cpu(device)) {
        for (dtype, k) in [(DType::F32, 8196), (DType::BF16, 8200)] {
            let ones = |dims: &[usize]| Tensor::ones(dims, dtype, &device);
            let (x, w) = (ones(&[1, k])?, Linear::new(ones(&[2, k])?, None));
            let error = Call::linear(&x, &w)?.run(Run::RowGemv);
            let error = error.expect_err("too long").to_string();
            assert!(error.contains("fit into registers"), "{dtype:?}: {error}");
        }
    }
    Ok(())
}

#[test]
fn a_chain_has_a_rule_for_one_row() -> Result<()> {
    for device in devices() {
        let hopper = Facts::of(&device)?.at_least((9, 0));
        for (dtype, rows, by_rule) in [
            (DType::BF16, 1, hopper),
            (DType::BF16, 2, false),
            (DType::F32, 1, hopper),
            (DType::F32, 2, false),
        ] {
            let ones = |dims: &[usize]| Tensor::ones(dims, dtype, &device);
            let (x, w) = (ones(&[rows, 16])?, Linear::new(ones(&[4, 16])?, None));
            let call = Call::linear(&x, &w)?;
            let is_fixed = || Ok(matches!(call.picked()?.1.why, Why::Fixed(_)));
            assert!(!is_fixed()?, "{dtype:?} {rows}: no chain");
            let chained: Result<bool> = chained(is_fixed);
            assert_eq!(chained?, by_rule, "{dtype:?} {rows} on {device:?}");
        }
    }
    Ok(())
}
