// Rows of all lengths modulo four, with every padding; and codes 3 in two places, of which the first is told.

use exercise::{Fresh, Submission, Verdict, expect};

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
    Ok(())
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
