//! Samples of mutants.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use simt::mutate::{Judge, Mutant, OPERATORS};

type Candidate<'a> = (&'a Judge, &'a Mutant);

/// Returns `count` mutants in source order, spread evenly over the operators. Mutants on lines that no case
/// executes are included, because their survival matters.
pub fn sample(all: Vec<Candidate>, count: Option<usize>, seed: u64) -> Vec<Candidate> {
    let Some(count) = count.filter(|count| *count < all.len()) else {
        return all;
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let of = |operator: &str| -> Vec<usize> {
        let all = order
            .iter()
            .copied()
            .filter(|&i| all[i].1.operator == operator);
        all.collect()
    };
    let by_operator: Vec<Vec<usize>> = OPERATORS.iter().map(|o| of(o.name)).collect();
    let most = by_operator.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..most).flat_map(|n| by_operator.iter().filter_map(move |of| of.get(n)));
    let mut chosen: Vec<usize> = rounds.copied().take(count).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|i| all[i]).collect()
}
