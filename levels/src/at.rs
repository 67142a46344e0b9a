//! The ops of a program, as its options ask for them.

use std::sync::Arc;

use candle_core::{DType, Device};
use data::BadInput;
use models::Ops;

use crate::{Costed, Level, Swap, check, level, numbers, one_of};

/// What the programs of `cli` are given: makes the ops of level `number`, with those that `--swap` takes from
/// other levels, for tensors of a number format on a device; `costed` when `--trace` will want to know what
/// each needs.
///
/// # Errors
/// The function gives [`BadInput`] for a level or an op that is not there, and for a GPU that cannot run
/// one of the levels.
pub fn at(
    number: u8,
) -> impl Fn(Option<&str>, DType, &Device, bool) -> Result<Arc<dyn Ops>, BadInput> + Send {
    move |swap, dtype, device, costed| {
        let base = level(number).ok_or_else(|| {
            let expected = one_of(&numbers(), "or");
            BadInput::new("--level", expected, number)
        })?;
        let swap = swap.map(|spec| Swap::new(base.clone(), spec)).transpose()?;
        let levels = swap.as_ref().map_or(vec![number], Swap::levels);
        check(&levels, dtype, device)?;
        let ops: Level = swap.map_or(base, |swap| Arc::new(swap));
        Ok(match costed {
            true => Arc::new(Costed::new(ops)),
            false => ops,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compose(number: u8, swap: Option<&str>) -> Result<u8, String> {
        let ops = at(number)(swap, DType::F32, &Device::Cpu, true);
        ops.map(|ops| ops.level()).map_err(|bad| bad.to_string())
    }

    #[test]
    fn the_level_is_that_of_the_base() {
        assert_eq!(compose(1, None), Ok(1));
        assert_eq!(compose(1, Some("linear=2, attention=2")), Ok(1));
        let last = numbers().len();
        assert_eq!(compose(9, None).unwrap_err().matches(',').count(), last - 1);
        assert!(compose(2, Some("linear")).is_err());
    }
}
