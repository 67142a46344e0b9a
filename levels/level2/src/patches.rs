//! Matrix and summands of a patch embedding, made once.

use std::sync::Arc;

use candle_core::{Result, Tensor, TensorId};
use models::Linear;

/// The weight as a matrix, and what is added after the matmul, for any image.
pub struct Patches {
    /// (C, 3·P·P)
    pub w: Tensor,
    /// The class token's row: class + positions₀, (1, 1, C).
    pub first: Tensor,
    /// Added to the patches: bias + positions₁…, (1, n, C).
    pub rest: Tensor,
    /// The bias, class and positions that it was made of.
    of: [Option<TensorId>; 3],
}

impl Patches {
    /// Stored with the weight for the tensors that it is first used with, which are those of one model; for others made anew.
    pub fn of(patch: &Linear, class: &Tensor, positions: &Tensor) -> Result<Arc<Self>> {
        let bias = patch.bias.as_ref();
        let of = [bias.map(Tensor::id), Some(class.id()), Some(positions.id())];
        let rest = positions.narrow(1, 1, positions.dim(1)? - 1)?;
        let new = |w: &Tensor| {
            Ok(Self {
                w: w.flatten_from(1)?,
                first: (class + positions.narrow(1, 0, 1)?)?,
                rest: bias.map_or(Ok(rest.clone()), |b| rest.broadcast_add(b))?,
                of,
            })
        };
        let made = patch.weight.packed(new)?;
        if made.of == of {
            return Ok(made);
        }
        new(patch.weight.tensor()).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    #[test]
    fn cached_patches_are_of_the_tensors_that_are_given() -> Result<()> {
        let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
        let patch = Linear::new(zeros(&[5, 3, 2, 2])?, Some(zeros(&[5])?));
        let class = zeros(&[1, 1, 5])?;
        let [zero, one] = [zeros(&[1, 7, 5])?, zeros(&[1, 7, 5])?.affine(1., 1.)?];
        for (positions, expected) in [(&zero, 0.), (&one, 1.), (&zero, 0.)] {
            let made = Patches::of(&patch, &class, positions)?;
            assert_eq!(made.rest.flatten_all()?.to_vec1::<f32>()?, [expected; 30]);
            assert_eq!(made.first.flatten_all()?.to_vec1::<f32>()?, [expected; 5]);
            assert_eq!(made.w.dims(), [5, 12]);
        }
        Ok(())
    }
}
