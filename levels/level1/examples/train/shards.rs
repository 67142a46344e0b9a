//! The gradient of a batch, its parts spread over the processors.

use std::thread;

use candle_core::{Result, bail};

use crate::optim::values;
use crate::task::Task;
use crate::variables::Variables;

/// The elements of one gradient for each variable, in the order of [`Variables::all`].
pub type Gradients = Vec<Vec<f32>>;

/// How many parts are computed at once.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The mean loss of the parts, and its gradient. However many threads there are, the parts are
/// added in their order: the sum is the same to the last bit.
pub fn gradients<T: Task>(
    task: &T,
    variables: &Variables,
    shards: &[T::Shard],
) -> Result<(f32, Gradients)> {
    let threads = threads().min(shards.len());
    let all = thread::scope(|scope| {
        let every_nth = |first| shards.iter().skip(first).step_by(threads);
        let work = |first| {
            scope.spawn(move || {
                let results = every_nth(first).map(|shard| gradient(task, variables, shard));
                results.collect::<Result<Vec<_>>>()
            })
        };
        let handles: Vec<_> = (0..threads).map(work).collect();
        handles.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let in_order = (0..shards.len()).map(|i| &all[i % threads][i / threads]);
    Ok(mean(in_order))
}

fn join<R>(handle: thread::ScopedJoinHandle<Result<R>>) -> Result<R> {
    match handle.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// # Errors
/// When no gradient reached a variable.
fn gradient<T: Task>(
    task: &T,
    variables: &Variables,
    shard: &T::Shard,
) -> Result<(f32, Gradients)> {
    let loss = task.loss(variables.builder(), shard)?;
    let store = loss.backward()?;
    let of_var = |(name, var): (String, candle_core::Var)| match store.get(&var) {
        Some(gradient) => values(gradient),
        None => bail!("no gradient reached `{name}`"),
    };
    let gradients = variables.all().into_iter().map(of_var);
    Ok((loss.to_scalar()?, gradients.collect::<Result<_>>()?))
}

fn mean<'a>(parts: impl ExactSizeIterator<Item = &'a (f32, Gradients)>) -> (f32, Gradients) {
    let share = 1. / parts.len() as f32;
    let mut total = (0., Gradients::new());
    for (loss, gradients) in parts {
        total.0 += share * loss;
        total.1.resize(gradients.len(), vec![]);
        for (sum, gradient) in total.1.iter_mut().zip(gradients) {
            sum.resize(gradient.len(), 0.);
            for (sum, g) in sum.iter_mut().zip(gradient) {
                *sum += share * g;
            }
        }
    }
    total
}
