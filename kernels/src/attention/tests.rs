//! All levels against the oracle, on every device.

mod case;
mod constants;
mod level5;

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

use super::Cache;
use crate::output::poisoned;
use crate::testing::{assert_close, cases, devices, hardware, host, pairwise, rng, tolerance};
use case::{Case, LEVELS};

/// Compares causal attention after `position` keys, and full attention of `tokens`.
fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let (product, values) = case.product(rng, device)?;
    let causal = case.oracle(&values, true);
    let full = (case.position == 0).then(|| case.oracle(&values, false));
    for level in case.levels(device)? {
        let what = format!("{} {device:?} {case:?}", level.name);
        let tolerance = tolerance(case.dtype, 1e-4);
        if case.d.is_multiple_of(2) {
            let y = poisoned(|| {
                let mut cache = case.cache(device)?;
                if case.position > 0 {
                    case.append(level, &product, &mut cache, 0, case.position)?;
                }
                let q = case.append(level, &product, &mut cache, case.position, case.tokens)?;
                (level.causal_attention)(&q, &cache, case.position)
            })?;
            assert_close(&format!("causal {what}"), &y, &causal, tolerance)?;
        }
        if let Some(full) = &full {
            let [q, k, v] = case.cut(&product, 0, case.tokens)?;
            let y = poisoned(|| (level.attention)(&q, &k, &v))?;
            assert_close(&format!("full {what}"), &y, full, tolerance)?;
        }
    }
    if let Some(full) = &full {
        let [q, k, v] = case.cut(&product, 0, case.tokens)?;
        let y = poisoned(|| super::level5::attention(&q, &k, &v))?;
        let what = format!("picked {device:?} {case:?}");
        assert_close(&what, &y, full, tolerance(case.dtype, 1e-4))?;
    }
    Ok(())
}

const HEADS: [(usize, usize); 5] = [(2, 2), (3, 1), (6, 2), (9, 1), (8, 4)];

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let axes: [&[usize]; 7] = [
        &[1, 2],
        &[1, 2, 4, 5, 63, 64, 65, 197],
        &[0, 1, 62, 256],
        &[0, 1, 2, 3, 4],
        &[16, 32, 64, 80, 128],
        &[0, 1],
        &[0, 1],
    ];
    for device in devices() {
        for shape in pairwise(&axes) {
            let (heads, kv_heads) = HEADS[shape[3]];
            let case = Case {
                batch: shape[0],
                tokens: shape[1],
                position: shape[2],
                heads,
                kv_heads,
                d: shape[4],
                dtype: [DType::F32, DType::BF16][shape[5]],
                offset: shape[6],
            };
            compare(&mut rng, case.capped(1 << 22), &device)?;
        }
    }
    Ok(())
}

/// (tokens, position, (heads, kv_heads), d)
type Sizes = (usize, usize, (usize, usize), usize);

fn compare_all(cases: &[Sizes], limit: usize) -> Result<()> {
    let mut rng = rng();
    for device in hardware() {
        for dtype in [DType::F32, DType::BF16] {
            for &(tokens, position, (heads, kv_heads), d) in cases {
                let (batch, offset) = (1, 0);
                let case = Case {
                    batch,
                    tokens,
                    position,
                    heads,
                    kv_heads,
                    d,
                    dtype,
                    offset,
                };
                compare(&mut rng, case.capped(limit), &device)?;
            }
        }
    }
    Ok(())
}

#[test]
fn long_caches() -> Result<()> {
    let cases = [
        (1, 2047, (8, 8), 64),
        (1, 2047, (9, 3), 64),
        (3, 2045, (4, 1), 128),
        (16, 2032, (4, 2), 64),
        (1, 8191, (3, 1), 32),
        (700, 0, (1, 1), 16),
    ];
    compare_all(&cases, 1 << 24)
}

