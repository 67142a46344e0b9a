//! The narrow functions that the methods of a level are made of.

use kernels::for_each_function;
pub use kernels::functions::Functions;

macro_rules! functions {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $($level:ident)*;)*) => {
        /// The functions of all levels, in order.
        pub fn functions() -> Vec<Functions> {
            let of_candle = [
                Functions { level: 1, $($name: level1::ops::$name),* },
                Functions { level: 2, $($name: level2::ops::$name),* },
            ];
            of_candle.into_iter().chain(kernels::functions::functions()).collect()
        }
    };
}
for_each_function!(functions);

/// Functions that not all levels have, or whose cache is a type of the level's own.
#[cfg(test)]
mod tests {
    use std::any::Any;

    use candle_core::{DType, Device, Result, Tensor};
    use kernels::{attention, level3, level4, level5};
    use level1::ops as level1;
    use level2::ops as level2;
    use models::{CacheShape, Heads};

    use super::Functions;

    type Argmax = fn(&Tensor) -> Result<u32>;
    type TopK = fn(&Tensor, usize, f64) -> Result<Vec<(u32, f32)>>;
    type RopeAppend<C> =
        fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &mut C, usize) -> Result<Tensor>;
    type CausalAttention<C> = fn(&Tensor, &C, usize) -> Result<Tensor>;

    const ARGMAX: [Argmax; 4] = [
        level1::argmax,
        level2::argmax,
        level4::argmax,
        level5::argmax,
    ];
    const TOP_K: [TopK; 2] = [level4::top_k, level5::top_k];
    const GELU: [fn(&Tensor) -> Result<Tensor>; 3] = [level3::gelu, level4::gelu, level5::gelu];

    /// Batch, query heads, key heads, D.
    const SHAPE: [usize; 4] = [2, 6, 3, 8];

    fn tensor(dims: &[usize], seed: usize) -> Result<Tensor> {
        let count: usize = dims.iter().product();
        let values = (0..count).map(|i| ((i * 37 + seed * 11) as f32).sin());
        Tensor::from_vec(values.collect(), dims, &Device::Cpu)
    }

    /// A prompt of five tokens, then two more and one more, in a cache that level `makes` makes: (B, 8, H·D).
    fn attended<C: Any>(
        makes: u8,
        rope_append: RopeAppend<C>,
        causal_attention: CausalAttention<C>,
    ) -> Result<Tensor> {
        let [batch, num_heads, num_kv_heads, head_dim] = SHAPE;
        let ops = crate::level(makes).expect("a level");
        let mut caches = ops.new_caches(&CacheShape {
            layers: 1,
            batch,
            capacity: 8,
            heads: Heads {
                num_heads,
                num_kv_heads,
                head_dim,
            },
            dtype: DType::F32,
            device: Device::Cpu,
        })?;
        let mut results = vec![];
        for (position, t) in [(0, 5), (5, 2), (7, 1)] {
            let heads = |h, seed| tensor(&[batch, t, h, head_dim], position + seed);
            let (q, k, v) = (
                heads(num_heads, 1)?,
                heads(num_kv_heads, 2)?,
                heads(num_kv_heads, 3)?,
            );
            let angles = tensor(&[t, head_dim / 2], position)?;
            let (cos, sin) = (angles.cos()?, angles.sin()?);
            let cache = caches[0].advance::<C>(t)?;
            let q = rope_append(&q, &k, &v, &cos, &sin, cache, position)?;
            results.push(causal_attention(&q, cache, position)?);
        }
        Tensor::cat(&results, 1)
    }

    #[test]
    fn causal_attention_has_one_answer_at_every_level() -> Result<()> {
        type Shared = attention::Cache;
        let expected = attended(1, level1::rope_append, level1::causal_attention)?;
        let found = [
            attended(2, level2::rope_append, level2::causal_attention)?,
            attended::<Shared>(3, level3::rope_append, level3::causal_attention)?,
            attended::<Shared>(4, level4::rope_append, level4::causal_attention)?,
            attended::<Shared>(4, level5::rope_append, level5::causal_attention)?,
        ];
        for (y, level) in found.iter().zip(2..) {
            let apart = (y - &expected)?.abs()?.flatten_all()?.max(0)?;
            let apart = apart.to_scalar::<f32>()?;
            assert!(apart <= 2e-5, "level {level}: {apart}");
        }
        Ok(())
    }

    #[test]
    fn a_function_of_some_levels_has_one_answer() -> Result<()> {
        let x = tensor(&[100], 5)?;
        let tokens: Vec<u32> = ARGMAX.iter().map(|f| f(&x)).collect::<Result<_>>()?;
        assert_eq!(tokens, [tokens[0]; 4]);
        let first: Vec<_> = TOP_K.iter().map(|f| f(&x, 3, 0.7)).collect::<Result<_>>()?;
        assert_eq!((first[0][0].0, first[0].len()), (tokens[0], 3));
        assert_eq!(first[0], first[1]);
        let y = GELU.map(|f| f(&x).and_then(|y| y.to_vec1::<f32>()));
        let [low, high, highest] = y;
        let (low, high) = (low?, high?);
        assert!(low.iter().zip(&high).all(|(a, b)| (a - b).abs() <= 1e-5));
        assert_eq!(high, highest?);
        Ok(())
    }

    /// The public functions of levels 1 and 2 are in `for_each_function!` or in the tests above, but for a helper of two.
    #[test]
    fn every_public_function_is_compared() {
        let others = ["argmax", "rope_append", "causal_attention", "segment_max"];
        for source in [
            include_str!("../level1/src/ops.rs"),
            include_str!("../level2/src/ops.rs"),
        ] {
            let names = source
                .lines()
                .filter_map(|line| line.strip_prefix("pub fn "));
            let names: Vec<&str> = names.filter_map(|line| line.split('(').next()).collect();
            assert!(names.len() > 8, "{names:?}");
            for name in names {
                let is_listed = Functions::NAMES.contains(&name) || others.contains(&name);
                assert!(is_listed, "{name}");
            }
        }
    }
}
