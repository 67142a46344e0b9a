//! A model over the size of its input: how its time grows.

use cli::load::Request;
use levels::Level;

use crate::job::{Job, Model};
use crate::{gnn, lm, vit};

/// One thing that grows while the rest stays.
pub struct Sweep {
    /// The size that grows: `tokens`, `batch`, `nodes` or `edges`.
    pub axis: &'static str,
    /// The axis and the constant sizes in words.
    pub what: String,
    /// From the smallest.
    pub points: Vec<Point>,
}

/// One size.
pub struct Point {
    /// How many of what grows.
    pub size: usize,
    /// A forward pass of that size.
    pub job: Box<dyn Job>,
}

impl Point {
    /// A job and its size.
    pub fn new(size: usize, job: impl Job + 'static) -> Self {
        let job = Box::new(job);
        Self { size, job }
    }
}

/// Loads `model` as `request` says, with weights of its own for `level`, and its input in all sizes. With `cuda_graph`, forward
/// passes are recorded at their first run and repeated.
pub fn load(
    model: Model,
    request: &Request,
    level: &Level,
    cuda_graph: bool,
) -> models::Result<Vec<Sweep>> {
    match model {
        Model::Lm => lm::sweep(request, level, cuda_graph),
        Model::Vit => vit::sweep(request, level, cuda_graph),
        Model::Gnn => gnn::sweep(request, level, cuda_graph),
    }
}

/// `first`, twice that, and so on up to `last`.
pub fn doublings(first: usize, last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), |n| n.checked_mul(2)).take_while(move |n| *n <= last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    #[test]
    fn sizes_double() {
        assert_eq!(doublings(3, 24).collect::<Vec<_>>(), [3, 6, 12, 24]);
        assert_eq!(doublings(3, 23).collect::<Vec<_>>(), [3, 6, 12]);
    }

    /// The smallest size of each runs, and the sizes are those of the inputs.
    #[test]
    fn every_model_has_its_axes() -> models::Result<()> {
        let level = levels::level(levels::highest()).expect("a level");
        let request = Request {
            model: "tiny".into(),
            dtype: DType::F32,
            device: Device::Cpu,
            seed: 0,
        };
        let mut axes = vec![];
        for model in Model::ALL {
            for mut sweep in load(model, &request, &level, false)? {
                let grown: Vec<usize> = sweep.points.iter().map(|p| p.size).collect();
                assert!(
                    grown.len() > 3 && grown.is_sorted(),
                    "{}: {grown:?}",
                    sweep.axis
                );
                axes.push(sweep.axis);
                let job = &mut sweep.points[0].job;
                job.prepare()?;
                job.run()?;
            }
        }
        assert_eq!(axes, ["tokens", "batch", "nodes", "edges"]);
        Ok(())
    }
}
