//! What there is on a machine, as far as the workbook depends on it. Tests make up their own.

use std::path::PathBuf;

/// Major and minor number: CUDA 13.0, PTX 9.0, compute capability 7.5.
pub type Version = (u32, u32);

/// The facts that [`diagnose`](super::diagnose()) looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// `linux`, `macos` or `windows`.
    pub os: &'static str,
    /// Whether this program was built with `--features cuda`.
    pub cuda_build: bool,
    /// What computes without a GPU.
    pub cpu: Cpu,
    /// Whether a GPU of NVIDIA's is plugged in, with a driver or without.
    pub card: bool,
    /// What speaks to it.
    pub driver: Driver,
    /// `CUDA_COMPUTE_CAP`, for which candle's kernels are compiled; without it, `nvidia-smi` is asked.
    pub compute_cap: Option<String>,
    /// Whether there is an `nvidia-smi` that can be asked.
    pub nvidia_smi: bool,
    /// The compiler that a build with `--features cuda` finds, or one that it would not find.
    pub nvcc: Nvcc,
    /// Libraries of the toolkit that a CUDA build starts with.
    pub libraries: Vec<Library>,
    /// The compiler as a library, for `.cu` files in the simulator.
    pub nvrtc: Nvrtc,
}

/// The processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// What it calls itself.
    pub name: String,
    /// Threads that it runs at once.
    pub threads: usize,
    /// `RAYON_NUM_THREADS`, where it is set by the user.
    pub asked: Option<String>,
    /// The vector registers of an x86-64; `None` for another architecture.
    pub simd: Option<Simd>,
}

/// Vector registers, as far as the products of level 4 and 5 differ by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simd {
    /// 512 bits.
    Avx512,
    /// 256 bits with fused multiply-add.
    Avx2,
    /// 128 bits.
    Sse,
}

impl Simd {
    /// `AVX-512`
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Sse => "SSE",
        }
    }
}

/// The library that comes with the driver, libcuda.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driver {
    /// None on the loader's path.
    Missing,
    /// It is there, and `cuInit` answers with this error.
    Refuses(i32),
    /// It works.
    Works {
        /// The newest CUDA that it can run.
        cuda: Version,
        /// In its order.
        gpus: Vec<Gpu>,
    },
}

/// A GPU that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// `NVIDIA H200`
    pub name: String,
    /// Compute capability.
    pub capability: Version,
}

/// The compiler of CUDA C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nvcc {
    /// None anywhere.
    Missing,
    /// In the folder of `scripts/cuda-toolkit.sh`, where no build looks by itself.
    Aside(PathBuf),
    /// Where builds look.
    Found {
        /// The program.
        path: PathBuf,
        /// CUDA's, unless it did not say.
        cuda: Option<Version>,
    },
}

/// A shared library of the toolkit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// `libcublas`
    pub name: &'static str,
    /// Whether the loader finds it by its name.
    pub loads: bool,
    /// A folder that has it, where the loader does not look.
    pub aside: Option<PathBuf>,
}

/// The compiler as a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nvrtc {
    /// It has compiled a kernel.
    Works,
    /// None; where it was looked for.
    Missing(String),
    /// It is there without libnvrtc-builtins, which it loads when it compiles.
    NoBuiltins,
    /// What it says.
    Broken(String),
}

impl Driver {
    /// The newest CUDA that it can run.
    pub fn cuda(&self) -> Option<Version> {
        match self {
            Self::Works { cuda, .. } => Some(*cuda),
            _ => None,
        }
    }

    /// The GPUs that answer.
    pub fn gpus(&self) -> &[Gpu] {
        match self {
            Self::Works { gpus, .. } => gpus,
            _ => &[],
        }
    }
}

impl Nvcc {
    /// The version of the toolkit that builds find.
    pub fn cuda(&self) -> Option<Version> {
        match self {
            Self::Found { cuda, .. } => *cuda,
            _ => None,
        }
    }
}
