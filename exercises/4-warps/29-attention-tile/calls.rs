// How the check calls the submission. A `State` is sent as maximum, sum and channels.

use std::cell::Cell;

use exercise::{Calls, allocated};
use submission::{State, add_tile, finish};

type Sent = (f32, f32, Vec<f32>);

pub fn calls(calls: &mut Calls) {
    // The state after the tile, and what it took: exponentials and bytes.
    calls.add("add_tile", |((max, sum, out), query, keys, values): (Sent, Vec<f32>, Vec<f32>, Vec<f32>)| {
        let mut state = State { max, sum, out };
        let count = Cell::new(0usize);
        let exp = counted(&count);
        let ((), bytes) = allocated(|| add_tile(&mut state, &query, &keys, &values, &exp));
        let y = finish(&state);
        Ok(((state.max, state.sum, state.out), y, count.get(), bytes))
    });
    // The exponentials of a correction after each key, as in the sum of online softmax.
    calls.add("after_each_key", |(query, keys, values): (Vec<f32>, Vec<f32>, Vec<f32>)| {
        let count = Cell::new(0usize);
        let exp = counted(&count);
        let d = query.len();
        let mut state = State { max: f32::NEG_INFINITY, sum: 0., out: vec![0.; d] };
        for (key, value) in keys.chunks(d).zip(values.chunks(d)) {
            let score = key.iter().zip(&query).map(|(k, q)| k * q).sum::<f32>() / (d as f32).sqrt();
            let max = state.max.max(score);
            let (scale, weight) = (exp(state.max - max), exp(score - max));
            state.max = max;
            state.sum = state.sum * scale + weight;
            state.out.iter_mut().zip(value).for_each(|(out, v)| *out = *out * scale + weight * v);
        }
        Ok((finish(&state), count.get()))
    });
}

/// exp, which adds its calls to `count`.
fn counted(count: &Cell<usize>) -> impl Fn(f32) -> f32 {
    move |x| {
        count.set(count.get() + 1);
        x.exp()
    }
}
