// How the check calls the submission.

use exercise::Calls;
use submission::{Capability, Product, architecture, kernel};

pub fn calls(calls: &mut Calls) {
    calls.add("architecture", |(major, minor): Capability| Ok(architecture((major, minor)).to_owned()));
    calls.add("kernel", |(m, k, bf16, capability): (usize, usize, bool, Capability)| {
        Ok(kernel(&Product { m, k, bf16, capability }).to_owned())
    });
}
