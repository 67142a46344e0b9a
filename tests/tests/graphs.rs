//! What was recorded does what it was recorded from: on a GPU, in a process of its own.
//!
//! Each test opens the GPU for itself. A stream is recorded whole: what another thread launched on it meanwhile would
//! be in the graph.

use candle_core::{DType, Device, Result, Tensor};
use levels::Level;
use models::lm::Logits;
use models::random::RandomWeights;
use models::{Heads, LanguageModel, Sampling, lm};
use rand::RngExt;
use replay::{Decoder, Replay};
use tests::inputs::{Graphs, graph_transformer, rng, tokens, uniform, vision_transformer};

/// A GPU with a stream of its own, or none, which is said.
fn gpu() -> Option<Device> {
    if !cfg!(feature = "cuda") {
        eprintln!("skipped: CUDA graphs: built without the feature `cuda`");
        return None;
    }
    let device = kernels::graph::open(0);
    let device = device.inspect_err(|e| eprintln!("skipped: CUDA graphs: CUDA device 0: {e}"));
    #[cfg(feature = "cuda")]
    if let Ok(Device::Cuda(cuda)) = &device {
        // SAFETY: events keep streams apart that share a tensor; each test computes on the one stream of the
        // device that it has opened.
        unsafe { cuda.disable_event_tracking() };
    }
    device.ok()
}

fn values(x: &Tensor) -> Result<Vec<f32>> {
    x.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
}

/// As many steps, or where a tool watches every access, which takes its time, a few.
fn watched(steps: usize) -> usize {
    match tests::is_sanitized() {
        false => steps,
        true => steps.min(10),
    }
}

fn level5() -> Level {
    levels::level(5).expect("level 5")
}

/// Grouped queries, heads that level 5's kernels read, and a context of several buckets.
fn language_model(seed: u64, dtype: DType, device: &Device) -> models::Result<LanguageModel> {
    let config = lm::Config {
        vocab_size: 61,
        hidden_size: 48,
        intermediate_size: 56,
        num_hidden_layers: 2,
        heads: Heads {
            num_heads: 6,
            num_kv_heads: 2,
            head_dim: 16,
        },
        rms_norm_eps: 1e-5,
        rope_theta: 5000.,
        max_position_embeddings: 600,
        tie_word_embeddings: false,
    };
    let weights = RandomWeights::weights(seed, dtype, device);
    Ok(LanguageModel::load(weights, &config)?)
}

/// A test a level, and so a process a level under a sanitizer: memcheck goes on to see the memory of a recording that is
/// gone, where the next one has put something larger.
#[test]
fn a_replay_at_level_1_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(1)
}
#[test]
fn a_replay_at_level_2_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(2)
}
#[test]
fn a_replay_at_level_3_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(3)
}
#[test]
fn a_replay_at_level_4_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(4)
}
#[test]
fn a_replay_at_level_5_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(5)
}

