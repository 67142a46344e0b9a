// Rows of all lengths modulo four, with every padding; and codes 3 in two places, of which the first is told.

use std::error::Error;

use exercise::{Fresh, Submission, Verdict, compare, expect};

/// Weights, or the index of the first that is none.
type Weights = Result<Vec<i8>, usize>;

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for k in [0, 1, 2, 3, 4, 7, 127, 512] {
        let codes: Vec<u8> = (0..k).map(|_| fresh.below(3) as u8).collect();
        for padding in 0..4 {
            sound(submission, &codes, padding)?;
        }
        if k > 0 {
            damaged(submission, codes, fresh)?;
        }
    }
    compare_damaged(fresh, submission)
}

/// Compares with the starter, which reads damaged rows without an error.
fn compare_damaged(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let k = 128;
    let damaged = |_| {
        // Noise has all four codes; one of them is certain to be 3.
        let mut codes: Vec<u8> = (0..k).map(|_| fresh.below(4) as u8).collect();
        codes[fresh.below(k)] = 3;
        pack(&codes, 0)
    };
    let rows: Vec<Vec<u8>> = (0..50).map(damaged).collect();
    let before = accepted("without_check", submission, &rows, k)?;
    let own = accepted("unpack", submission, &rows, k)?;
    let counters = [("rows read without an error", before.0, own.0), ("weights of +2 in them", before.1, own.1)];
    compare(&format!("{} damaged rows of {k} weights", rows.len()), "starter", &counters);
    Ok(())
}

/// The rows that are no error, and their weights of +2.
fn accepted(
    name: &str,
    submission: &mut Submission,
    rows: &[Vec<u8>],
    k: usize,
) -> Result<(usize, usize), Box<dyn Error>> {
    let mut weights: Vec<Vec<i8>> = vec![];
    for row in rows {
        let found: Weights = submission.call(name, (row.clone(), k))?;
        weights.extend(found.ok());
    }
    let twos = weights.iter().flatten().filter(|weight| **weight == 2).count();
    Ok((weights.len(), twos))
}

/// Codes that all are weights.
fn sound(submission: &mut Submission, codes: &[u8], padding: u8) -> Verdict {
    let k = codes.len();
    let found: Weights = submission.call("unpack", (pack(codes, padding), k))?;
    let what = format!("{k} weights, padding of code {padding}");
    let weights = match found {
        Ok(weights) => weights,
        Err(at) => return expect(false, what, "Ok, for all first k codes are weights", format!("Err(NoWeight({at}))")),
    };
    expect(weights.len() == k, &what, format!("{k} weights"), weights.len())?;
    for (i, (&weight, &code)) in weights.iter().zip(codes).enumerate() {
        expect(weight == code as i8 - 1, format!("{what}: weight {i}"), code as i8 - 1, weight)?;
    }
    Ok(())
}

/// Codes of which the last and one before it, or it alone, are no weights.
fn damaged(submission: &mut Submission, mut codes: Vec<u8>, fresh: &mut Fresh) -> Verdict {
    let (k, first) = (codes.len(), fresh.below(codes.len()));
    codes[first] = 3;
    codes[k - 1] = 3;
    let places = match k - 1 {
        last if last == first => format!("code 3 at {first}"),
        last => format!("codes 3 at {first} and {last}"),
    };
    for padding in [1, 3] {
        let found: Weights = submission.call("unpack", (pack(&codes, padding), k))?;
        let what = format!("{k} weights, {places}, padding of code {padding}");
        let text = found.as_ref().map_or_else(|at| format!("Err(NoWeight({at}))"), |weights| format!("Ok({weights:?})"));
        expect(found == Err(first), what, format!("Err(NoWeight({first}))"), text)?;
    }
    Ok(())
}

fn pack(codes: &[u8], padding: u8) -> Vec<u8> {
    let byte = |four: &[u8]| {
        let code = |i: usize| four.get(i).copied().unwrap_or(padding) << (2 * i);
        (0..4).map(code).sum()
    };
    codes.chunks(4).map(byte).collect()
}
