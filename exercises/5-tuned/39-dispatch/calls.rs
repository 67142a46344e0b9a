// How the check calls the submission.

use exercise::Calls;
use submission::{Capability, Product, architecture, kernel};

pub fn calls(calls: &mut Calls) {
    calls.add("architecture", |(major, minor): Capability| Ok(architecture((major, minor)).to_owned()));
    calls.add("kernel", |(m, k, bf16, capability): (usize, usize, bool, Capability)| {
        Ok(kernel(&Product { m, k, bf16, capability }).to_owned())
    });
    calls.add("starter", |(m, k, bf16, capability): (usize, usize, bool, Capability)| {
        Ok(starter(&Product { m, k, bf16, capability }).to_owned())
    });
}

/// The starter's table.
fn starter(product: &Product) -> &'static str {
    match product.m {
        _ if product.capability >= (8, 0) && product.k % 8 == 0 => "mma",
        _ if product.k == 0 => "fill",
        1 if !product.bf16 => "gemv",
        _ => "tile",
    }
}