/// Each model's recording, of new inputs.
fn replays_are_forward_passes(level: u8) -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let ops = levels::level(level).expect("a level");
    let ops = &*ops;
    let vit = vision_transformer(1, &device)?;
    let gnn = graph_transformer(1, &device)?;
    let lm = language_model(1, DType::F32, &device)?;
    let mut rng = rng(3);
    let batch = Graphs::random(&mut rng, &[(5, 9), (40, 170)]).batch(&device)?;
    let (mut pictures, mut graphs, mut texts) =
        (Replay::default(), Replay::default(), Replay::default());
    for (round, rows) in [2, 2, 1, 2, 1, 1, 2, 2, 1].into_iter().enumerate() {
        let what = format!("level {level}, round {round}, {rows} rows");
        let mut random = |shape: &[usize]| {
            let values = uniform(&mut rng, 1, shape.iter().product());
            Tensor::from_vec(values, shape, &device)
        };
        let pixels = random(&[rows, 3, 15, 15])?;
        let (x, edges) = (random(batch.x.dims())?, random(batch.edges.dims())?);
        // Of three lengths: a recording has to find what it reads where it was, whatever ran since.
        let length = [7, 9, 5][round % 3];
        let ids = Tensor::new(tokens(&mut rng, rows, length), &device)?;

        let expected = vit.forward(ops, &pixels)?;
        let found = pictures.run(&device, &[&pixels], |x| vit.forward(ops, &x[0]))?;
        assert_eq!(values(&found)?, values(&expected)?, "vit, {what}");

        // index_add of candle adds in no fixed order: levels 1 and 2 are the same within rounding.
        let forward = |x: &[Tensor]| gnn.forward(ops, &batch.with(x[0].clone(), x[1].clone()));
        let expected = forward(&[x.clone(), edges.clone()])?;
        let found = graphs.run(&device, &[&x, &edges], forward)?;
        let apart = tests::difference(&found, &expected)?;
        assert!(
            apart <= if level <= 2 { 1e-6 } else { 0. },
            "gnn, {what}: {apart}"
        );

        let forward = |ids: &[Tensor]| {
            let mut caches = lm.new_caches(ops, rows, length)?;
            lm.forward(ops, &ids[0], &mut caches, Logits::All)
        };
        let found = values(&texts.run(&device, &[&ids], forward)?)?;
        let expected = forward(std::slice::from_ref(&ids))?; // behind it: it may make what the recording lacks
        assert_eq!(found, values(&expected)?, "lm, {what}");
    }
    assert_eq!(pictures.kernels().count(), 2, "one recording a shape");
    assert!(graphs.kernels().all(|kernels| kernels > 10));
    Ok(())
}

/// An input may be any view: each run gives what it holds then.
#[test]
fn views_are_replayed() -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let mut replay = Replay::default();
    for first in [1f32, 20., 300.] {
        let all = Tensor::arange(first, first + 12., &device)?.reshape((3, 4))?;
        let (turned, narrow) = (all.t()?, all.narrow(1, 1, 3)?);
        let forward = |x: &[Tensor]| x[0].contiguous()?.matmul(&x[1].contiguous()?);
        let expected = forward(&[turned.clone(), narrow.clone()])?;
        let found = replay.run(&device, &[&turned, &narrow], forward)?;
        assert_eq!(values(&found)?, values(&expected)?, "from {first}");
    }
    Ok(())
}

/// Reads `count` random tokens behind a prompt of `start`, over again where the context ends: the logits of
/// replays are, bit by bit, those of launches one by one.
fn decode(seed: u64, dtype: DType, start: usize, count: usize) -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    if !tests::watchable(5, dtype, &device) {
        return Ok(());
    }
    let (ops, model) = (level5(), language_model(seed, dtype, &device)?);
    let (mut rng, context) = (rng(seed), model.config().max_position_embeddings);
    let prompt = Tensor::new(tokens(&mut rng, 2, start), &device)?;
    let caches = || {
        let mut caches = model.new_caches(&*ops, 2, context)?;
        model.forward(&*ops, &prompt, &mut caches, Logits::Last)?;
        Ok::<_, candle_core::Error>(caches)
    };
    let mut decoder = Decoder::new(&model, caches()?, 2)?;
    let mut eager = caches()?;
    for step in 0..watched(count) {
        if decoder.len() == context {
            decoder.rewind(start)?;
            eager.iter_mut().for_each(|cache| cache.rewind(start));
        }
        let ids = Tensor::new(tokens(&mut rng, 2, 1), &device)?;
        let found = decoder.read(&*ops, &model, &ids)?;
        let expected = model.forward(&*ops, &ids, &mut eager, Logits::Last)?;
        assert_eq!(values(&found)?, values(&expected)?, "step {step}");
    }
    Ok(())
}

#[test]
fn ten_thousand_replays_are_as_many_steps() -> models::Result<()> {
    decode(1, DType::F32, 5, 10_000)
}

#[test]
fn replays_in_bf16_across_a_bucket() -> models::Result<()> {
    decode(2, DType::BF16, 250, 20)?;
    decode(3, DType::BF16, 500, 20)
}

#[test]
fn two_threads_have_a_gpu_and_recordings_each() -> models::Result<()> {
    let threads = [4, 5].map(|seed| {
        std::thread::spawn(move || decode(seed, DType::F32, 3, 300).map_err(|e| e.to_string()))
    });
    for thread in threads {
        let result = thread.join().expect("a thread that does not panic");
        assert_eq!(result, Ok(()));
    }
    Ok(())
}

