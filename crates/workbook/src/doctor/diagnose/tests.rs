//! Each fault on a machine that has no other fault.

use std::collections::HashSet;
use std::path::Path;

use super::super::machine::{Cpu, Driver, Gpu, Library, Nvcc, Version};
use super::super::text::report;
use super::cuda::{asked, ptx_of, short_of};
use super::*;

/// A machine without problems.
fn sound() -> Machine {
    Machine {
        os: "linux",
        cuda_build: false,
        cpu: Cpu {
            name: "a CPU".into(),
            threads: 8,
            asked: None,
            simd: Some(Simd::Avx512),
        },
        card: true,
        driver: gpu((13, 0), (9, 0)),
        compute_cap: Some("90".into()),
        nvidia_smi: true,
        nvcc: found((13, 0)),
        libraries: vec![Library {
            name: "libcublas",
            loads: true,
            aside: None,
        }],
        nvrtc: Nvrtc::Works,
    }
}

fn gpu(cuda: Version, capability: Version) -> Driver {
    let name = "a GPU".into();
    Driver::Works {
        cuda,
        gpus: vec![Gpu { name, capability }],
    }
}

fn found(cuda: Version) -> Nvcc {
    Nvcc::Found {
        path: "/usr/bin/nvcc".into(),
        cuda: Some(cuda),
    }
}

fn faults(machine: &Machine) -> Vec<Fault> {
    diagnose(machine)
        .iter()
        .map(|finding| finding.fault)
        .collect()
}

/// A change to a machine without problems.
type Change = fn(&mut Machine);

/// A change, the faults it causes, whether it blocks, and a part of the first fix.
#[rustfmt::skip]
const CASES: [(Change, &[Fault], bool, &str); 37] = [
    (|m| m.cpu.simd = Some(Simd::Avx2), &[Fault::NoAvx512], false, "none needed"),
    (|m| m.cpu.simd = Some(Simd::Sse), &[Fault::NoAvx512], false, "none needed"),
    (|m| m.cpu.threads = 1, &[Fault::OneThread], false, "two or more"),
    (|m| m.cpu.asked = Some("1".into()), &[Fault::OneThread], false, "unset RAYON_NUM_THREADS"),
    (|m| m.cpu.asked = Some("0".into()), &[Fault::BadThreads], false, "unset RAYON_NUM_THREADS"),
    (|m| m.cpu.asked = Some("all".into()), &[Fault::BadThreads], false, "unset RAYON_NUM_THREADS"),
    (|m| m.driver = Driver::Missing, &[Fault::NoDriver], true, "sudo apt-get install nvidia-driver-580"),
    (|m| (m.driver, m.card) = (Driver::Missing, false), &[Fault::NoGpu], true, "--device sim"),
    (|m| m.driver = Driver::Refuses(100), &[Fault::DriverRefuses], true, "unset CUDA_VISIBLE_DEVICES"),
    (|m| m.driver = Driver::Refuses(803), &[Fault::DriverRefuses], true, "reboot"),
    (|m| m.driver = Driver::Refuses(999), &[Fault::DriverRefuses], true, "remove lib/stubs from LD_LIBRARY_PATH"),
    (|m| m.driver = Driver::Refuses(3), &[Fault::DriverRefuses], true, "nvidia-smi"),
    (|m| m.driver = gpu((12, 4), (9, 0)), &[Fault::DriverOlderThanToolkit, Fault::PtxNewerThanDriver], true, "driver 580"),
    (|m| (m.driver, m.nvcc) = (gpu((12, 4), (9, 0)), found((12, 8))), &[Fault::PtxNewerThanDriver], true, "CUDA 12.4"),
    (|m| m.nvcc = found((13, 2)), &[Fault::PtxNewerThanDriver], true, "a toolkit of CUDA 13.0 or older, or install a driver for CUDA 13.2"),
    (|m| m.nvcc = found((13, 5)), &[Fault::PtxNewerThanDriver], true, "a toolkit of CUDA 13.0 or older, or install a driver for CUDA 13.5"),
    (|m| m.nvcc = found((14, 0)), &[Fault::DriverOlderThanToolkit, Fault::PtxNewerThanDriver], true, "a driver for CUDA 14.0"),
    (|m| (m.driver, m.nvcc) = (gpu((10, 2), (7, 5)), Nvcc::Missing), &[Fault::PtxNewerThanDriver, Fault::LowCapability, Fault::CapabilityOfBuild, Fault::NoNvcc], true, "driver 580"),
    (|m| (m.driver, m.compute_cap) = (gpu((13, 0), (7, 0)), None), &[Fault::LowCapability], false, "--device sim"),
    (|m| (m.driver, m.compute_cap) = (gpu((13, 0), (7, 5)), None), &[Fault::LowCapability], false, "--device sim"),
    (|m| m.driver = gpu((13, 0), (8, 6)), &[Fault::CapabilityOfBuild], true, "export CUDA_COMPUTE_CAP=86"),
    (|m| m.driver = gpu((13, 0), (12, 0)), &[Fault::CapabilityOfBuild], true, "export CUDA_COMPUTE_CAP=120"),
    (|m| m.compute_cap = Some("9.0".into()), &[Fault::CapabilityOfBuild], true, "export CUDA_COMPUTE_CAP=90"),
    (|m| m.compute_cap = Some("60".into()), &[Fault::CapabilityOfBuild], true, "export CUDA_COMPUTE_CAP=90"),
    (|m| (m.driver, m.compute_cap) = (gpu((13, 0), (7, 0)), Some("70".into())), &[Fault::LowCapability, Fault::CapabilityOfBuild], false, "--device sim"),
    (|m| m.compute_cap = Some("sm_120a".into()), &[Fault::CapabilityOfBuild], true, "export CUDA_COMPUTE_CAP=90"),
    (|m| (m.nvidia_smi, m.compute_cap) = (false, None), &[Fault::NoCapability], true, "export CUDA_COMPUTE_CAP=90"),
    (|m| m.nvcc = Nvcc::Missing, &[Fault::NoNvcc], true, "scripts/cuda-toolkit.sh"),
    (|m| m.nvcc = Nvcc::Aside(".cuda/bin/nvcc".into()), &[Fault::NvccAside], true, "eval \"$(scripts/cuda-toolkit.sh --env)\""),
    (|m| (m.libraries[0].loads, m.libraries[0].aside) = (false, Some("/lib64".into())), &[Fault::NoLibrary], true, "export LD_LIBRARY_PATH=\"/lib64$"),
    (|m| m.nvrtc = Nvrtc::Missing("nowhere".into()), &[Fault::NoNvrtc], true, "pip install nvidia-cuda-nvrtc"),
    (|m| (m.os, m.nvcc) = ("macos", Nvcc::Missing), &[Fault::NoNvcc], true, "CUDA does not exist for macOS"),
    (|m| (m.os, m.nvcc) = ("windows", Nvcc::Missing), &[Fault::NoNvcc], true, "https://developer.nvidia.com/cuda-downloads"),
    (|m| (m.os, m.libraries[0].loads, m.libraries[0].aside) = ("windows", false, Some("C:\\CUDA".into())), &[Fault::NoLibrary], true, "add C:\\CUDA to PATH"),
    (|m| (m.os, m.nvrtc) = ("macos", Nvrtc::Missing("nowhere".into())), &[Fault::NoNvrtc], true, "nothing to do"),
    (|m| (m.os, m.nvrtc) = ("windows", Nvrtc::Missing("nowhere".into())), &[Fault::NoNvrtc], true, "set CUDA_HOME to"),
    (|m| m.nvrtc = Nvrtc::NoBuiltins, &[Fault::NoBuiltins], true, "pip install nvidia-cuda-nvrtc"),
];

