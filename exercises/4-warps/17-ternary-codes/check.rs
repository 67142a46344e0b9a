// Rows of all lengths modulo four, with every padding; and codes 3 in two places, of which the first is told.

use crate::submission::{NoWeight, unpack};
use exercise::{Fresh, Verdict, expect};

pub fn check(fresh: &mut Fresh) -> Verdict {
    for k in [0, 1, 2, 3, 4, 7, 127, 512] {
        let codes: Vec<u8> = (0..k).map(|_| fresh.below(3) as u8).collect();
        for padding in 0..4 {
            sound(&codes, padding)?;
        }
        if k > 0 {
            damaged(codes, fresh)?;
        }
    }
    Ok(())
}

/// Codes that all are weights.
fn sound(codes: &[u8], padding: u8) -> Verdict {
    let k = codes.len();
    let found = unpack(&pack(codes, padding), k);
    let what = format!("{k} weights, padding of code {padding}");
    let Ok(weights) = found else {
        return expect(false, what, "Ok, for all first k codes are weights", format!("{found:?}"));
    };
    expect(weights.len() == k, &what, format!("{k} weights"), weights.len())?;
    for (i, (&weight, &code)) in weights.iter().zip(codes).enumerate() {
        expect(weight == code as i8 - 1, format!("{what}: weight {i}"), code as i8 - 1, weight)?;
    }
    Ok(())
}

/// Codes of which the last and one before it, or it alone, are no weights.
fn damaged(mut codes: Vec<u8>, fresh: &mut Fresh) -> Verdict {
    let (k, first) = (codes.len(), fresh.below(codes.len()));
    codes[first] = 3;
    codes[k - 1] = 3;
    let places = match k - 1 {
        last if last == first => format!("code 3 at {first}"),
        last => format!("codes 3 at {first} and {last}"),
    };
    for padding in [1, 3] {
        let found = unpack(&pack(&codes, padding), k);
        let what = format!("{k} weights, {places}, padding of code {padding}");
        expect(found == Err(NoWeight(first)), what, format!("Err(NoWeight({first}))"), format!("{found:?}"))?;
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
