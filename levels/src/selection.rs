//! The ops of a program, as its options ask for them.

use std::sync::Arc;

use candle_core::{DType, Device};
use data::BadInput;

use crate::{Costed, Level, Name, Swap, check};

/// The options `--level` and `--swap` of a run.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// The level.
    pub level: &'a Name,
    /// The value of `--swap`: ops that other levels do in its place.
    pub swap: Option<&'a str>,
    /// The ops that the model runs, such as `models::lm::OPS`: `swap` may name these.
    pub model_ops: &'a [&'static str],
}

impl Selection<'_> {
    /// These ops, for tensors of a dtype on a device, and the numbers of the levels that take part; `costed` when
    /// `--trace` will want to know what each op needs.
    ///
    /// # Errors
    /// [`BadInput`] for a level or an op that is not there, and for a GPU that cannot run one of the levels.
    pub fn ops(
        self,
        dtype: DType,
        device: &Device,
        costed: bool,
    ) -> Result<(Level, Vec<u8>), BadInput> {
        let base = self.level.find("--level")?;
        let (ops, levels): (Level, _) = match self.swap {
            Some(spec) => {
                let swap = Swap::new(base, spec, self.model_ops)?;
                let levels = swap.levels();
                (Arc::new(swap), levels)
            }
            None => {
                let levels = vec![base.level()];
                (base, levels)
            }
        };
        check(&levels, dtype, device)?;
        let ops = if costed {
            Arc::new(Costed::new(ops))
        } else {
            ops
        };
        Ok((ops, levels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level_of(level: u8, swap: Option<&str>) -> Result<u8, String> {
        Ok(selected(level, swap)?.0.level())
    }

    fn selected(level: u8, swap: Option<&str>) -> Result<(Level, Vec<u8>), String> {
        let model_ops = &["linear", "attention"];
        let selection = Selection {
            level: &Name::Number(level),
            swap,
            model_ops,
        };
        let ops = selection.ops(DType::F32, &Device::Cpu, true);
        ops.map_err(|bad| bad.to_string())
    }

    #[test]
    fn the_level_is_that_of_the_base() {
        assert_eq!(level_of(1, None), Ok(1));
        assert_eq!(level_of(1, Some("linear=2, attention=2")), Ok(1));
        let refusal =
            "--level: expected level 1, 2, 3, 4, 5 or the name of your own, found 9".to_owned();
        assert_eq!(level_of(9, None), Err(refusal));
        assert!(level_of(2, Some("linear")).is_err());
        let levels = |swap| selected(1, swap).map(|(_, levels)| levels);
        assert_eq!(levels(None), Ok(vec![1]));
        assert_eq!(levels(Some("attention = 5")), Ok(vec![1, 5]));
    }
}
