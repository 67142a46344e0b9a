//! Decode steps as a recorded graph: at level 5, which keeps the position in the memory of the device.

use std::sync::{Mutex, PoisonError};

use candle_core::{DType, Tensor};
use kernels::dispatch::{Facts, Feature};
use kernels::launch::chained;
use kernels::without::{self, Idea};
use levels::Level;
use models::lm::Logits;
use models::random::RandomWeights;
use models::{LanguageModel, Ops, Sampling, presets};
use rand::RngExt;
use replay::Decoder;
use tests::inputs::{rng, tokens};

use crate::{gpu, language_model, values, watched};

/// Held by a test that leaves out an idea, so that such tests take turns. Only the thread of the test leaves the idea out.
static IDEAS: Mutex<()> = Mutex::new(());

fn level5() -> Level {
    levels::level(5).expect("level 5")
}

/// Reads `count` random tokens in each of `batch` sequences after a prompt of `start`, and starts again where the context
/// ends. The logits of replays, whose launches may overlap, equal those of separate launches bit by bit.
fn decode(seed: u64, dtype: DType, batch: usize, start: usize, count: usize) -> models::Result<()> {
    let device = gpu()?;
    if !tests::watchable(5, dtype, &device) {
        return Ok(());
    }
    let (ops, model) = (level5(), language_model(seed, dtype, &device)?);
    let (mut rng, context) = (rng(seed), model.config().max_position_embeddings);
    let prompt = Tensor::new(tokens(&mut rng, batch, start), &device)?;
    let caches = || {
        let mut caches = model.new_caches(&*ops, batch, context)?;
        model.forward(&*ops, &prompt, &mut caches, Logits::Last)?;
        Ok::<_, candle_core::Error>(caches)
    };
    let mut decoder = Decoder::new(&model, caches()?, batch)?;
    let mut eager = caches()?;
    for step in 0..watched(count) {
        if decoder.len() == context {
            decoder.rewind(start)?;
            eager.iter_mut().for_each(|cache| cache.rewind(start));
        }
        let ids = Tensor::new(tokens(&mut rng, batch, 1), &device)?;
        let found = decoder.read(&*ops, &model, &ids)?;
        // As in the recording, a chain: its rule picks the kernel of one row.
        let expected = chained(|| model.forward(&*ops, &ids, &mut eager, Logits::Last))?;
        assert_eq!(values(&found)?, values(&expected)?, "step {step}");
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn ten_thousand_replays_are_as_many_steps() -> models::Result<()> {
    decode(1, DType::F32, 2, 5, 10_000)
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn replays_in_bf16_across_a_bucket() -> models::Result<()> {
    decode(2, DType::BF16, 2, 250, 20)?;
    decode(3, DType::BF16, 2, 500, 20)
}

/// The launches of one row overlap on Hopper.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn replays_of_one_sequence_whose_launches_overlap() -> models::Result<()> {
    decode(8, DType::BF16, 1, 5, 5_000)?;
    decode(9, DType::F32, 1, 250, 2_000)
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn two_threads_have_a_gpu_and_recordings_each() -> models::Result<()> {
    let threads = [4, 5].map(|seed| {
        std::thread::spawn(move || decode(seed, DType::F32, 2, 3, 300).map_err(|e| e.to_string()))
    });
    for thread in threads {
        let result = thread.join().expect("a thread that does not panic");
        assert_eq!(result, Ok(()));
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn two_models_on_one_stream() -> models::Result<()> {
    let device = gpu()?;
    let ops = level5();
    let mut rng = rng(6);
    let models = [6, 7].map(|seed| language_model(seed, DType::F32, &device));
    let [first, second] = models;
    let models = [first?, second?];
    let start = |model: &LanguageModel| {
        let mut caches = model.new_caches(&*ops, 1, 40)?;
        let ids = Tensor::new(&[[1u32, 2, 3]], &device)?;
        model.forward(&*ops, &ids, &mut caches, Logits::Last)?;
        Ok::<_, candle_core::Error>(caches)
    };
    let mut decoders = vec![];
    let mut eager = vec![];
    for model in &models {
        decoders.push(Decoder::new(model, start(model)?, 1)?);
        eager.push(start(model)?);
    }
    for _ in 0..30 {
        for (i, model) in models.iter().enumerate() {
            let ids = Tensor::new(&[[rng.random_range(0..61u32)]], &device)?;
            let found = decoders[i].read(&*ops, model, &ids)?;
            let step = || model.forward(&*ops, &ids, &mut eager[i], Logits::Last);
            assert_eq!(values(&found)?, values(&chained(step)?)?, "model {i}");
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_greedy_text_is_chosen_on_the_device() -> models::Result<()> {
    chosen_on_the_device(DType::F32, 8, Sampling::greedy)?;
    chosen_on_the_device(DType::BF16, 16, Sampling::greedy)
}

/// The kernel of the head chooses the token and advances the position: two launches fewer, or one where the caller chooses,
/// and the tokens of a chain without that idea and of level 1.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_step_ends_in_the_kernel_of_its_head() -> models::Result<()> {
    let _ideas = IDEAS.lock().unwrap_or_else(PoisonError::into_inner);
    let device = gpu()?;
    let (ops, level1) = (level5(), levels::level(1).expect("level 1"));
    for dtype in [DType::F32, DType::BF16] {
        let model = language_model(8, dtype, &device)?;
        let prompt = Tensor::new(&[[9u32, 8, 7]], &device)?;
        let start = |ops: &dyn Ops| {
            let mut caches = model.new_caches(ops, 1, 40)?;
            let logits = model.forward(ops, &prompt, &mut caches, Logits::Last)?;
            let token = ops.next_token(&logits.flatten_all()?, &mut Sampling::greedy())?;
            Ok::<_, candle_core::Error>((caches, token))
        };
        let text = || {
            let (caches, mut token) = start(&*ops)?;
            let mut decoder = Decoder::choosing(&model, caches, &Sampling::greedy())?;
            let mut tokens = vec![];
            for _ in 0..20 {
                token = decoder.next(&*ops, &model, token, &mut Sampling::greedy())?;
                tokens.push(token);
            }
            let mut callers = Decoder::new(&model, start(&*ops)?.0, 1)?;
            callers.read(&*ops, &model, &Tensor::new(&[[1u32]], &device)?)?;
            let most = |decoder: &Decoder| decoder.nodes().map(|nodes| nodes.kernels).max();
            let kernels = [&decoder, &callers].map(|decoder| most(decoder).unwrap_or(0));
            Ok::<_, candle_core::Error>((tokens, kernels))
        };
        let (tokens, [chooses, advances]) = text()?;
        without::set(&[Idea::HeadChoice]);
        let without = text();
        without::set(&[]);
        let (expected, [with_both, with_one]) = without?;
        assert_eq!(tokens, expected, "{dtype:?}");
        assert_eq!((chooses + 2, advances + 1), (with_both, with_one));
        assert_eq!(chooses, advances);
        if dtype == DType::F32 {
            let (mut caches, mut token) = start(&*level1)?;
            for (step, &found) in tokens.iter().enumerate() {
                let ids = Tensor::new(&[[token]], &device)?;
                let logits = model.forward(&*level1, &ids, &mut caches, Logits::Last)?;
                token = level1.next_token(&logits.flatten_all()?, &mut Sampling::greedy())?;
                assert_eq!(found, token, "step {step}");
            }
        }
    }
    Ok(())
}

/// On a Hopper a block is two launches: the logits are those of its ops within f32 or bf16, at the ends of buckets, too, and
/// replays equal separate launches bit by bit.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_decoder_pass_is_a_step_of_two_launches_a_block() -> models::Result<()> {
    let _ideas = IDEAS.lock().unwrap_or_else(PoisonError::into_inner);
    let (device, ops) = (gpu()?, level5());
    if !Facts::of(&device)?.has(Feature::Wgmma) {
        tests::skip("the decoder pass", "needs a GPU of compute capability 9.0");
        return Ok(());
    }
    // Launches besides the blocks': the end of the pass, and the head.
    let others = 2;
    for (name, dtype, most) in [
        ("readme", DType::BF16, 0.05),
        ("readme", DType::F32, 1e-4),
        ("smollm-135m", DType::BF16, 0.05),
        ("smollm-135m", DType::F32, 1e-4),
    ] {
        let config = presets::lm(name).expect("a preset");
        let weights = RandomWeights::weights(3, dtype, &device);
        let model = LanguageModel::load(weights, &config)?;
        let mut rng = rng(3);
        for start in [1, 246, 500, 1010] {
            let prompt = tokens(&mut rng, 1, start);
            let read: Vec<u32> = (0..20).map(|_| rng.random_range(0..61)).collect();
            let run = || {
                let caches = || {
                    let mut caches = model.new_caches(&*ops, 1, 1100)?;
                    let ids = Tensor::new(prompt.clone(), &device)?;
                    model.forward(&*ops, &ids, &mut caches, Logits::Last)?;
                    Ok::<_, candle_core::Error>(caches)
                };
                let (mut decoder, mut eager) = (Decoder::new(&model, caches()?, 1)?, caches()?);
                let mut all = vec![];
                for &token in &read {
                    let ids = Tensor::new(&[[token]], &device)?;
                    let found = values(&decoder.read(&*ops, &model, &ids)?)?;
                    let step = || model.forward(&*ops, &ids, &mut eager, Logits::Last);
                    assert_eq!(found, values(&chained(step)?)?, "{name} after {start}");
                    all.push(found);
                }
                Ok::<_, candle_core::Error>((all, decoder.nodes().collect::<Vec<_>>()))
            };
            let (found, steps) = run()?;
            // Steps past the pass's last key are launches of ops.
            let kernels = steps.iter().map(|nodes| nodes.kernels).min();
            let expected = 2 * config.num_hidden_layers + others;
            assert_eq!(kernels, Some(expected), "{name}, {dtype:?}");
            // No copy, memset or allocation is between the kernels.
            assert!(
                steps.iter().all(|nodes| nodes.others == 0),
                "{name}, {dtype:?}: {steps:?}"
            );
            without::set(&[Idea::DecoderPass]);
            let of_ops = run();
            without::set(&[]);
            for (step, (a, b)) in found.iter().zip(of_ops?.0).enumerate() {
                let apart: f32 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
                let size: f32 = b.iter().map(|b| b * b).sum();
                let off = (apart / size).sqrt();
                assert!(off < most, "{name}, {dtype:?}, {start} + {step}: {off}");
            }
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_drawn_text_is_the_hosts() -> models::Result<()> {
    let f32 = DType::F32;
    chosen_on_the_device(f32, 1, || Sampling::new(0.8, Some(40), None, 11))?;
    chosen_on_the_device(f32, 1, || Sampling::new(1.5, Some(7), Some(0.9), 12))
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn draws_of_the_host_are_not_recorded() -> models::Result<()> {
    let device = gpu()?;
    let model = language_model(8, DType::F32, &device)?;
    let sampling = Sampling::new(1., None, None, 1);
    let caches = model.new_caches(&*level5(), 1, 8)?;
    assert!(!Decoder::can_choose(&sampling));
    let error = Decoder::choosing(&model, caches, &sampling).map(|_| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("expected top_k from 1 to 1024"), "{error}");
    Ok(())
}

/// A recording chooses tokens in one way, so it refuses other samplings, and ids of another batch size.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_decoder_refuses_what_it_was_not_recorded_for() -> models::Result<()> {
    let device = gpu()?;
    let ops = level5();
    let model = language_model(9, DType::F32, &device)?;
    let start = |batch: usize| {
        let mut caches = model.new_caches(&*ops, batch, 8)?;
        let ids = Tensor::zeros((batch, 2), DType::U32, &device)?;
        model.forward(&*ops, &ids, &mut caches, Logits::Last)?;
        Ok::<_, candle_core::Error>(caches)
    };
    let refused = |decoder: &mut Decoder, mut sampling, expected: &str| {
        let next = decoder.next(&*ops, &model, 1, &mut sampling);
        let error = next.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(decoder.len(), 2);
    };
    let mut callers = Decoder::new(&model, start(2)?, 2)?;
    refused(&mut callers, Sampling::greedy(), "Decoder::choosing");
    let one = Tensor::zeros((1, 1), DType::U32, &device)?;
    let error = callers.read(&*ops, &model, &one).unwrap_err().to_string();
    assert!(error.contains("expected [2, 1] of u32"), "{error}");
    let drawn = |temperature, k| Sampling::new(temperature, k, None, 1);
    let mut greedy = Decoder::choosing(&model, start(1)?, &Sampling::greedy())?;
    refused(&mut greedy, drawn(0.5, Some(7)), "expected temperature 0");
    let mut seven = Decoder::choosing(&model, start(1)?, &drawn(0.5, Some(7)))?;
    for other in [
        drawn(0.5, Some(8)),
        drawn(0.6, Some(7)),
        drawn(0.5, None),
        Sampling::greedy(),
    ] {
        refused(&mut seven, other, "expected top_k 7 at temperature 0.5");
    }
    Ok(())
}

/// Texts that the recorded steps and the host choose, each from the same prompt: `rounds` of them.
fn chosen_on_the_device(
    dtype: DType,
    rounds: usize,
    sampling: impl Fn() -> Sampling,
) -> models::Result<()> {
    let device = gpu()?;
    let (ops, mut recorded, mut host) = (level5(), sampling(), sampling());
    let model = language_model(8, dtype, &device)?;
    let prompt = Tensor::new(&[[9u32, 8, 7]], &device)?;
    let start = |sampling: &mut Sampling| {
        let mut caches = model.new_caches(&*ops, 1, 300)?;
        let logits = model.forward(&*ops, &prompt, &mut caches, Logits::Last)?;
        let token = ops.next_token(&logits.flatten_all()?, sampling)?;
        Ok::<_, candle_core::Error>((caches, token))
    };
    let (caches, first) = start(&mut recorded)?;
    let mut decoder = Decoder::choosing(&model, caches, &recorded)?;
    let (mut eager, mut expected) = start(&mut host)?;
    let (mut token, steps) = (first, watched(297));
    for step in 0..rounds * steps {
        if step > 0 && step % steps == 0 {
            decoder.rewind(3)?;
            eager.iter_mut().for_each(|cache| cache.rewind(3));
            (token, expected) = (first, first);
        }
        assert_eq!(token, expected, "step {step}");
        token = decoder.next(&*ops, &model, token, &mut recorded)?;
        let ids = Tensor::new(&[[expected]], &device)?;
        // As in the recording, a chain: its rule picks the kernel of one row.
        let logits = chained(|| model.forward(&*ops, &ids, &mut eager, Logits::Last))?;
        expected = ops.next_token(&logits.flatten_all()?, &mut host)?;
    }
    let next = decoder.next(&*ops, &model, token, &mut recorded);
    assert_eq!(next.is_err(), steps == 297, "the cache is full, or not");
    Ok(())
}

/// A decoder has launched the step of the token that it returned. A caller that passes another one or other random numbers,
/// or goes back, gets what a decoder without such a step computes.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_step_launched_ahead_is_taken_back() -> models::Result<()> {
    taken_back([Sampling::greedy(), Sampling::greedy()])?;
    let drawn = |top_p, seed| Sampling::new(1.2, Some(5), top_p, seed);
    taken_back([drawn(None, 13), drawn(None, 14)])?;
    taken_back([drawn(Some(0.9), 15), drawn(Some(0.4), 15)])
}

/// Steps by the first sampling, and from the tenth on by the second.
fn taken_back(samplings: [Sampling; 2]) -> models::Result<()> {
    let device = gpu()?;
    let ops = level5();
    let model = language_model(8, DType::F32, &device)?;
    let start = || {
        let mut caches = model.new_caches(&*ops, 1, 40)?;
        let prompt = Tensor::new(&[[9u32, 8, 7]], &device)?;
        model.forward(&*ops, &prompt, &mut caches, Logits::Last)?;
        Ok::<_, candle_core::Error>(caches)
    };
    let mut sampling = samplings[0].clone();
    let mut decoder = Decoder::choosing(&model, start()?, &sampling)?;
    let mut eager = start()?;
    let mut host = sampling.clone();
    let (mut len, mut next) = (3, 0);
    // At every third step a token that the step before did not choose; the last two steps go back.
    for step in 0..20u32 {
        let token = if step % 3 == 0 { step % 8 } else { next };
        if step == 10 {
            (sampling, host) = (samplings[1].clone(), samplings[1].clone());
        }
        if step >= 18 {
            len -= 5;
            decoder.rewind(len)?;
        }
        assert_eq!(decoder.len(), len, "step {step}");
        next = decoder.next(&*ops, &model, token, &mut sampling)?;
        eager.iter_mut().for_each(|cache| cache.rewind(len));
        let ids = Tensor::new(&[[token]], &device)?;
        let logits = model.forward(&*ops, &ids, &mut eager, Logits::Last)?;
        let expected = ops.next_token(&logits.flatten_all()?, &mut host)?;
        assert_eq!(next, expected, "step {step}");
        len += 1;
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn other_levels_tell_their_launches_the_position() -> models::Result<()> {
    let device = gpu()?;
    let model = language_model(9, DType::F32, &device)?;
    for ops in tests::levels().iter().filter(|ops| ops.level() != 5) {
        let caches = model.new_caches(&**ops, 1, 8)?;
        assert!(!Decoder::can_follow(&caches));
        let error = Decoder::new(&model, caches, 1).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("expected a level"), "{error}");
    }
    Ok(())
}
