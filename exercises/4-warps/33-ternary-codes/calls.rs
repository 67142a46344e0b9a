// How the check calls the submission. The error is sent as its index.

use exercise::Calls;
use submission::{NoWeight, unpack};

pub fn calls(calls: &mut Calls) {
    calls.add("unpack", |(bytes, k): (Vec<u8>, usize)| Ok(unpack(&bytes, k).map_err(|NoWeight(at)| at)));
    calls.add("without_check", |(bytes, k): (Vec<u8>, usize)| Ok(Ok::<_, usize>(without_check(&bytes, k))));
}

/// The starter's formula.
fn without_check(bytes: &[u8], k: usize) -> Vec<i8> {
    (0..k).map(|i| (bytes[i / 4] >> (2 * (i % 4)) & 3) as i8 - 1).collect()
}