/// Opening a GPU waits for all streams, and so does closing it, which a recording does not survive: neither disturbs
/// the other.
#[test]
fn a_gpu_is_opened_beside_recordings() -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let x = Tensor::ones((4, 4), DType::F32, &device)?;
    let opens = std::thread::spawn(|| (0..10).all(|_| gpu().is_some()));
    for round in 0..watched(500) {
        let mut replay = Replay::default();
        let found = replay.run(&device, &[&x], |x| &x[0] + round as f64)?;
        assert_eq!(values(&found)?, vec![1. + round as f32; 16]);
    }
    assert!(opens.join().expect("a thread that does not panic"));
    Ok(())
}

#[test]
fn two_models_on_one_stream() -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
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
            let expected = model.forward(&*ops, &ids, &mut eager[i], Logits::Last)?;
            assert_eq!(values(&found)?, values(&expected)?, "model {i}");
        }
    }
    Ok(())
}

#[test]
fn a_greedy_text_is_chosen_on_the_device() -> models::Result<()> {
    chosen_on_the_device(Sampling::greedy)
}

#[test]
fn a_drawn_text_is_the_hosts() -> models::Result<()> {
    chosen_on_the_device(|| Sampling::new(0.8, Some(40), None, 11))?;
    chosen_on_the_device(|| Sampling::new(1.5, Some(7), Some(0.9), 12))
}

#[test]
fn what_the_host_has_to_draw_is_not_recorded() -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let model = language_model(8, DType::F32, &device)?;
    let sampling = Sampling::new(1., None, None, 1);
    let caches = model.new_caches(&*level5(), 1, 8)?;
    assert!(!Decoder::can_choose(&sampling));
    let error = Decoder::choosing(&model, caches, &sampling).map(|_| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("expected top_k from 1 to 1024"), "{error}");
    Ok(())
}

/// The recording has chosen already: what it was not made for is refused, and so are ids of other sequences.
#[test]
fn a_decoder_refuses_what_it_was_not_recorded_for() -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
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

fn chosen_on_the_device(sampling: impl Fn() -> Sampling) -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let (ops, mut recorded, mut host) = (level5(), sampling(), sampling());
    let model = language_model(8, DType::F32, &device)?;
    let prompt = Tensor::new(&[[9u32, 8, 7]], &device)?;
    let start = |sampling: &mut Sampling| {
        let mut caches = model.new_caches(&*ops, 1, 300)?;
        let logits = model.forward(&*ops, &prompt, &mut caches, Logits::Last)?;
        let token = ops.next_token(&logits.flatten_all()?, sampling)?;
        Ok::<_, candle_core::Error>((caches, token))
    };
    let (caches, mut token) = start(&mut recorded)?;
    let mut decoder = Decoder::choosing(&model, caches, &recorded)?;
    let (mut eager, mut expected) = start(&mut host)?;
    let steps = watched(297);
    for step in 0..steps {
        assert_eq!(token, expected, "step {step}");
        token = decoder.next(&*ops, &model, token, &mut recorded)?;
        let ids = Tensor::new(&[[expected]], &device)?;
        let logits = model.forward(&*ops, &ids, &mut eager, Logits::Last)?;
        expected = ops.next_token(&logits.flatten_all()?, &mut host)?;
    }
    let next = decoder.next(&*ops, &model, token, &mut recorded);
    assert_eq!(next.is_err(), steps == 297, "the cache is full, or not");
    Ok(())
}

#[test]
fn other_levels_tell_their_launches_the_position() -> models::Result<()> {
    let Some(device) = gpu() else { return Ok(()) };
    let model = language_model(9, DType::F32, &device)?;
    for ops in tests::levels().iter().filter(|ops| ops.level() != 5) {
        let caches = model.new_caches(&**ops, 1, 8)?;
        assert!(!Decoder::can_follow(&caches));
        let error = Decoder::new(&model, caches, 1).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("expected a level"), "{error}");
    }
    Ok(())
}