#[test]
fn each_fault_is_found_alone_with_its_fix() {
    for (i, (change, expected, blocks, fix)) in CASES.iter().enumerate() {
        let mut machine = sound();
        change(&mut machine);
        let findings = diagnose(&machine);
        assert_eq!(faults(&machine), *expected, "case {i}");
        assert_eq!(findings[0].blocks, *blocks, "case {i}");
        assert!(
            findings[0].fix.contains(fix),
            "case {i}: {}",
            findings[0].fix
        );
        for finding in findings {
            assert!(
                !finding.fix.contains('\n') && !finding.found.is_empty(),
                "case {i}"
            );
        }
    }
}

/// A Mac has no CUDA, and no fix there is a command for Linux.
#[test]
fn no_fix_on_a_mac_needs_linux() {
    let mut mac = sound();
    (mac.os, mac.cpu.simd) = ("macos", None);
    (mac.driver, mac.card) = (Driver::Missing, false);
    (mac.nvcc, mac.nvidia_smi, mac.compute_cap) = (Nvcc::Missing, false, None);
    for library in &mut mac.libraries {
        (library.loads, library.aside) = (false, None);
    }
    mac.nvrtc = Nvrtc::Missing("nowhere".into());
    let findings = diagnose(&mac);
    assert_eq!(findings.len(), 4, "{findings:?}");
    for finding in &findings {
        let commands = ["scripts/", "apt", "pip", "LD_LIBRARY_PATH", "export "];
        let has = |command: &&str| finding.fix.contains(*command);
        assert!(!commands.iter().any(has), "{finding:?}");
    }
    let text = report(&mac, &findings, &[]);
    assert!(
        text.ends_with("works here: levels 1–5 on the CPU, simulator; no NVRTC, no GPU\n"),
        "{text}"
    );
}

#[test]
fn a_sound_machine_has_no_findings() {
    assert_eq!(diagnose(&sound()), []);
    let text = report(&sound(), &[], &[]);
    let all = "levels 1–5 on the CPU (AVX-512), simulator, NVRTC, levels 1–5 on the GPU with --features cuda";
    assert!(text.ends_with(&format!("\nworks here: {all}\n")), "{text}");
}

