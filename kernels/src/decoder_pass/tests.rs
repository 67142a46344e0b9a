//! The pass against an oracle in f64 at positions around the ends of its loops, and what it refuses.

mod case;
mod operands;

use candle_core::{DType, Device, Result, Tensor};

use super::level5::{Launches, MLP_CLUSTERS, SIZES};
use crate::dispatch::{Facts, Feature};
use crate::launch::{is_simulated, noted, on_cpu};
use crate::output::poisoned;
use crate::testing::{devices, first_if_sanitized, host, relative_error, rng, skip};
use case::{CAPACITY, Case, VOCAB, affine, f64};

/// Before, at and after the end of a pass over 256 keys, and the first and the last.
const POSITIONS: [usize; 7] = [257, 0, 1, 255, 256, 511, CAPACITY - 1];

/// Checks a step: its result, what it appends, its launches, and that it gives the same bits again.
fn check(what: &str, case: &mut Case) -> Result<()> {
    let (exact, appended) = case.oracle()?;
    let exact = exact.to_vec1::<f64>()?;
    let (y, launches) = noted(|| case.run());
    let y = y?;
    let size = case.size;
    assert_eq!(
        (y.dims(), y.dtype()),
        (&[1, 1, size.hidden][..], size.dtype)
    );
    let y = host(&y)?;
    // bf16 rounds y, and the new key after other sums than the oracle's. f32 has sums of 512 to 1536 products.
    let (most_of_y, most_of_new) = match case.size.dtype {
        DType::F32 => (1e-5, 1e-5),
        _ => (0.003, 0.004),
    };
    let off = relative_error(&y, exact);
    assert!(off < most_of_y, "{what}: {off}");
    for (layer, new) in appended.iter().enumerate() {
        for (is_value, new) in [false, true].into_iter().zip(new) {
            let all = case.cached(layer, is_value, case.position + 1)?;
            let last = all.narrow(1, case.position, 1)?;
            let new = new.flatten_all()?.to_vec1::<f64>()?;
            let off = relative_error(&last.flatten_all()?.to_vec1::<f64>()?, new);
            assert!(
                off < most_of_new,
                "{what}, layer {layer}, value {is_value}: {off}"
            );
        }
    }
    let names = launches.iter().map(|launch| &*launch.kernel);
    let names: Vec<_> = names.filter(|name| name.starts_with("decoder")).collect();
    let block = [case.size.attend, case.size.mlp];
    let blocks = block.repeat(case.layers.len()).into_iter();
    let expected: Vec<_> = blocks.chain([case.size.end]).collect();
    assert_eq!(names, expected, "{what}");
    assert_eq!(host(&case.run()?)?, y, "{what}: the same bits again");
    Ok(())
}

/// Whether a device has the kernels; another is skipped by name.
fn has_kernels(device: &Device) -> bool {
    if on_cpu(device) {
        return false;
    }
    let facts = Facts::of(device).unwrap();
    let is_hopper = facts.has(Feature::Wgmma);
    if !is_hopper {
        let why = format!("needs a Hopper, found {}", facts.name);
        skip("the decoder pass", &why);
    }
    is_hopper
}

/// A launch reads x and the partial sums of the one before it, and adds its own. Each is tested alone, on random sums.
#[test]
fn each_launch_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(has_kernels) {
        for size in &SIZES {
            let what = |launch: &str| format!("{launch} of {size:?} on {device:?}");
            let mut case = Case::random(&mut rng, size, (1, 3), &device)?;
            let mut random = |rows: usize| {
                affine(
                    &mut rng,
                    &[rows, size.hidden],
                    (0., 1.),
                    DType::F32,
                    &device,
                )
            };
            let (x, parts) = (random(1)?, random(MLP_CLUSTERS)?);
            let sum = |x: &Tensor, parts: &Tensor, of: usize| {
                f64(x)?.reshape((1, size.hidden))? + f64(parts)?.narrow(0, 0, of)?.sum_keepdim(0)?
            };
            let floats = |x: &Tensor| x.flatten_all()?.to_vec1::<f64>();
            let close = |launch: &str, found: &Tensor, exact: &Tensor| -> Result<()> {
                let off = relative_error(&floats(found)?, floats(exact)?);
                // bf16 rounds what a launch has multiplied, and the last launch its result.
                let most = if size.dtype == DType::F32 {
                    1e-5
                } else {
                    0.004
                };
                assert!(off < most, "{}: {off}", what(launch));
                Ok(())
            };
            let before = |of: usize| sum(&x, &parts, of);
            let embedded = case.attended(0, &case.embedded()?)?.0;
            let attended = case.attended(0, &before(MLP_CLUSTERS)?)?.0;
            let transformed = case.transformed(0, &before(size.heads)?)?;

            case.with(|step, caches| -> Result<()> {
                let block = &step.blocks[0];
                // The first block reads the embedding, the others read sums.
                for (vocab, exact) in [(VOCAB, &embedded), (0, &attended)] {
                    let mut launches = poisoned(|| Launches::new(step.id, step.table, size))?;
                    launches.vocab = vocab;
                    if vocab == 0 {
                        (launches.now.x, launches.now.parts) = (x.clone(), parts.clone());
                    }
                    let cache = caches[0]
                        .at(step.position)?
                        .expect("a cache that is not on the CPU");
                    launches.attend(block, [step.cos, step.sin], &cache)?;
                    let found = sum(&launches.now.x, &launches.now.parts, size.heads)?;
                    close(size.attend, &found, exact)?;
                }
                let mut launches = poisoned(|| Launches::new(step.id, step.table, size))?;
                (launches.now.x, launches.now.parts) = (x.clone(), parts.clone());
                launches.mlp(block)?;
                let found = sum(&launches.now.x, &launches.now.parts, MLP_CLUSTERS)?;
                close(size.mlp, &found, &transformed)?;

                let mut launches = poisoned(|| Launches::new(step.id, step.table, size))?;
                (launches.now.x, launches.now.parts) = (x.clone(), parts.clone());
                close(size.end, &f64(&launches.end()?)?, &before(MLP_CLUSTERS)?)
            })?;
        }
    }
    Ok(())
}

#[test]
fn a_decoder_pass_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(has_kernels) {
        for size in &SIZES {
            // A simulated position takes seconds.
            let (positions, blocks) = if is_simulated() {
                (&POSITIONS[..2], 1)
            } else {
                (first_if_sanitized(&POSITIONS), 3)
            };
            for &position in positions {
                let what = format!("{} at {position}, {device:?}", size.attend);
                let mut case = Case::random(&mut rng, size, (blocks, position), &device)?;
                check(&what, &mut case)?;
            }
        }
    }
    Ok(())
}
