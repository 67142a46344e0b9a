//! Diagnoses a machine: a pure function, so that each fault has a test.

use super::machine::{Machine, Nvrtc, Simd, Version};

mod cuda;

/// A part of the workbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The levels on a CPU.
    Cpu,
    /// `--features cuda`: building it, and running it.
    Cuda,
    /// `.cu` files in the simulator, and the exercises in CUDA C.
    CudaFiles,
}

/// A problem of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of fault, in one or two words.
    pub fault: Fault,
    /// The affected part.
    pub part: Part,
    /// Whether the part does not work; otherwise it is limited.
    pub blocks: bool,
    /// Facts, with numbers.
    pub found: String,
    /// The fix: a command, or one sentence.
    pub fix: String,
}

/// Known faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A processor without 512-bit registers.
    NoAvx512,
    /// Only one thread, although the machine may have more.
    OneThread,
    /// `RAYON_NUM_THREADS` is not a positive number.
    BadThreads,
    /// No NVIDIA GPU.
    NoGpu,
    /// A GPU without a driver.
    NoDriver,
    /// libcuda cannot be initialised.
    DriverRefuses,
    /// The toolkit's libraries need a newer driver.
    DriverOlderThanToolkit,
    /// The driver does not compile the toolkit's PTX version.
    PtxNewerThanDriver,
    /// The GPU cannot run some of the levels.
    LowCapability,
    /// `CUDA_COMPUTE_CAP` is invalid, not supported by the toolkit, or not that of the GPU.
    CapabilityOfBuild,
    /// The compute capability for candle's kernels is unknown.
    NoCapability,
    /// No nvcc.
    NoNvcc,
    /// nvcc is where no build looks.
    NvccAside,
    /// The loader does not find one of the toolkit's libraries.
    NoLibrary,
    /// No NVRTC.
    NoNvrtc,
    /// NVRTC without its built-in functions.
    NoBuiltins,
    /// NVRTC does not compile.
    NvrtcFails,
}

/// The newest `.version` of the project's PTX.
pub const OWN_PTX: Version = (7, 0);

/// Lists all problems of a machine, the processor's first.
pub fn diagnose(machine: &Machine) -> Vec<Finding> {
    let of = |part: Part| {
        move |(fault, blocks, found, fix): Fact| Finding {
            fault,
            part,
            blocks,
            found,
            fix,
        }
    };
    let cuda = [
        cuda::driver(machine),
        cuda::versions(machine),
        cuda::capabilities(machine),
        cuda::nvcc(machine),
        cuda::libraries(machine),
    ];
    let cpu = cpu(machine).into_iter().map(of(Part::Cpu));
    let cuda = cuda.into_iter().flatten().map(of(Part::Cuda));
    let files = nvrtc(machine).into_iter().map(of(Part::CudaFiles));
    cpu.chain(cuda).chain(files).collect()
}

/// Fault, whether it blocks, facts, and fix.
type Fact = (Fault, bool, String, String);

fn cpu(machine: &Machine) -> Vec<Fact> {
    let cpu = &machine.cpu;
    let mut facts = vec![];
    let width = match cpu.simd {
        None | Some(Simd::Avx512) => None,
        Some(Simd::Avx2) => Some("256-bit AVX2 registers"),
        Some(Simd::Sse) => Some("128-bit SSE registers"),
    };
    if let Some(width) = width {
        let fix = "none needed: all levels run, but levels 4 and 5 are slower than in the recorded tables";
        facts.push((
            Fault::NoAvx512,
            false,
            format!("no AVX-512: matmuls use {width}"),
            fix.into(),
        ));
    }
    let asked = cpu
        .asked
        .as_deref()
        .map(|text| (text, text.trim().parse::<usize>()));
    match asked {
        Some((text, Err(_) | Ok(0))) => facts.push((
            Fault::BadThreads,
            false,
            format!("RAYON_NUM_THREADS={text:?} is not a number of threads"),
            "unset RAYON_NUM_THREADS".into(),
        )),
        Some((_, Ok(1))) if cpu.threads > 1 => facts.push((
            Fault::OneThread,
            false,
            format!("RAYON_NUM_THREADS=1 on a CPU with {} threads", cpu.threads),
            "unset RAYON_NUM_THREADS".into(),
        )),
        _ if cpu.threads == 1 => facts.push((
            Fault::OneThread,
            false,
            "a CPU with one thread".into(),
            "none needed, but nothing runs in parallel; in a virtual machine, allow two or more threads".into(),
        )),
        _ => {}
    }
    facts
}

fn nvrtc(machine: &Machine) -> Vec<Fact> {
    let fix = match machine.os {
        "macos" => {
            "nothing to do: NVIDIA has no nvidia-cuda-nvrtc for macOS; kernels and exercises in PTX need none"
        }
        "windows" => {
            "pip install nvidia-cuda-nvrtc, and set CUDA_HOME to the folder site-packages\\nvidia\\cu13 that it makes"
        }
        _ => {
            "python3 -m venv ~/nvrtc && ~/nvrtc/bin/pip install nvidia-cuda-nvrtc && export LD_LIBRARY_PATH=$(echo ~/nvrtc/lib/python3*/site-packages/nvidia/cu13/lib)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # `export` in each terminal; or scripts/cuda-toolkit.sh"
        }
    };
    match &machine.nvrtc {
        Nvrtc::Works => vec![],
        Nvrtc::Missing(why) => vec![(Fault::NoNvrtc, true, format!("no NVRTC: {why}"), fix.into())],
        Nvrtc::NoBuiltins => {
            let found = "NVRTC is installed without libnvrtc-builtins".into();
            vec![(Fault::NoBuiltins, true, found, fix.into())]
        }
        Nvrtc::Broken(why) => vec![(
            Fault::NvrtcFails,
            true,
            format!("NVRTC does not compile: {why}"),
            fix.into(),
        )],
    }
}

/// `13.0`
pub fn dotted((major, minor): Version) -> String {
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests;
