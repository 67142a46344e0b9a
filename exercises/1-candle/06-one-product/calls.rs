// How the check calls the submission, and looks at the memory of its results.

use exercise::candle_core::{Result, Tensor};
use exercise::{Calls, costs, trace};
use submission::{one_product, three_products};

pub fn calls(calls: &mut Calls) {
    calls.add("one_product", |(x, w): (Tensor, Tensor)| one_product(&x, &w));
    // The three, the tensors made, their strides, and whether they share their memory.
    calls.add("views", |(x, w): (Tensor, Tensor)| {
        let (parts, tensors) = trace::count_tensors(|| one_product(&x, &w))?;
        let strides: Vec<Vec<usize>> = parts.iter().map(|part| part.stride().to_vec()).collect();
        let memory = parts.each_ref().map(|part| std::ptr::from_ref(&*part.storage_and_layout().0));
        let shared = memory.iter().all(|m| *m == memory[0]);
        Ok((parts, tensors, strides, shared))
    });
    calls.add("before", |(x, w): (Tensor, Tensor)| counted(|| three_products(&x, &w)));
    calls.add("now", |(x, w): (Tensor, Tensor)| counted(|| one_product(&x, &w)));
}

/// The tensors made and the bytes allocated.
fn counted(f: impl Fn() -> Result<[Tensor; 3]>) -> Result<(usize, usize)> {
    costs(f).map(|(_, tensors, bytes)| (tensors, bytes))
}
