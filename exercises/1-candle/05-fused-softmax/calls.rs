// How the check calls the submission, and counts what a call costs.

use exercise::candle_core::{Result, Tensor};
use exercise::{Calls, allocated, trace};
use submission::{fused, naive};

pub fn calls(calls: &mut Calls) {
    calls.add("fused", |(x, scale): (Tensor, f64)| fused(&x, scale));
    calls.add("counted", |(x, scale): (Tensor, f64)| counted(|| fused(&x, scale)));
    calls.add("naive", |(x, scale): (Tensor, f64)| counted(|| naive(&x, scale)));
}

/// The result, the tensors made and the bytes allocated.
fn counted(f: impl FnOnce() -> Result<Tensor>) -> Result<(Tensor, usize, usize)> {
    let (made, bytes) = allocated(|| trace::count_tensors(f));
    made.map(|(y, tensors)| (y, tensors, bytes))
}
