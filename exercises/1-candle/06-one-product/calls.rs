// How the check calls the submission, and looks at the memory of its results.

use exercise::candle_core::Tensor;
use exercise::{Calls, trace};
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
    // The tensors made by three products.
    calls.add("before", |(x, w): (Tensor, Tensor)| Ok(trace::count_tensors(|| three_products(&x, &w))?.1));
}
