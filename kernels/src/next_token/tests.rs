//! Tokens compared with a sort, and probabilities with a softmax in f64.

use candle_core::{DType, Result, Tensor};
use proptest::prelude::*;
use rand::RngExt;

use super::level4::{argmax, top_k};
use super::{level4_launch, level5};
use crate::launch::on_cpu;
use crate::output::poisoned;
use crate::testing::{KernelFile, cases, devices, host, pairwise, rng, tolerance, uniform};

/// Returns all tokens with their probabilities, the most probable first; among equals the lower token comes
/// first.
fn oracle(logits: &[f64], temperature: f64) -> Vec<(u32, f64)> {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp: Vec<f64> = logits
        .iter()
        .map(|x| ((x - max) / temperature).exp())
        .collect();
    let sum: f64 = exp.iter().sum();
    let mut order: Vec<u32> = (0..logits.len() as u32).collect();
    order.sort_by(|&a, &b| {
        logits[b as usize]
            .total_cmp(&logits[a as usize])
            .then(a.cmp(&b))
    });
    order
        .into_iter()
        .map(|i| (i, exp[i as usize] / sum))
        .collect()
}

fn compare(logits: &Tensor, k: usize, temperature: f64) -> Result<()> {
    let expected = oracle(&host(logits)?, temperature);
    let what = format!(
        "{:?} {:?} V {} k {k}",
        logits.device(),
        logits.dtype(),
        logits.dims()[0]
    );
    assert_eq!(argmax(logits)?, expected[0].0, "{what}");
    let found = poisoned(|| top_k(logits, k, temperature))?;
    assert_eq!(found.len(), k.min(expected.len()), "{what}");
    let allowed = tolerance(logits.dtype(), 1e-5);
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.0, expected.0, "{what}");
        let apart = (f64::from(found.1) - expected.1).abs();
        assert!(
            apart <= allowed * expected.1.max(1e-30),
            "{what}: {found:?}, {expected:?}"
        );
    }
    Ok(())
}

#[test]
fn tokens_and_probabilities_equal_those_of_a_sort() -> Result<()> {
    let mut rng = rng();
    let vocab = [1, 7, 64, 65, 513, 1000, 10_000, 49_152];
    for device in devices() {
        for shape in pairwise(&[&vocab, &[1, 2, 40, 1024], &[0, 1]]) {
            let dtype = [DType::F32, DType::BF16][shape[2]];
            // In bf16 thousands of logits are equal, so the order of equals decides.
            let (logits, _) = uniform(&mut rng, &[shape[0]], dtype, &device)?;
            compare(&logits, shape[1], rng.random_range(0.1..3.))?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn ties_and_zeros(logits in prop::collection::vec(prop::sample::select(vec![-0f32, 0., 1., -1., f32::NEG_INFINITY]), 1..300), k in 1usize..300) {
        prop_assume!(logits.iter().any(|x| x.is_finite()));
        let equal: Vec<f32> = logits.iter().map(|x| x + 0.).collect();
        for device in devices() {
            let tensor = |x: &[f32]| Tensor::new(x, &device).unwrap();
            let minus_zero = top_k(&tensor(&logits), k, 1.).unwrap();
            prop_assert_eq!(&minus_zero, &top_k(&tensor(&equal), k, 1.).unwrap());
            compare(&tensor(&equal), k, 1.).unwrap();
        }
    }
}

/// Draws from (token, probability), in descending order: keeps those that reach `top_p`, and returns where
/// the sum passes `uniform`.
fn drawn(most_probable: &[(u32, f32)], uniform: f64, top_p: f64) -> u32 {
    let sum = |n: usize| {
        most_probable[..n]
            .iter()
            .map(|&(_, p)| f64::from(p))
            .sum::<f64>()
    };
    let reaches = |n: &usize| sum(*n) >= top_p * sum(most_probable.len());
    let n = (1..=most_probable.len())
        .find(reaches)
        .unwrap_or(most_probable.len());
    let mut left = uniform * sum(n);
    let passes = |&&(_, p): &&(u32, f32)| {
        left -= f64::from(p);
        left < 0.
    };
    most_probable[..n]
        .iter()
        .find(passes)
        .unwrap_or(&most_probable[n - 1])
        .0
}

#[test]
fn a_draw_equals_the_hosts() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        if on_cpu(&device) {
            continue; // the host's own
        }
        for (vocab, k, dtype) in [
            (1, 1, DType::F32),
            (7, 40, DType::BF16),
            (65, 33, DType::F32),
            (1000, 32, DType::BF16),
            (3001, 1024, DType::F32),
        ] {
            let (logits, _) = uniform(&mut rng, &[vocab], dtype, &device)?;
            let temperature = rng.random_range(0.1..2.);
            let most_probable = top_k(&logits, k, temperature)?;
            let token = Tensor::full(u32::MAX, 1, &device)?;
            for top_p in [f64::INFINITY, 0.9, 0.3, 0.] {
                for at in [0., rng.random(), rng.random(), 1. - f64::EPSILON / 2.] {
                    let chance = Tensor::new(&[at, top_p], &device)?;
                    level5::draw(&logits, k, temperature, &chance, &token)?;
                    let found = token.to_vec1::<u32>()?[0];
                    let expected = drawn(&most_probable, at, top_p);
                    assert_eq!(found, expected, "V {vocab} k {k} top_p {top_p} at {at}");
                }
            }
        }
        let chance = Tensor::new(&[0.5, 1.], &device)?;
        for bad in [f32::NAN, f32::INFINITY] {
            let logits = Tensor::new(&[1., bad, 2.], &device)?;
            let token = Tensor::zeros(1, DType::U32, &device)?;
            level5::draw(&logits, 2, 1., &chance, &token)?;
            assert_eq!(token.to_vec1::<u32>()?, [3], "{bad}");
        }
    }
    Ok(())
}

