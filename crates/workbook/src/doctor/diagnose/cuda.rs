//! Requirements of `--features cuda`: a driver and a matching toolkit.

use levels::minimum;

use super::{Fact, Fault, OWN_PTX, dotted};
use crate::doctor::machine::{Driver, Library, Machine, Nvcc, Version};

/// Commands that install the project's toolkit.
const OWN_TOOLKIT: &str = "scripts/cuda-toolkit.sh && eval \"$(scripts/cuda-toolkit.sh --env)\"";
const OWN_TOOLKITS_CUDA: Version = (13, 0);

/// Describes how to get a toolkit; the script is for Linux.
fn a_toolkit(machine: &Machine) -> &'static str {
    match machine.os {
        "macos" => "nothing to do: CUDA does not exist for macOS; run kernels with --device sim",
        "windows" => {
            "install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), or build under WSL"
        }
        _ => OWN_TOOLKIT,
    }
}

const DRIVER: &str = "install driver 580 or newer (Ubuntu: sudo apt-get install nvidia-driver-580; for others: https://www.nvidia.com/drivers)";

pub fn driver(machine: &Machine) -> Vec<Fact> {
    let fact = match &machine.driver {
        Driver::Missing if machine.card => (
            Fault::NoDriver,
            "an NVIDIA GPU, but no libcuda.so.1 on the loader's path".into(),
            format!("{DRIVER}; start a container with --gpus all"),
        ),
        Driver::Missing => (
            Fault::NoGpu,
            "no NVIDIA GPU and no driver".into(),
            match machine.os {
                "linux" => "none needed: run kernels here with --device sim; `scripts/gpu-bundle.sh` packs the programs for a machine with a GPU",
                _ => "none needed: run kernels here with --device sim",
            }
            .into(),
        ),
        Driver::Refuses(code) => refusal(*code),
        Driver::Works { gpus, .. } if gpus.is_empty() => refusal(NO_DEVICE),
        Driver::Works { .. } => return vec![],
    };
    let (fault, found, fix) = fact;
    vec![(fault, true, found, fix)]
}

/// CUDA_ERROR_NO_DEVICE.
const NO_DEVICE: i32 = 100;

/// Explains an error code of `cuInit` from `cuda.h`.
fn refusal(code: i32) -> (Fault, String, String) {
    let (found, fix) = match code {
        NO_DEVICE => (
            "the driver sees no GPU",
            "unset CUDA_VISIBLE_DEVICES; start a container with --gpus all",
        ),
        // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        803 => (
            "libcuda and the kernel's driver module have different versions",
            "reboot to load the module of the installed driver",
        ),
        // CUDA_ERROR_UNKNOWN, which the linker's stub returns, too.
        999 => (
            "libcuda returns error 999: it is the linker's stub, or the driver's device files are missing",
            "remove lib/stubs from LD_LIBRARY_PATH (it belongs in LIBRARY_PATH); if that does not help, run nvidia-smi, which prints the cause",
        ),
        _ => ("", "run nvidia-smi, which prints the cause"),
    };
    let found = match found {
        "" => format!("the driver does not start: cuInit returns error {code}"),
        found => found.to_string(),
    };
    (Fault::DriverRefuses, found, fix.into())
}