#[test]
#[ignore = "large: run it with `cargo test -p kernels -- --ignored large`"]
fn large_sequences_equal_the_oracle() -> Result<()> {
    let cases = [
        (2048, 0, (3, 1), 64),
        (2048, 0, (2, 2), 128),
        (2048, 6144, (1, 1), 80),
        (1, 8191, (32, 8), 128),
    ];
    compare_all(&cases, usize::MAX)
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape(
        (batch, tokens, position) in (1usize..3, 1usize..90, 0usize..90),
        (kv_heads, group, d) in (1usize..4, 1usize..4, 1usize..129),
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
        offset in 0usize..9,
    ) {
        let position = if d % 2 == 1 { 0 } else { position };
        let heads = kv_heads * group;
        let case = Case { batch, tokens, position, heads, kv_heads, d, dtype, offset };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

fn small(tokens: usize, d: usize, dtype: DType) -> Case {
    let (heads, kv_heads) = (4, 2);
    let (batch, position, offset) = (2, 0, 0);
    Case {
        batch,
        tokens,
        position,
        heads,
        kv_heads,
        d,
        dtype,
        offset,
    }
}

#[test]
fn prefill_and_decode_steps_equal_the_whole_sequence() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (dtype, d) in [(DType::F32, 64), (DType::BF16, 64), (DType::F32, 20)] {
            let case = small(140, d, dtype);
            let (product, values) = case.product(&mut rng, &device)?;
            let expected = case.oracle(&values, true);
            for level in case.levels(&device)? {
                let y = poisoned(|| case.causal(level, &product, &[66, 1, 1, 70, 2]))?;
                let what = format!("{} {device:?} {dtype:?}", level.name);
                assert_close(&what, &y, &expected, tolerance(dtype, 1e-4))?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_later_key_changes_no_earlier_query() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            let case = small(130, 32, dtype);
            let (product, _) = case.product(&mut rng, &device)?;
            let (other, _) = case.product(&mut rng, &device)?;
            for changed in [1, 64, 129] {
                let kept = product.narrow(1, 0, changed)?;
                let rest = other.narrow(1, changed, case.tokens - changed)?;
                let mixed = Tensor::cat(&[&kept, &rest], 1)?;
                for level in case.levels(&device)? {
                    let before = |x| -> Result<Vec<f64>> {
                        let y = poisoned(|| case.causal(level, x, &[case.tokens]))?;
                        host(&y.narrow(1, 0, changed)?)
                    };
                    assert_eq!(
                        before(&product)?,
                        before(&mixed)?,
                        "{} {changed}",
                        level.name
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn large_scores_do_not_overflow() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (shift, tokens) in [(200., 70), (-200., 70), (200., 3)] {
            let case = small(tokens, 64, DType::F32);
            let (product, _) = case.product(&mut rng, &device)?;
            // The last channel of each query is 8 and of each key the shift, so q·k/√64 grows by the shift.
            let ends = |n: usize, x: f64| Tensor::full(x as f32, (2, tokens, n, 1), &device);
            let ends = Tensor::cat(&[ends(4, 8.)?, ends(2, shift)?, ends(2, 0.5)?], 2)?;
            let product = Tensor::cat(&[product.narrow(3, 0, 63)?, ends], 3)?;
            let values = host(&product)?;
            let expected = [case.oracle(&values, true), case.oracle(&values, false)];
            let [q, k, v] = case.cut(&product, 0, tokens)?;
            for level in &LEVELS {
                let what = format!("{} {device:?} {shift} {tokens}", level.name);
                let causal = case.causal(level, &product, &[tokens])?;
                assert_close(&what, &causal, &expected[0], 1e-4)?;
                let full = (level.attention)(&q, &k, &v)?;
                assert_close(&what, &full, &expected[1], 1e-4)?;
            }
        }
    }
    Ok(())
}

#[test]
fn no_tokens_are_no_work() -> Result<()> {
    for device in devices() {
        let x = Tensor::zeros((1, 0, 2, 8), DType::F32, &device)?;
        let cache = Cache::new(1, 4, 2, 8, DType::F32, &device)?;
        for level in &LEVELS {
            assert_eq!((level.attention)(&x, &x, &x)?.dims(), [1, 0, 16]);
            assert_eq!((level.causal_attention)(&x, &cache, 0)?.dims(), [1, 0, 16]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let device = Device::Cpu;
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &device);
    let (x, three, wide) = (
        zeros(&[1, 3, 2, 8])?,
        zeros(&[1, 3, 3, 8])?,
        zeros(&[1, 3, 2, 9])?,
    );
    let spread = zeros(&[1, 2, 3, 8])?.transpose(1, 2)?;
    let (half, double) = (x.to_dtype(DType::BF16)?, x.to_dtype(DType::F64)?);
    let cache = Cache::new(1, 4, 2, 8, DType::F32, &device)?;
    assert!(Cache::new(1, 4, 2, 8, DType::F64, &device).is_err());
    for level in &LEVELS {
        let (full, causal) = (level.attention, level.causal_attention);
        assert!(full(&x, &x, &x).is_ok());
        assert!(full(&x, &three, &three).is_err());
        assert!(full(&x, &x, &wide).is_err());
        assert!(full(&x, &x, &half).is_err());
        assert!(full(&spread, &x, &x).is_err());
        assert!(full(&x, &x, &spread).is_err());
        assert!(full(&double, &double, &double).is_err());
        assert!(causal(&three, &cache, 0).is_err());
        assert!(causal(&wide, &cache, 0).is_err());
        assert!(causal(&half, &cache, 0).is_err());
        assert!(causal(&x, &cache, 2).is_err());
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn unsupported_operands_on_a_gpu_name_the_level_that_takes_them() -> Result<()> {
    let device = crate::testing::gpu()?;
    let x = Tensor::zeros((1, 5, 1, 256), DType::F32, &device)?;
    assert_eq!(super::level3::attention(&x, &x, &x)?.dims(), [1, 5, 256]);
    let refused = super::level4::attention(&x, &x, &x)
        .map(|_| ())
        .unwrap_err();
    assert!(refused.to_string().contains("level 3 can"), "{refused}");
    let x = Tensor::zeros((1, 13000, 1, 8), DType::F32, &device)?;
    assert_eq!(super::level4::attention(&x, &x, &x)?.dims(), [1, 13000, 8]);
    let refused = super::level3::attention(&x, &x, &x)
        .map(|_| ())
        .unwrap_err();
    assert!(refused.to_string().contains("level 4 can"), "{refused}");
    Ok(())
}
