//! Models that are composed from the ops of several levels.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use levels::{Costed, Level, OPS, Swap};
use models::lm::Logits;
use models::random::RandomWeights;
use models::trace::{Event, record};
use models::{LanguageModel, Ops, Result, Sampling, gnn, lm, vit};
use tests::inputs::{
    Graphs, graph_transformer, language_model, rng, tokens, uniform, vision_transformer,
};
use tests::{difference, levels};

/// Logits of all three models, and a drawn token: every op runs, and the language model's cache is
/// filled twice.
fn answers(ops: &dyn Ops) -> Result<Vec<Tensor>> {
    let device = Device::Cpu;
    let mut rng = rng(1);
    let model = language_model(1, &device)?;
    let mut caches = model.new_caches(ops, 1, 9)?;
    let ids = Tensor::new(tokens(&mut rng, 1, 8), &device)?;
    let prefill = model.forward(ops, &ids, &mut caches, Logits::Last)?;
    let mut sampling = Sampling::new(1., None, None, 1);
    let next = ops.next_token(&prefill.flatten_all()?, &mut sampling)?;
    let ids = Tensor::new(&[[next]], &device)?;
    let decode = model.forward(ops, &ids, &mut caches, Logits::Last)?;
    let pixels = Tensor::from_vec(uniform(&mut rng, 2, 675), (2, 3, 15, 15), &device)?;
    let classes = vision_transformer(1, &device)?.forward(ops, &pixels)?;
    let graphs = Graphs::random(&mut rng, &[(5, 9), (3, 0)]).batch(&device)?;
    let families = graph_transformer(1, &device)?.forward(ops, &graphs)?;
    Ok(vec![prefill, decode, classes, families])
}

/// The ops that the models called, by name, each with the kernels that ran inside it; in order.
fn ran(ops: Level) -> Result<Vec<(&'static str, Vec<&'static str>)>> {
    let mut ran: Vec<(&'static str, Vec<&'static str>)> = vec![];
    for event in events(&Costed::new(ops))? {
        match (event.depth, ran.last_mut()) {
            (0, _) => ran.push((event.kernel, vec![])),
            (_, Some((_, kernels))) => kernels.push(event.kernel),
            (_, None) => unreachable!("an event inside none"),
        }
    }
    Ok(ran)
}

fn events(ops: &dyn Ops) -> Result<Vec<Event>> {
    let mut answer = Ok(vec![]);
    let (_, events) = record(&Device::Cpu, || {
        answer = answers(ops);
        Ok(())
    })?;
    answer?;
    Ok(events)
}

fn swap(base: &Level, op: &str, level: u8) -> Result<Swap> {
    Ok(Swap::new(base.clone(), &format!("{op}={level}"), OPS)?)
}

#[test]
fn any_op_of_any_level_fits_into_any_other() -> Result<()> {
    let expected = answers(levels()[0].as_ref())?;
    for base in levels() {
        for op in OPS {
            for level in levels() {
                let ops = swap(&base, op, level.level())?;
                let name = format!("level {} with {op}={}", base.level(), level.level());
                let found = answers(&ops).unwrap_or_else(|e| panic!("{name}: {e}"));
                for (found, expected) in found.iter().zip(&expected) {
                    let apart = difference(found, expected)?;
                    assert!(apart <= 2e-5, "{name}: {apart}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn swapped_ops_run_at_their_level_and_no_others() -> Result<()> {
    let levels = levels();
    let (first, last) = (&levels[0], &levels[levels.len() - 1]);
    let (of_first, of_last) = (ran(first.clone())?, ran(last.clone())?);
    for op in OPS {
        let swapped = ran(Arc::new(swap(first, op, last.level())?))?;
        assert!(
            swapped.iter().any(|(name, _)| name == op),
            "no model calls {op}"
        );
        for (found, (of_first, of_last)) in swapped.iter().zip(of_first.iter().zip(&of_last)) {
            let expected = if found.0 == *op { of_last } else { of_first };
            assert_eq!(found, expected, "{op}");
        }
        assert_eq!(swapped.len(), of_first.len());
    }
    Ok(())
}

/// `--swap` of a program offers the ops that its model runs, and only those.
#[test]
fn every_model_lists_the_ops_that_it_calls() -> Result<()> {
    let called = ran(levels()[0].clone())?;
    let called: Vec<&str> = called.into_iter().map(|(op, _)| op).collect();
    let first = |op| called.iter().position(|called| *called == op).unwrap();
    let (begin_vit, begin_gnn) = (first("patch_embed"), first("linear"));
    for (listed, called) in [
        (lm::OPS, &called[..begin_vit]),
        (vit::OPS, &called[begin_vit..begin_gnn]),
        (gnn::OPS, &called[begin_gnn..]),
    ] {
        let in_order = OPS.iter().copied().filter(|op| called.contains(op));
        assert_eq!(listed, in_order.collect::<Vec<_>>());
    }
    Ok(())
}

/// A tied head is the embedding's weight: two ops, maybe of two levels, share what one has packed.
#[test]
fn a_tied_weight_serves_two_levels() -> Result<()> {
    let config = lm::Config {
        tie_word_embeddings: true,
        ..language_model(1, &Device::Cpu)?.config().clone()
    };
    for base in levels() {
        for level in levels() {
            let weights = RandomWeights::weights(1, candle_core::DType::F32, &Device::Cpu);
            let model = LanguageModel::load(weights, &config)?;
            let ops = swap(&base, "embedding", level.level())?;
            let mut caches = model.new_caches(&ops, 1, 4)?;
            for _ in 0..2 {
                let ids = Tensor::new(&[[1u32, 2]], &Device::Cpu)?;
                model.forward(&ops, &ids, &mut caches, Logits::Last)?;
            }
        }
    }
    Ok(())
}

/// A method of the trait gets what it needs as arguments: the same at every level.
#[test]
fn every_op_says_what_it_needs() -> Result<()> {
    let mut first = None;
    for level in levels() {
        let number = level.level();
        let mut events = events(&Costed::new(level))?;
        events.retain(|event| event.depth == 0);
        let needs: Vec<_> = events.iter().map(|event| event.needs).collect();
        let missing = events.iter().find(|event| event.needs.is_none());
        assert!(missing.is_none(), "level {number}: {missing:?}");
        assert!(needs.iter().flatten().all(|needs| needs.bytes > 0));
        assert_eq!(&needs, first.get_or_insert(needs.clone()), "level {number}");
    }
    Ok(())
}
