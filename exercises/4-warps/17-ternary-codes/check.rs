// Rows of all lengths modulo four, with any padding; and a code 3 in any place.

use crate::submission::{NoWeight, unpack};
use exercise::{Fresh, Verdict, expect};

pub fn check(fresh: &mut Fresh) -> Verdict {
    for k in [0, 1, 3, 4, 7, 127, 512] {
        let codes: Vec<u8> = (0..k).map(|_| fresh.below(3) as u8).collect();
        let padding = fresh.below(4) as u8;
        let packed = pack(&codes, padding);
        let expected: Vec<i8> = codes.iter().map(|&code| code as i8 - 1).collect();
        let found = unpack(&packed, k);
        let first = found.as_ref().ok().and_then(|found| (0..k).find(|&i| found.get(i) != Some(&expected[i])));
        let what = format!("{k} weights, padding of code {padding}");
        if let Some(i) = first {
            let found = found.as_ref().ok().and_then(|found| found.get(i));
            return expect(false, format!("{what}: weight {i}"), expected[i], format!("{found:?}"));
        }
        expect(found == Ok(expected), what, "the weights, and no others", format!("{found:?}"))?;
        if k > 0 {
            let place = fresh.below(k);
            let mut codes = codes;
            codes[place] = 3;
            let found = unpack(&pack(&codes, 1), k);
            let what = format!("code 3 at weight {place} of {k}");
            expect(found == Err(NoWeight(place)), what, format!("Err(NoWeight({place}))"), format!("{found:?}"))?;
        }
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