#[test]
fn an_unsupported_draw_is_an_error() -> Result<()> {
    for device in devices() {
        let logits = Tensor::zeros(3000, DType::F32, &device)?;
        let token = Tensor::zeros(1, DType::U32, &device)?;
        let chance = Tensor::new(&[0.5, 1.], &device)?;
        let draw = |k, chance, token| match level5::draw(&logits, k, 1., chance, token) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        if on_cpu(&device) {
            let error = draw(40, &chance, &token);
            assert!(error.contains("expected logits on a GPU"), "{error}");
            continue;
        }
        for (k, chance, token, expected) in [
            (0, &chance, &token, "expected k from 1 to 1024, found 0"),
            (
                1025,
                &chance,
                &token,
                "expected k from 1 to 1024, found 1025",
            ),
            (40, &token, &token, "expected chance (2) of f64"),
            (40, &chance, &chance, "expected one u32 for the token"),
        ] {
            let error = draw(k, chance, token);
            assert!(error.contains(expected), "{error}");
        }
    }
    Ok(())
}

#[test]
fn logits_without_a_maximum_are_an_error() -> Result<()> {
    for device in devices() {
        for bad in [&[1., f32::NAN, 2.][..], &[f32::NAN], &[0., f32::INFINITY]] {
            let logits = Tensor::new(bad, &device)?;
            let error = top_k(&logits, 2, 1.).unwrap_err().to_string();
            assert!(
                error.contains("top_k_level4: expected finite logits"),
                "{error}"
            );
            if bad.iter().any(|x| x.is_nan()) {
                assert!(argmax(&logits).is_err());
            }
        }
        let empty = Tensor::zeros(0, DType::F32, &device)?;
        assert!(argmax(&empty).is_err() && top_k(&empty, 1, 1.).is_err());
        assert!(top_k(&Tensor::zeros(3, DType::F32, &device)?, 0, 1.).is_err());
    }
    Ok(())
}

#[test]
fn level_2_handles_more_tokens_than_a_block_sorts() -> Result<()> {
    for device in devices() {
        let logits = Tensor::rand(0f32, 1., 2000, &device)?;
        match (top_k(&logits, 1025, 1.), on_cpu(&device)) {
            (Ok(most_probable), true) => assert_eq!(most_probable.len(), 1025),
            (Err(error), false) => {
                let expected = "top_k_level4: expected k up to 1024, found 1025; level 2 can";
                assert!(error.to_string().contains(expected), "{error}");
            }
            (other, _) => panic!("{other:?}"),
        }
    }
    Ok(())
}

/// Constants that launches share with the kernels.
#[test]
fn launches_have_the_threads_and_the_maximum_k_of_the_kernels() {
    let file = KernelFile::read("next_token/level4", "sm_75");
    for entry in [
        "argmax_f32_level4",
        "argmax_bf16_level4",
        "top_k_f32_level4",
        "top_k_bf16_level4",
    ] {
        assert_eq!(file.max_threads(entry), level4_launch::THREADS, "{entry}");
    }
    assert_eq!(file.constant("MAX_K"), level4_launch::MAX_K);
    let file = KernelFile::read("next_token/level5", "sm_75");
    assert_eq!(file.constant("MAX_K"), level4_launch::MAX_K);
}
