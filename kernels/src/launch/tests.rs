use std::panic::catch_unwind;

use candle_core::{DType, Device, Tensor};
use simt::Options;
use simt::case::files_below;

use super::*;
use crate::testing::{gpu_if_built, kernels_folder};

/// A module with one entry, whose threads each write `$value` of its number in %r1, so that a launch that
/// ran is visible.
macro_rules! numbers {
    ($name:literal, $value:literal) => {
        Module::new(
            $name,
            &[concat!(
                ".version 7.0
.target sm_75
.address_size 64
.visible .entry numbers(.param .u64 y)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    ",
                $value,
                "
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
"
            )],
        )
    };
}

static MODULE: Module = numbers!("launch_tests", "mov.u32 %r2, %r1;");
static TWICE: Module = numbers!("launch_tests", "add.u32 %r2, %r1, %r1;");

/// Alternates between simulator and GPU: one must not use functions loaded for the other.
#[test]
fn two_modules_may_share_their_name_and_their_entries() -> Result<()> {
    let run = |device: &Device| {
        for (module, times) in [(&MODULE, 1), (&TWICE, 2), (&MODULE, 1), (&TWICE, 2)] {
            let y = Tensor::zeros(32, DType::U32, device)?;
            Launch::new(module, "numbers")
                .block(32, 1, 1)
                .write(&y)
                .launch()?;
            let expected: Vec<u32> = (0..32).map(|i| times * i).collect();
            assert_eq!(y.to_vec1::<u32>()?, expected, "{times} times");
        }
        Ok(())
    };
    simulated(Options::default(), || run(&Device::Cpu)).0?;
    gpu_if_built().map_or(Ok(()), |device| run(&device))
}

fn launch() -> Launch<'static> {
    Launch::new(&MODULE, "numbers")
}

#[test]
fn a_launch_within_the_limits_runs() -> Result<()> {
    let y = Tensor::zeros(32, DType::U32, &Device::Cpu)?;
    let (ran, cases) = recorded(Options::default(), || launch().write(&y).launch());
    ran?;
    assert_eq!(y.to_vec1::<u32>()?, (0..32).collect::<Vec<_>>());
    assert_eq!(cases.len(), 1);
    Ok(())
}

#[test]
fn a_grid_beyond_the_limits_is_an_error() -> Result<()> {
    let y = Tensor::zeros(32, DType::U32, &Device::Cpu)?;
    for (grid, found) in [
        ([1 << 31, 1, 1], "2147483648 × 1 × 1"),
        ([1, 65536, 1], "1 × 65536 × 1"),
        ([1, 1, 65536], "1 × 1 × 65536"),
        ([1 << 32, 1, 1], "4294967295 × 1 × 1"),
        ([1, 1 << 32, 1], "1 × 4294967295 × 1"),
        ([1, 1, (1 << 32) + 1], "1 × 1 × 4294967295"),
    ] {
        let [a, b, c] = grid;
        let run = || launch().grid(a, b, c).write(&y).launch();
        let error = simulated(Options::default(), run).0.unwrap_err();
        let expected =
            format!("numbers: expected at most 2³¹−1 × 65535 × 65535 blocks, found {found}");
        assert_eq!(error.to_string(), expected);
    }
    Ok(())
}

#[test]
fn the_largest_grids_are_valid() -> Result<()> {
    let most = i32::MAX as usize;
    for [x, y, z] in [[most, 1, 1], [1, 65535, 1], [1, 1, 65535]] {
        launch().grid(x, y, z).check()?;
    }
    Ok(())
}