#[test]
fn the_cases_cover_many_faults() {
    let known: HashSet<Fault> = CASES.iter().flat_map(|case| case.1).copied().collect();
    assert_eq!(known.len(), 16, "{known:?}");
}

#[test]
fn avx_is_only_expected_of_x86() {
    let mut machine = sound();
    machine.cpu.simd = None;
    assert_eq!(faults(&machine), []);
}

/// bf16 that needs tensor cores, and everything that needs Turing.
#[test]
fn features_that_a_gpu_is_too_old_for_are_named() {
    let highest = levels::highest();
    assert_eq!(short_of((8, 0)), [""; 0]);
    let turing: Vec<String> = (4..=highest)
        .map(|level| format!("level {level} in bf16"))
        .collect();
    assert_eq!(short_of((7, 5)), turing);
    assert_eq!(short_of((7, 0)).len(), 2 * usize::from(highest - 2));
}

#[test]
fn capabilities_are_read_as_candles_build_does() {
    for (text, read) in [
        ("90", Some((9, 0))),
        ("sm_90", Some((9, 0))),
        ("90a", Some((9, 0))),
        ("120F", Some((12, 0))),
        ("9", Some((9, 0))),
        ("9.0", None),
        ("hopper", None),
    ] {
        assert_eq!(asked(text), read, "{text}");
    }
    let mut machine = sound();
    machine.compute_cap = Some("sm_90a".into());
    assert_eq!(faults(&machine), []);
    // A library of another release with the same PTX version is no problem.
    (machine.driver, machine.nvcc) = (gpu((12, 5), (9, 0)), found((12, 6)));
    assert_eq!(faults(&machine), []);
}

/// PTX ISA, "Release Notes"; 12.6 introduced no version.
#[test]
fn releases_of_cuda_have_their_ptx() {
    let cuda = [
        (9, 2),
        (10, 2),
        (11, 0),
        (11, 8),
        (12, 5),
        (12, 6),
        (12, 9),
        (13, 0),
        (20, 0),
    ];
    let ptx = [
        (6, 2),
        (6, 5),
        (7, 0),
        (7, 8),
        (8, 5),
        (8, 5),
        (8, 8),
        (9, 0),
    ]
    .map(Some);
    assert_eq!(cuda.map(ptx_of)[..8], ptx);
    assert_eq!(ptx_of((20, 0)), None);
}

/// The newest `.version` of the committed PTX, except for Hopper's and newer GPUs', whose drivers are newer.
#[test]
fn the_projects_own_ptx_is_as_old_as_stated() {
    let kernels = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels"));
    let files = simt::case::files_below(kernels, &["ptx"]).unwrap();
    let newest = files
        .iter()
        .filter(|path| !path.to_string_lossy().contains(".sm_90"))
        .filter_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let line = text
                .lines()
                .find_map(|l| l.strip_prefix(".version "))?
                .to_string();
            let (major, minor) = line.trim().split_once('.')?;
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        })
        .max();
    assert_eq!(newest, Some(OWN_PTX));
}

#[test]
fn a_laptop_without_a_gpu_is_told_what_works() {
    let mut machine = sound();
    (machine.driver, machine.card, machine.nvcc) = (Driver::Missing, false, Nvcc::Missing);
    let findings = diagnose(&machine);
    let text = report(&machine, &findings, &[]);
    assert!(
        text.ends_with("\nworks here: levels 1–5 on the CPU (AVX-512), simulator, NVRTC; no GPU\n"),
        "{text}"
    );
    let text = report(&machine, &findings, &[Part::Cuda]);
    let expected = "\nyou asked for --features cuda: see the fixes above\n";
    assert!(text.contains(expected), "{text}");
}

/// The end of the report, before and after a change to the machine.
#[test]
fn the_last_line_says_what_works() {
    let cases: [(Change, &str); 6] = [
        (|m| m.cpu.simd = None, "levels 1–5 on the CPU, simulator"),
        (|m| m.cuda_build = true, "levels 1–5 on the GPU"),
        (
            |m| m.nvrtc = Nvrtc::NoBuiltins,
            "simulator, levels 1–5 on the GPU with --features cuda; no NVRTC",
        ),
        (
            |m| (m.driver, m.compute_cap) = (gpu((13, 0), (7, 0)), None),
            "levels 1–2 on the GPU with --features cuda",
        ),
        (
            |m| m.driver = Driver::Refuses(3),
            "NVRTC; no working GPU driver",
        ),
        (
            |m| m.nvcc = Nvcc::Missing,
            "NVRTC; no build with --features cuda",
        ),
    ];
    for (change, part) in cases {
        let mut machine = sound();
        change(&mut machine);
        let text = report(&machine, &diagnose(&machine), &[]);
        let last = text.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("works here: ") && last.contains(part),
            "{last}"
        );
    }
}
