//! Which levels a GPU can run.

use candle_core::{DType, Device};
use data::BadInput;

use crate::{Level, all, numbers, one_of};

/// Major and minor number, 7.5 for Turing.
type Capability = (u32, u32);

/// The compute capability that a level needs for a dtype; `None` for candle's own kernels, which
/// are compiled for the GPU of the build.
pub fn minimum(level: u8, dtype: DType) -> Option<Capability> {
    match (level, dtype) {
        (0..=2, _) => None,
        (3, _) | (_, DType::F32) => Some((7, 5)), // `.target sm_75`
        _ => Some((8, 0)),                        // `mma.sync` in bf16
    }
}

/// Looks at a GPU before any work is done, or at what would be simulated.
///
/// # Errors
/// [`BadInput`] when `device` is a GPU that is too old for one of `levels`, or when kernels are simulated and
/// one of `levels` has none in PTX; it says which levels run there.
pub fn check(levels: &[u8], dtype: DType, device: &Device) -> Result<(), BadInput> {
    if kernels::launch::is_simulated() {
        return simulable(levels, dtype);
    }
    match capability(device) {
        Some(found) => fits(levels, dtype, found),
        None => Ok(()),
    }
}

/// The levels that `device` can run, all of them on a CPU: what is compared there.
pub fn able(dtype: DType, device: &Device) -> Vec<Level> {
    let runs = |level: &Level| check(&[level.level()], dtype, device).is_ok();
    all().into_iter().filter(runs).collect()
}

/// The simulator runs PTX: candle's kernels are in none.
fn simulable(levels: &[u8], dtype: DType) -> Result<(), BadInput> {
    // A learner's level, 0, is a mixture: its kernels in PTX are simulated, and candle computes the rest.
    let has_ptx = |level: &u8| *level == 0 || minimum(*level, dtype).is_some();
    let Some(level) = levels.iter().find(|level| !has_ptx(level)) else {
        return Ok(());
    };
    let able: Vec<u8> = numbers().into_iter().filter(has_ptx).collect();
    let expected = format!("levels {}, whose kernels are PTX", one_of(&able, "and"));
    Err(BadInput::new(
        "--device sim",
        expected,
        format!("level {level}"),
    ))
}

fn fits(levels: &[u8], dtype: DType, found: Capability) -> Result<(), BadInput> {
    let runs = |level: &u8| minimum(*level, dtype).is_none_or(|needed| needed <= found);
    let Some(&level) = levels.iter().find(|level| !runs(level)) else {
        return Ok(());
    };
    let able: Vec<u8> = numbers().into_iter().filter(runs).collect();
    let able = one_of(&able, "and");
    let (major, minor) = minimum(level, dtype).unwrap_or_default();
    Err(BadInput::new(
        format!("level {level} in {}", dtype.as_str()),
        format!("a GPU of compute capability {major}.{minor} or newer"),
        format!("{}.{}, which can run levels {able}", found.0, found.1),
    ))
}

#[cfg(feature = "cuda")]
fn capability(device: &Device) -> Option<Capability> {
    let context = device
        .as_cuda_device()
        .ok()?
        .cuda_stream()
        .context()
        .clone();
    let (major, minor) = context.compute_capability().ok()?;
    Some((major as u32, minor as u32))
}

#[cfg(not(feature = "cuda"))]
fn capability(_: &Device) -> Option<Capability> {
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use kernels::launch::Target;

    use super::*;
    use DType::{BF16, F32};

    #[test]
    fn a_gpu_runs_what_it_is_new_enough_for() {
        for (levels, dtype, found) in [
            (&[1, 2][..], BF16, (5, 2)),
            (&[3], F32, (7, 5)),
            (&[3], BF16, (7, 5)),
            (&[4], F32, (7, 5)),
            (&[4], BF16, (8, 0)),
            (&[1, 2, 3, 4], BF16, (9, 0)),
            (&[3, 4], BF16, (12, 0)),
        ] {
            assert_eq!(fits(levels, dtype, found), Ok(()), "{levels:?} {found:?}");
        }
    }

    #[test]
    fn an_older_gpu_is_told_what_it_can_run() {
        for (levels, dtype, found, level, needed) in [
            (&[3][..], F32, (7, 0), 3, "7.5"),
            (&[4], F32, (7, 2), 4, "7.5"),
            (&[2, 4], F32, (6, 1), 4, "7.5"),
            (&[4], BF16, (7, 5), 4, "8.0"),
            (&[1, 3, 4], BF16, (7, 0), 3, "7.5"),
            (&[1, 3, 4], BF16, (7, 5), 4, "8.0"),
        ] {
            let able: Vec<u8> = numbers()
                .into_iter()
                .filter(|&n| n < if found >= (7, 5) { 4 } else { 3 })
                .collect();
            let expected = format!(
                "level {level} in {}: expected a GPU of compute capability {needed} or newer, \
                 found {}.{}, which can run levels {}",
                dtype.as_str(),
                found.0,
                found.1,
                one_of(&able, "and")
            );
            let line = fits(levels, dtype, found).map_err(|bad| bad.to_string());
            assert_eq!(line, Err(expected));
        }
    }

    #[test]
    fn a_cpu_runs_every_level() {
        assert_eq!(check(&numbers(), BF16, &Device::Cpu), Ok(()));
        assert_eq!(able(BF16, &Device::Cpu).len(), numbers().len());
    }

    #[test]
    fn only_levels_with_ptx_are_simulated() {
        let check = |levels: &[u8]| {
            let checked = || check(levels, F32, &Device::Cpu);
            kernels::launch::simulated(Default::default(), checked).0
        };
        assert_eq!(check(&[3, 4]), Ok(()));
        let refused = check(&[2, 4]).map_err(|bad| bad.to_string());
        let able: Vec<u8> = numbers().into_iter().filter(|&n| n > 2).collect();
        let expected = format!(
            "--device sim: expected levels {}, whose kernels are PTX, found level 2",
            one_of(&able, "and")
        );
        assert_eq!(refused, Err(expected));
    }

    /// For a kernel file that is compiled for several targets the lowest counts. Those that need more than a level's minimum,
    /// such as level 5's for 9.0, are chosen by the GPU's capability. Worklogs and examples belong to no level.
    #[test]
    fn the_kernels_ask_for_no_more_than_the_minimum() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels"));
        let mut lowest: BTreeMap<PathBuf, (u8, (u32, u32))> = BTreeMap::new();
        for path in simt::case::files_below(root, &["ptx"]).unwrap() {
            let stem = path.strip_prefix(root).unwrap().to_string_lossy();
            if stem.contains("worklogs") || stem.starts_with("examples") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // `rms_norm_f32_level4_fallback` is in `rms_norm/fallback.sm_75.ptx`, whose path has no level.
            let (_, entry) = text.split_once(".entry ").unwrap();
            let (_, level) = entry.split_once("_level").unwrap();
            let level: u8 = level[..1].parse().unwrap();
            let target = Target::of(&text).unwrap();
            if !target.alone && target.capability < (9, 0) {
                let file = PathBuf::from(stem.split(".sm_").next().unwrap());
                let known = lowest.entry(file).or_insert((level, target.capability));
                known.1 = known.1.min(target.capability);
            }
        }
        assert!(lowest.len() > 40, "{}", lowest.len());
        for (file, (level, asked)) in lowest {
            let dtype = if asked > (7, 5) { BF16 } else { F32 };
            assert!(Some(asked) <= minimum(level, dtype), "{}", file.display());
        }
    }
}
