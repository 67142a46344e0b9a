// How the check calls the submission. `Stats` are sent as maximum and sum.

use exercise::{Calls, allocated, noise};
use submission::{NOTHING, Stats, merge, stats};

type Pair = (f32, f32);

fn sent(stats: Stats) -> Pair {
    (stats.max, stats.sum)
}

fn received((max, sum): Pair) -> Stats {
    Stats { max, sum }
}

pub fn calls(calls: &mut Calls) {
    calls.add("nothing", |(): ()| Ok(sent(NOTHING)));
    calls.add("stats", |(row,): (Vec<f32>,)| Ok(sent(stats(row.into_iter()))));
    calls.add("merge", |(a, b): (Pair, Pair)| Ok(sent(merge(received(a), received(b)))));
    // Numbers that are made one after the other, so that only who keeps them needs memory for them.
    calls.add("stats_of_noise", |(seed, len, bound): (u64, usize, f32)| {
        let (found, bytes) = allocated(|| stats(noise(seed, len, bound)));
        Ok((sent(found), bytes))
    });
    // The bytes of two passes, which keep all numbers.
    calls.add("two_passes", |(seed, len, bound): (u64, usize, f32)| {
        Ok(allocated(|| two_passes(noise(seed, len, bound))).1)
    });
}

fn two_passes(numbers: impl Iterator<Item = f32>) -> Stats {
    let row: Vec<f32> = numbers.collect();
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum = row.iter().map(|x| (x - max).exp()).sum();
    Stats { max, sum }
}
