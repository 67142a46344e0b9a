//! Properties of the language model, at every level, on every device.

use candle_core::{Device, Tensor};
use models::lm::Logits;
use models::{LanguageModel, Ops, Result};
use proptest::prelude::*;
use rand::RngExt;
use tests::inputs::{VOCAB, language_model, rng, tokens};
use tests::{devices, difference, levels};

fn full(model: &LanguageModel, ops: &dyn Ops, rows: &[Vec<u32>]) -> Result<Tensor> {
    let ids = Tensor::new(rows.to_vec(), model.device())?;
    let mut caches = model.new_caches(ops, rows.len(), rows[0].len())?;
    Ok(model.forward(ops, &ids, &mut caches, Logits::All)?) // (B, T, V)
}

fn tolerance(device: &Device) -> f32 {
    if device.is_cpu() { 1e-5 } else { 1e-4 }
}

/// Runs `property` on every device with every level.
fn everywhere(seed: u64, property: impl Fn(&LanguageModel, &dyn Ops) -> Result<()>) -> Result<()> {
    for device in devices() {
        let model = language_model(seed, &device)?;
        for ops in levels() {
            property(&model, ops.as_ref())?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_token_changes_nothing_before_it(seed: u64, t in 2usize..70, at in 0usize..70) {
        let at = at % t;
        everywhere(seed, |model, ops| {
            let mut rows = tokens(&mut rng(seed), 1, t);
            let before = full(model, ops, &rows)?;
            rows[0][at] = (rows[0][at] + 1) % VOCAB;
            let after = full(model, ops, &rows)?;
            if at > 0 {
                let head = |t: &Tensor| t.narrow(1, 0, at);
                assert_eq!(difference(&head(&after)?, &head(&before)?)?, 0., "level {}", ops.level());
            }
            let here = |x: &Tensor| x.narrow(1, at, t - at);
            let changed = difference(&here(&after)?, &here(&before)?)?;
            assert!(changed > 1e-3, "level {}: the token does not matter: {changed}", ops.level());
            Ok(())
        }).unwrap();
    }

    #[test]
    fn decoding_from_the_cache_is_the_full_forward(seed: u64, t in 2usize..70, cut in 1usize..70) {
        let cut = 1 + cut % (t - 1);
        everywhere(seed, |model, ops| {
            let rows = tokens(&mut rng(seed), 2, t);
            let whole = full(model, ops, &rows)?;
            let ids = Tensor::new(rows, model.device())?;
            let mut caches = model.new_caches(ops, 2, t)?;
            // A prefill, then a chunk of several tokens, then one token at a time.
            let chunk = ((t - cut) / 2).max(1);
            let mut start = 0;
            for len in [cut, chunk].into_iter().chain(std::iter::repeat_n(1, t - cut - chunk)) {
                let ids = ids.narrow(1, start, len)?.contiguous()?;
                let logits = model.forward(ops, &ids, &mut caches, Logits::All)?;
                let apart = difference(&logits, &whole.narrow(1, start, len)?)?;
                let level = ops.level();
                assert!(apart <= tolerance(model.device()), "level {level}, token {start}: {apart}");
                start += len;
            }
            Ok(())
        }).unwrap();
    }

    #[test]
    fn a_cache_that_is_rewound_forgets_what_it_held(seed: u64, t in 2usize..70, kept in 0usize..70) {
        let kept = kept % t;
        everywhere(seed, |model, ops| {
            let ids = |rows: &[Vec<u32>]| Tensor::new(rows.to_vec(), model.device());
            let rows = tokens(&mut rng(seed), 2, t);
            let other = tokens(&mut rng(seed ^ 1), 2, t - kept);
            let mut caches = model.new_caches(ops, 2, t)?;
            model.forward(ops, &ids(&rows)?, &mut caches, Logits::Last)?;
            // The other tokens after the first of these, twice, in a cache that was full.
            let whole: Vec<Vec<u32>> = (0..2).map(|b| [&rows[b][..kept], &other[b][..]].concat()).collect();
            let expected = full(model, ops, &whole)?.narrow(1, kept, t - kept)?;
            for time in 0..2 {
                caches.iter_mut().for_each(|cache| cache.rewind(kept));
                let logits = model.forward(ops, &ids(&other)?, &mut caches, Logits::All)?;
                let apart = difference(&logits, &expected)?;
                let level = ops.level();
                assert!(apart <= tolerance(model.device()), "level {level}, time {time}: {apart}");
            }
            Ok(())
        }).unwrap();
    }

    #[test]
    fn a_batch_is_its_rows(seed: u64, batch in 1usize..5, t in 1usize..40) {
        everywhere(seed, |model, ops| {
            let rows = tokens(&mut rng(seed), batch, t);
            let together = full(model, ops, &rows)?;
            for (i, row) in rows.iter().enumerate() {
                let alone = full(model, ops, std::slice::from_ref(row))?;
                let apart = difference(&together.narrow(0, i, 1)?, &alone)?;
                assert!(apart <= tolerance(model.device()), "level {}: {apart}", ops.level());
            }
            Ok(())
        }).unwrap();
    }
}

#[test]
fn the_last_logits_are_the_last_of_all() -> Result<()> {
    everywhere(1, |model, ops| {
        let rows = tokens(&mut rng(2), 3, 17);
        let all = full(model, ops, &rows)?;
        let mut caches = model.new_caches(ops, 3, 17)?;
        let ids = Tensor::new(rows, model.device())?;
        let last = model.forward(ops, &ids, &mut caches, Logits::Last)?;
        let apart = difference(&last, &all.narrow(1, 16, 1)?)?;
        assert!(
            apart <= tolerance(model.device()),
            "level {}: {apart}",
            ops.level()
        );
        Ok(())
    })
}

#[test]
fn a_full_cache_is_an_error() -> Result<()> {
    everywhere(1, |model, ops| {
        let mut caches = model.new_caches(ops, 1, 4)?;
        let ids = Tensor::new(tokens(&mut rng(2), 1, 5), model.device())?;
        let error = model
            .forward(ops, &ids, &mut caches, Logits::Last)
            .unwrap_err();
        assert!(
            error.to_string().contains("KV cache: expected at most 4"),
            "{error}"
        );
        Ok(())
    })
}

#[test]
fn a_cache_belongs_to_its_level() -> Result<()> {
    let model = language_model(1, &Device::Cpu)?;
    let levels = levels();
    let mut caches = model.new_caches(levels[0].as_ref(), 1, 4)?;
    let ids = Tensor::new(&[[1u32]], &Device::Cpu)?;
    let error = model
        .forward(levels[1].as_ref(), &ids, &mut caches, Logits::Last)
        .unwrap_err();
    assert!(error.to_string().contains("another level"), "{error}");
    assert_eq!(caches[0].len(), 0, "it holds what it held");

    let error = model
        .forward(levels[0].as_ref(), &ids, &mut caches[1..], Logits::Last)
        .unwrap_err();
    assert!(error.to_string().contains("one for each layer"), "{error}");
    Ok(())
}

#[test]
fn a_seed_means_the_same_token_at_every_level() -> Result<()> {
    let mut rng = rng(3);
    for _ in 0..50 {
        let logits: Vec<f32> = (0..VOCAB).map(|_| rng.random_range(-4f32..4.)).collect();
        let (seed, top_k, top_p) = (
            rng.random(),
            rng.random_range(1..9),
            rng.random_range(0.1..1.),
        );
        let mut drawn = Vec::new();
        for device in devices() {
            let logits = Tensor::new(&logits[..], &device)?;
            for ops in levels() {
                let mut sampling = models::Sampling::new(0.8, Some(top_k), Some(top_p), seed);
                drawn.push(ops.next_token(&logits, &mut sampling)?);
            }
        }
        assert!(drawn.iter().all(|&token| token == drawn[0]), "{drawn:?}");
    }
    Ok(())
}

/// One answer at every level, where the answer is that there is none.
#[test]
fn nothing_can_be_drawn_from_what_is_no_number_or_from_no_token() -> Result<()> {
    for device in devices() {
        let logits = |last: f32| Tensor::new(&[0.5f32, -1., last], &device);
        for ops in levels() {
            let error = |last: f32, top_k| {
                let mut sampling = models::Sampling::new(0.8, top_k, None, 1);
                let drawn = ops.next_token(&logits(last)?, &mut sampling);
                Ok::<_, candle_core::Error>(drawn.unwrap_err().to_string())
            };
            let level = ops.level();
            for top_k in [None, Some(2)] {
                let found = error(f32::NAN, top_k)?;
                assert!(found.contains("NaN"), "level {level}: {found}");
            }
            let found = error(1., Some(0))?;
            assert!(found.contains("at least 1"), "level {level}: {found}");
        }
    }
    Ok(())
}

#[test]
fn no_token_is_no_prompt() -> Result<()> {
    everywhere(1, |model, ops| {
        let mut caches = model.new_caches(ops, 1, 4)?;
        let ids = Tensor::zeros((1, 0), candle_core::DType::U32, model.device())?;
        let read = model.forward(ops, &ids, &mut caches, Logits::Last);
        let error = read.unwrap_err().to_string();
        assert!(error.contains("expected at least one token"), "{error}");
        Ok(())
    })
}