#[test]
fn sizes_beyond_32_bits_are_errors() {
    let large = 1 << 32;
    for launch in [
        launch().block(large, 1, 1),
        launch().block(1, large, 1),
        launch().block(1, 1, large + 1),
        launch().smem(large),
        launch().u32(large),
    ] {
        let error = simulated(Options::default(), || launch.launch())
            .0
            .unwrap_err();
        let expected = "numbers: expected sizes below 2³²−1, found a larger one";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_grid_without_blocks_launches_nothing() -> Result<()> {
    let y = Tensor::zeros(32, DType::U32, &Device::Cpu)?;
    let run = || launch().grid(1, 0, 1).write(&y).launch();
    let (ran, cases) = recorded(Options::default(), run);
    ran?;
    assert!(cases.is_empty());
    Ok(())
}

#[test]
fn a_panic_ends_a_simulation() -> Result<()> {
    let y = Tensor::zeros(32, DType::U32, &Device::Cpu)?;
    let run = || launch().write(&y).launch();
    let (ran, cases) = recorded(Options::default(), || {
        run()?;
        let panics = || recorded(Options::default(), || panic!("of the test"));
        assert!(catch_unwind(panics).is_err());
        run()
    });
    ran?;
    assert_eq!(cases.len(), 2, "those around it");
    assert!(catch_unwind(|| simulated(Options::default(), || panic!("of the test"))).is_err());
    assert!(!is_simulated());
    Ok(())
}

#[test]
fn only_architecture_specific_targets_reject_newer_gpus() {
    static HOPPER: Module = Module::new("m", &[".version 8.0\n.target sm_90a\n"]);
    static AMPERE: Module = Module::new("m", &[".target sm_80"]);
    for (module, runs_on, not_on, expected, level) in [
        (
            &HOPPER,
            &[(9, 0)][..],
            &[(8, 9), (10, 0), (12, 0)][..],
            "a GPU of compute capability 9.0 and no other",
            4,
        ),
        (
            &AMPERE,
            &[(8, 0), (8, 6), (9, 0), (12, 0)],
            &[(7, 5)],
            "a GPU of compute capability 8.0 or more",
            3,
        ),
    ] {
        for &found in runs_on {
            assert!(module.text_for(found).is_ok(), "{found:?}");
        }
        for &(major, minor) in not_on {
            let error = module.text_for((major, minor)).unwrap_err();
            let line = format!("m: expected {expected}, found {major}.{minor}; level {level} can");
            assert_eq!(error.to_string(), line);
        }
    }
}

#[test]
fn a_gpu_runs_the_highest_target_it_supports() -> Result<()> {
    static MODULE: Module = Module::new("m", &[".target sm_75", ".target sm_80", ".target sm_90a"]);
    for (found, text) in [
        ((7, 5), ".target sm_75"),
        ((8, 0), ".target sm_80"),
        ((8, 9), ".target sm_80"),
        ((9, 0), ".target sm_90a"),
        ((10, 0), ".target sm_80"),
    ] {
        assert_eq!(MODULE.text_for(found)?, text, "{found:?}");
    }
    assert!(MODULE.text_for((7, 0)).is_err());
    assert_eq!(MODULE.simulated_text(), ".target sm_80");
    Ok(())
}

/// These choose between the GPU and a CPU, too: the registries of level 5 and the code that runs their entries, weights
/// that are packed for the device, a position in the device's memory, and a kernel that leaves the CPU to another launch.
const DISPATCHERS: [&str; 7] = [
    "attention/level5/position.rs",
    "linear/level4/packed.rs",
    "linear/level5/norm_gemv.rs",
    "linear/level5/registry.rs",
    "linear/level5/run.rs",
    "matmul/level5/call.rs",
    "matmul/level5/registry.rs",
];

/// `mod.rs` sends a call to the launch or to the CPU's loops, so a launch file needs neither of these names.
/// `crate::cpu` is another module: helpers that any code may use.
#[test]
fn a_launch_file_does_not_branch_to_the_cpu() {
    let src = &kernels_folder().join("src");
    let (mut launch_files, mut dispatchers) = (0, vec![]);
    for path in files_below(src, &["rs"]).expect("the sources") {
        let own = path.strip_prefix(src).expect("below src");
        let parts: Vec<_> = own.iter().map(|part| part.to_string_lossy()).collect();
        let is_launch = parts[1..].iter().any(|part| part.starts_with("level"));
        let is_other = |part| ["cpu", "tests", "mod.rs"].contains(&part);
        if !is_launch || parts.iter().any(|part| is_other(&**part)) {
            continue;
        }
        launch_files += 1;
        let text = std::fs::read_to_string(&path).expect("a source");
        let text = text.replace("crate::cpu::", "");
        if ["on_cpu", "cpu::"].iter().any(|name| text.contains(name)) {
            dispatchers.push(parts.join("/"));
        }
    }
    dispatchers.sort();
    assert_eq!(dispatchers, DISPATCHERS);
    assert!(launch_files > 50, "{launch_files} launch files");
}
