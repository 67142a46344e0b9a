//! `pixel_values` → `logits`.

use std::path::Path;

use models::{Ops, Scores, VisionTransformer};
use replay::Pass;

use crate::files::Output;
use crate::load::Request;
use crate::tensors::{Input, Named, named, write};
use crate::trace::warm_up;

/// pixel_values (B, 3, S, S) → logits (B, labels).
pub fn run(
    trace: bool,
    (ops, scores): (&dyn Ops, Scores),
    mut pass: Pass,
    model: &VisionTransformer,
    request: &Request,
    input: &Path,
    output: &Output,
) -> anyhow::Result<()> {
    const NAME: &str = "pixel_values";
    let path = input.display().to_string();
    let input = Input::read(input, &[NAME])?;
    let side = Some(model.config().image_size);
    let pixels = input.floats(NAME, &[None, Some(3), side, side])?;
    if pixels.elem_count() == 0 {
        let found = format!("shape {:?}", pixels.dims());
        return Err(input.complain(NAME, "at least one image", found).into());
    }
    model.config().check_pass(&path, pixels.dim(0)?, scores)?;
    let pixels = pixels.to_dtype(request.dtype)?.to_device(&request.device)?;
    warm_up(trace, || Ok(model.forward(ops, &pixels)?))?;
    let logits = pass.run(&request.device, &[&pixels], |x| model.forward(ops, &x[0]))?;
    let logits = Named::floats("logits", &logits);
    write(output, &[logits.map_err(|error| named(path, error))?])
}
