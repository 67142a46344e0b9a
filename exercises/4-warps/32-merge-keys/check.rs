// Against attention in f64, with the keys cut into parts in several ways. Some parts have no visible key.

use std::error::Error;

use exercise::{Fresh, Submission, Verdict, close, compare, expect};

/// Maximum, sum and channels.
type Part = (f32, f32, Vec<f32>);

/// Scores, and the values of all keys.
struct Keys {
    scores: Vec<f32>,
    values: Vec<f32>,
    d: usize,
}

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    // Scores far from 0, where a plain exponential of two joins overflows or vanishes, and scores far apart.
    let cases = [(1, 1, 1, 4., 60.), (3, 40, 7, 4., 60.), (16, 200, 32, 60., 0.), (64, 300, 100, 4., -60.)];
    for (d, keys, chunk, bound, shift) in cases {
        for hidden in ["none", "the first", "some", "most", "all"] {
            let scores = fresh.numbers(keys, bound).iter().map(|s| s + shift).collect();
            let mut all = Keys { scores, values: fresh.numbers(keys * d, 1.), d };
            let hide = |i: usize| match hidden {
                "none" => false,
                "the first" => i < chunk,
                "some" => i / chunk % 2 == 1,
                "most" => i / chunk != keys / chunk / 2,
                _ => true,
            };
            let each = all.scores.iter_mut().enumerate();
            each.filter(|(i, _)| hide(*i)).for_each(|(_, score)| *score = f32::NEG_INFINITY);
            let parts: Vec<Part> = (0..keys).step_by(chunk).map(|i| all.part(i, chunk)).collect();
            let what = format!("keys 0..{keys}, {chunk} per part, D = {d}, {hidden} hidden");
            check_joins(submission, &what, &all, &parts)?;
        }
    }
    compare_exponentials(fresh, submission)
}

/// The exponentials of one join, next to those of joins of two.
fn compare_exponentials(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let (keys, chunk, d) = (320, 32, 16);
    let all = Keys { scores: fresh.numbers(keys, 4.), values: fresh.numbers(keys * d, 1.), d };
    let parts: Vec<Part> = (0..keys).step_by(chunk).map(|i| all.part(i, chunk)).collect();
    let (_, exps): (Part, usize) = submission.call("join", (parts.clone(),))?;
    let (_, before): (Vec<f32>, usize) = submission.call("two_at_a_time", (parts,))?;
    compare("10 parts of 32 keys", "two parts at a time", &[("calls of exp", before, exps)]);
    Ok(())
}

/// In one step, backwards, and in groups of three whose results are joined.
fn check_joins(submission: &mut Submission, what: &str, all: &Keys, parts: &[Part]) -> Verdict {
    let expected = all.attention();
    let at_once = join(submission, what, parts)?;
    check_result(submission, what, &at_once, &expected)?;
    let backwards: Vec<Part> = parts.iter().rev().cloned().collect();
    let backwards = join(submission, what, &backwards)?;
    check_result(submission, &format!("{what}, backwards"), &backwards, &expected)?;
    let groups: Result<Vec<Part>, _> = parts.chunks(3).map(|group| join(submission, what, group)).collect();
    let of_groups = join(submission, what, &groups?)?;
    check_result(submission, &format!("{what}, in groups of three, then joined"), &of_groups, &expected)
}

fn check_result(submission: &mut Submission, what: &str, part: &Part, expected: &[f64]) -> Verdict {
    let y: Vec<f32> = submission.call("finish", (part.clone(),))?;
    let y: Vec<f64> = y.into_iter().map(f64::from).collect();
    close(format!("y of {what}"), &y, expected, 1e-4)
}

fn join(submission: &mut Submission, what: &str, parts: &[Part]) -> Result<Part, Box<dyn Error>> {
    let (part, exps): (Part, usize) = submission.call("join", (parts.to_vec(),))?;
    let most = parts.len();
    let expected = format!("at most {most}, one for each part");
    expect(exps <= most, format!("exponentials of a join, {what}"), expected, exps)?;
    Ok(part)
}

impl Keys {
    /// The part of `chunk` keys from key `first` on.
    fn part(&self, first: usize, chunk: usize) -> Part {
        let end = self.scores.len().min(first + chunk);
        let scores = &self.scores[first..end];
        let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |s: &f32| if *s == f32::NEG_INFINITY { 0. } else { (s - max).exp() };
        let weights: Vec<f32> = scores.iter().map(weight).collect();
        let channel = |c: usize| weights.iter().zip(first..).map(|(w, i)| w * self.values[i * self.d + c]).sum();
        (max, weights.iter().sum(), (0..self.d).map(channel).collect())
    }

    fn attention(&self) -> Vec<f64> {
        let max = self.scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            return vec![0.; self.d];
        }
        let weights: Vec<f64> = self.scores.iter().map(|s| f64::from(s - max).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let channel = |c: usize| {
            let terms = weights.iter().zip(self.values.chunks(self.d));
            terms.map(|(w, v)| w * f64::from(v[c])).sum::<f64>() / sum
        };
        (0..self.d).map(channel).collect()
    }
}
