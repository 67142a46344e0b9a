//! Weights as a kernel reads them, made once per model.

use std::any::Any;
use std::sync::OnceLock;

use candle_core::Result;

use crate::cuda_graph::is_recording;

/// Makes a weight once for the model that keeps `place`: at first use, but not while launches are being recorded, because a
/// replay would make it again. `None` then, and if the kernel cannot compute with the model's weights.
///
/// # Errors
/// Those of `make`, which the next call repeats.
pub fn prepared<T: Any + Send + Sync>(
    place: &OnceLock<Box<dyn Any + Send + Sync>>,
    make: impl FnOnce() -> Result<Option<T>>,
) -> Result<Option<&T>> {
    let made = match place.get() {
        Some(made) => made,
        None if is_recording() => return Ok(None),
        None => {
            let made = make()?;
            place.get_or_init(|| Box::new(made))
        }
    };
    Ok(made.downcast_ref::<Option<T>>().and_then(Option::as_ref))
}