/// Compares the driver with the toolkit and with the PTX.
pub fn versions(machine: &Machine) -> Vec<Fact> {
    let Some(driver) = machine.driver.cuda() else {
        return vec![];
    };
    let mut facts = vec![];
    let toolkit = machine.nvcc.cuda();
    if let Some(cuda) = toolkit.filter(|cuda| cuda.0 > driver.0) {
        let found = format!(
            "the driver supports CUDA {}, but the toolkit is CUDA {}",
            dotted(driver),
            dotted(cuda)
        );
        facts.push((
            Fault::DriverOlderThanToolkit,
            true,
            found,
            either(cuda, driver),
        ));
    }
    let newer = |what: String, needs: Version| {
        let reads = match ptx_of(driver) {
            Some(ptx) => format!("PTX up to {}", dotted(ptx)),
            None => format!("PTX of CUDA {}", dotted(driver)),
        };
        let found = format!("{what}, but the driver compiles only {reads}");
        (
            Fault::PtxNewerThanDriver,
            true,
            found,
            either(needs, driver),
        )
    };
    // Candle's kernels are PTX of the toolkit that built them.
    if let Some(cuda) = toolkit.filter(|cuda| *cuda > driver && ptx_of(*cuda) != ptx_of(driver)) {
        let what = match ptx_of(cuda) {
            Some(ptx) => format!("nvcc generates PTX {}", dotted(ptx)),
            None => format!("nvcc generates PTX of CUDA {}", dotted(cuda)),
        };
        facts.push(newer(what, cuda));
    } else if ptx_of(driver).is_some_and(|reads| reads < OWN_PTX) {
        let what = format!("the kernels of this project are PTX {}", dotted(OWN_PTX));
        facts.push(newer(what, OWN_TOOLKITS_CUDA));
    }
    facts
}

/// Suggests a newer driver or an older toolkit, for a toolkit of CUDA `needs` and a driver for CUDA `has`.
fn either(needs: Version, has: Version) -> String {
    let driver = if needs <= OWN_TOOLKITS_CUDA {
        DRIVER.to_string()
    } else {
        format!(
            "install a driver for CUDA {} or newer (nvidia-smi shows the version)",
            dotted(needs)
        )
    };
    format!(
        "build with a toolkit of CUDA {} or older, or {driver}",
        dotted(has)
    )
}

/// Returns the newest PTX version of a CUDA release (PTX ISA, "Release Notes"); `None` for releases newer
/// than this list.
pub fn ptx_of((major, minor): Version) -> Option<Version> {
    Some(match (major, minor) {
        (10, 0..=2) => (6, 3 + minor),
        (11, 0..=8) => (7, minor),
        (12, 0..=5) => (8, minor),
        (12, 6) => (8, 5),
        (12, 7..=9) => (8, minor - 1),
        (13, 0..=4) => (9, minor),
        (..10, _) => (6, 2),
        _ => return None,
    })
}

pub fn capabilities(machine: &Machine) -> Vec<Fact> {
    let mut facts = vec![];
    for gpu in machine.driver.gpus() {
        let short = short_of(gpu.capability);
        if !short.is_empty() {
            let found = format!(
                "{}, compute capability {}, cannot run {}",
                gpu.name,
                dotted(gpu.capability),
                short.join(", ")
            );
            let fix = "compare the levels that it can run (chosen automatically), and run the others with --device sim";
            facts.push((Fault::LowCapability, false, found, fix.into()));
        }
    }
    facts.extend(of_build(machine));
    let builds = matches!(machine.nvcc, Nvcc::Found { .. });
    if builds && machine.compute_cap.is_none() && !machine.nvidia_smi {
        let gpu = machine.driver.gpus().first().map(|gpu| gpu.capability);
        let (major, minor) = gpu.unwrap_or((9, 0));
        let found = "CUDA_COMPUTE_CAP is not set and there is no nvidia-smi, so candle's build does not know which GPU to compile for";
        let fix = format!("export CUDA_COMPUTE_CAP={major}{minor}");
        let fix = match gpu {
            Some(_) => fix,
            None => format!("{fix} # for an H100 or H200; other GPUs: 75, 80, 86, 89, 120"),
        };
        facts.push((Fault::NoCapability, true, found.into(), fix));
    }
    facts
}

/// Returns the compute capability for candle's kernels, as its build parses `CUDA_COMPUTE_CAP`: `90`,
/// `sm_90`, `90a` and `9`, but not `9.0`.
pub fn asked(text: &str) -> Option<Version> {
    let text = text.trim().to_lowercase();
    let text = text.strip_prefix("sm_").unwrap_or(&text);
    let number = text.strip_suffix(['a', 'f']).unwrap_or(text);
    let number: u32 = number.parse().ok()?;
    Some(if number < 20 {
        (number, 0)
    } else {
        (number / 10, number % 10)
    })
}

/// Minimum compute capability of CUDA 13.
const OLDEST_OF_13: Version = (7, 5);

