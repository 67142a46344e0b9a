// How the check calls the submission. The error is sent as its index.

use exercise::Calls;
use submission::{NoWeight, unpack};

pub fn calls(calls: &mut Calls) {
    calls.add("unpack", |(bytes, k): (Vec<u8>, usize)| Ok(unpack(&bytes, k).map_err(|NoWeight(at)| at)));
}
