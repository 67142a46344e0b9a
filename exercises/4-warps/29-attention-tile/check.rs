// Against attention in f64, after each tile; and what a tile takes.

use std::error::Error;

use exercise::{Fresh, Submission, Verdict, close, compare, expect};

/// A state: maximum, sum and channels.
type State = (f32, f32, Vec<f32>);

/// The state after a tile, the result so far, exponentials and bytes.
type Added = (State, Vec<f32>, usize, usize);

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for (d, keys, tile) in [(1, 1, 1), (4, 33, 8), (16, 100, 32), (64, 192, 64)] {
        let query = fresh.numbers(d, 8.);
        let random = fresh.numbers(keys * d, 8.);
        attend(fresh, submission, "random", &query, &random, tile)?;
        // The scores of each tile are 50 above, or below, those of the tile before.
        let square: f32 = query.iter().map(|q| q * q).sum::<f32>().max(1e-3);
        for (what, step) in [("rising", 50.), ("falling", -50.)] {
            let number = |(i, k): (usize, &f32)| {
                let shift = step * (i / d / tile) as f32 * (d as f32).sqrt() / square;
                k / 8. + shift * query[i % d]
            };
            let shifted: Vec<f32> = random.iter().enumerate().map(number).collect();
            attend(fresh, submission, what, &query, &shifted, tile)?;
        }
    }
    compare_exponentials(fresh, submission)
}

/// The exponentials of one tile, next to those of a correction after each key.
fn compare_exponentials(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let (n, d) = (64, 64);
    let (query, keys, values) = (fresh.numbers(d, 8.), fresh.numbers(n * d, 8.), fresh.numbers(n * d, 1.));
    let none: State = (f32::NEG_INFINITY, 0., vec![0.; d]);
    let of_tile = (none, query.clone(), keys.clone(), values.clone());
    let (_, _, exps, _): Added = submission.call("add_tile", of_tile)?;
    let (_, before): (Vec<f32>, usize) = submission.call("after_each_key", (query, keys, values))?;
    let counters = [("calls of exp for the tile", before, exps)];
    compare("64 keys, D = 64", "a correction after each key", &counters);
    Ok(())
}

/// Adds all tiles one after the other.
fn attend(
    fresh: &mut Fresh,
    submission: &mut Submission,
    kind: &str,
    query: &[f32],
    keys: &[f32],
    tile: usize,
) -> Result<(), Box<dyn Error>> {
    let d = query.len();
    let values = fresh.numbers(keys.len(), 1.);
    let mut state: State = (f32::NEG_INFINITY, 0., vec![0.; d]);
    let mut seen = 0;
    for (k, v) in keys.chunks(tile * d).zip(values.chunks(tile * d)) {
        let n = k.len() / d;
        let what = format!("the tile of keys {seen}..{}, D = {d}, {kind} scores", seen + n);
        let arguments = (state, query.to_vec(), k.to_vec(), v.to_vec());
        let (next, y, exps, bytes): Added = submission.call("add_tile", arguments)?;
        seen += n;
        let expected = attention(query, &keys[..seen * d], &values[..seen * d]);
        let y: Vec<f64> = y.into_iter().map(f64::from).collect();
        close(format!("y after {what}"), &y, &expected, 2e-3)?;
        let most = format!("{n} to {}", n + 1);
        expect((n..=n + 1).contains(&exps), format!("exponentials for {what}"), most, exps)?;
        let most = 16 * n + 8 * d + 64;
        let expected = format!("at most {most}: 16 per key and 8 per channel");
        expect(bytes <= most, format!("bytes allocated for {what}"), expected, bytes)?;
        state = next;
    }
    Ok(())
}

fn attention(query: &[f32], keys: &[f32], values: &[f32]) -> Vec<f64> {
    let d = query.len();
    let term = |(q, k): (&f32, &f32)| f64::from(*q) * f64::from(*k);
    let score = |key: &[f32]| query.iter().zip(key).map(term).sum::<f64>() / (d as f64).sqrt();
    let scores: Vec<f64> = keys.chunks(d).map(score).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let channel = |c: usize| {
        let terms = weights.iter().zip(values.chunks(d));
        terms.map(|(w, v)| w * f64::from(v[c])).sum::<f64>() / sum
    };
    (0..d).map(channel).collect()
}