/// Compares `CUDA_COMPUTE_CAP` with the capabilities that candle's build parses, the toolkit compiles and the GPU runs.
fn of_build(machine: &Machine) -> Option<Fact> {
    let text = machine.compute_cap.as_deref()?;
    let gpu = machine.driver.gpus().first();
    let (major, minor) = gpu.map_or((9, 0), |gpu| gpu.capability);
    let found = match (asked(text), gpu) {
        (None, _) => format!("candle's build cannot read CUDA_COMPUTE_CAP={text:?}"),
        (Some(asked), _)
            if asked < OLDEST_OF_13 && machine.nvcc.cuda().is_some_and(|cuda| cuda.0 >= 13) =>
        {
            let oldest = dotted(OLDEST_OF_13);
            format!("CUDA_COMPUTE_CAP={text}, but CUDA 13 compiles only for {oldest} and newer")
        }
        (Some(asked), Some(gpu)) if asked > gpu.capability => {
            let has = dotted(gpu.capability);
            format!("CUDA_COMPUTE_CAP={text}, but {} has only {has}", gpu.name)
        }
        // From 90 on candle's build compiles for `sm_90a` and the like, which other GPUs cannot run.
        (Some(asked), Some(gpu)) if asked >= (9, 0) && asked.0 != gpu.capability.0 => {
            let has = dotted(gpu.capability);
            format!(
                "CUDA_COMPUTE_CAP={text}, which runs only on that generation, but {} has {has}",
                gpu.name
            )
        }
        _ => return None,
    };
    let fix = if (major, minor) < OLDEST_OF_13 {
        "build with a toolkit of CUDA 12".to_string()
    } else {
        format!("export CUDA_COMPUTE_CAP={major}{minor}, and rebuild")
    };
    Some((Fault::CapabilityOfBuild, true, found, fix))
}

/// Lists what a GPU is too old for: `level 4 in bf16`.
pub fn short_of(capability: Version) -> Vec<String> {
    use candle_core::DType::{BF16, F32};
    let lacks = |level: u8, dtype| minimum(level, dtype).is_some_and(|needed| needed > capability);
    let name =
        |(level, dtype): (u8, candle_core::DType)| format!("level {level} in {}", dtype.as_str());
    let all = levels::numbers()
        .into_iter()
        .flat_map(|level| [(level, F32), (level, BF16)]);
    all.filter(|(level, dtype)| lacks(*level, *dtype))
        .map(name)
        .collect()
}

pub fn nvcc(machine: &Machine) -> Vec<Fact> {
    match &machine.nvcc {
        Nvcc::Missing => {
            let found = "no nvcc on the PATH, in CUDA_HOME or in /usr/local/cuda".into();
            vec![(Fault::NoNvcc, true, found, a_toolkit(machine).into())]
        }
        Nvcc::Aside(path) => {
            let found = format!(
                "nvcc is in a folder that builds do not search: {}",
                path.display()
            );
            let fix = "eval \"$(scripts/cuda-toolkit.sh --env)\"".into();
            vec![(Fault::NvccAside, true, found, fix)]
        }
        Nvcc::Found { .. } => vec![],
    }
}

pub fn libraries(machine: &Machine) -> Vec<Fact> {
    let missing: Vec<&Library> = machine
        .libraries
        .iter()
        .filter(|library| !library.loads)
        .collect();
    let Some(first) = missing.first() else {
        return vec![];
    };
    let names: Vec<&str> = missing.iter().map(|library| library.name).collect();
    let fix = match &first.aside {
        Some(folder) if machine.os == "windows" => format!("add {} to PATH", folder.display()),
        Some(folder) => on_path(&folder.display().to_string()),
        None if machine.os == "linux" => {
            format!("{OWN_TOOLKIT} && {}", on_path("$CUDA_HOME/lib"))
        }
        None => a_toolkit(machine).into(),
    };
    let found = format!("not on the library path: {}", names.join(", "));
    vec![(Fault::NoLibrary, true, found, fix)]
}

/// An empty entry would mean the current folder.
fn on_path(folder: &str) -> String {
    format!("export LD_LIBRARY_PATH=\"{folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"")
}
