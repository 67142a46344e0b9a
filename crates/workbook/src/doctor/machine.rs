//! Facts about a machine that the workbook depends on. Tests invent their own.

use std::path::PathBuf;

/// Major and minor version: CUDA 13.0, PTX 9.0, compute capability 7.5.
pub type Version = (u32, u32);

/// Facts for [`diagnose`](super::diagnose()).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// `linux`, `macos` or `windows`.
    pub os: &'static str,
    /// Whether this program was built with `--features cuda`.
    pub cuda_build: bool,
    /// The processor.
    pub cpu: Cpu,
    /// Whether there is an NVIDIA GPU, with or without a driver.
    pub card: bool,
    /// The GPU's driver.
    pub driver: Driver,
    /// `CUDA_COMPUTE_CAP`, the target of candle's kernels; without it, the build asks `nvidia-smi`.
    pub compute_cap: Option<String>,
    /// Whether `nvidia-smi` can be run.
    pub nvidia_smi: bool,
    /// The compiler that a build with `--features cuda` finds, or one outside its search path.
    pub nvcc: Nvcc,
    /// The toolkit's libraries that a CUDA build needs to start.
    pub libraries: Vec<Library>,
    /// The runtime compiler, for `.cu` files in the simulator.
    pub nvrtc: Nvrtc,
}

/// The processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// Name that it reports.
    pub name: String,
    /// Number of hardware threads.
    pub threads: usize,
    /// `RAYON_NUM_THREADS`, if set by the user.
    pub asked: Option<String>,
    /// Vector registers of an x86-64; `None` for other architectures.
    pub simd: Option<Simd>,
}

/// Vector registers, as far as the matmuls of levels 4 and 5 depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
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

/// The driver's library, libcuda.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driver {
    /// Not found by the loader.
    Missing,
    /// Found, but `cuInit` returns this error.
    Refuses(i32),
    /// It works.
    Works {
        /// The newest supported CUDA version.
        cuda: Version,
        /// GPUs, in the driver's order.
        gpus: Vec<Gpu>,
    },
}

/// A GPU that responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// `NVIDIA H200`
    pub name: String,
    /// Compute capability.
    pub capability: Version,
}

/// The CUDA compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nvcc {
    /// Not found.
    Missing,
    /// In the folder of `scripts/cuda-toolkit.sh`, which no build searches by default.
    Aside(PathBuf),
    /// On the builds' search path.
    Found {
        /// Path of the program.
        path: PathBuf,
        /// CUDA version, if it could be determined.
        cuda: Option<Version>,
    },
}

/// A shared library of the toolkit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// `libcublas`
    pub name: &'static str,
    /// Whether the loader finds it.
    pub loads: bool,
    /// A folder with the library outside the loader's path.
    pub aside: Option<PathBuf>,
}

/// The runtime compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nvrtc {
    /// It compiled a test kernel.
    Works,
    /// Not found; the searched places.
    Missing(String),
    /// Found without libnvrtc-builtins, which it loads to compile.
    NoBuiltins,
    /// Its error message.
    Broken(String),
}

impl Driver {
    /// The newest CUDA version that it supports.
    pub fn cuda(&self) -> Option<Version> {
        match self {
            Self::Works { cuda, .. } => Some(*cuda),
            _ => None,
        }
    }

    /// The GPUs that respond.
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
