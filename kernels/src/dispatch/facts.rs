//! Properties of a device that the choice of a kernel may depend on.

use std::process::Command;
use std::sync::OnceLock;

use candle_core::{DType, Device, Result};

use super::{Architecture, Feature};
use crate::launch::is_simulated;

/// Properties of a device. Tests invent their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// `NVIDIA H200`, or a CPU's model.
    pub name: String,
    /// GPU driver, such as `580.159.04`; `None` on a CPU.
    pub driver: Option<String>,
    /// Compute capability; `None` on a CPU.
    pub capability: Option<(u32, u32)>,
    /// SMs of a GPU, threads of a CPU.
    pub units: usize,
    /// Whether kernels are simulated: this project's kernels run, a library's do not.
    pub simulated: bool,
}

impl Facts {
    /// A CPU with `threads` threads.
    pub fn cpu(name: impl Into<String>, threads: usize) -> Self {
        Self {
            name: name.into(),
            driver: None,
            capability: None,
            units: threads,
            simulated: false,
        }
    }

    /// A GPU of this compute capability, named as in the tables for any GPU.
    pub fn any_gpu(capability: (u32, u32), units: usize) -> Self {
        Self {
            name: super::tables::ANY_GPU.into(),
            driver: None,
            capability: Some(capability),
            units,
            simulated: false,
        }
    }

    /// The device's name in a table for any device: a GPU's name, or `AMD EPYC, 2 threads`.
    pub fn measured(&self) -> String {
        if self.is_gpu() {
            self.name.clone()
        } else {
            let plural = if self.units == 1 { "" } else { "s" };
            format!("{}, {} thread{plural}", self.name, self.units)
        }
    }

    /// Whether this is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.capability.is_some()
    }

    /// Whether this is a GPU that has `feature`.
    pub fn has(&self, feature: Feature) -> bool {
        let architecture = self.capability.and_then(Architecture::of);
        architecture.is_some_and(|a| a.has(feature))
    }

    /// Whether this is a GPU of at least this compute capability.
    pub fn at_least(&self, capability: (u32, u32)) -> bool {
        self.capability.is_some_and(|found| found >= capability)
    }

    /// Whether the device has kernels for `dtype`: a GPU from 7.5 on and a CPU, in f32 and bf16.
    pub fn computes(&self, dtype: DType) -> bool {
        let is_element = matches!(dtype, DType::F32 | DType::BF16);
        is_element && (!self.is_gpu() || self.at_least((7, 5)))
    }

    /// As [`computes`](Self::computes), for kernels that need a GPU's tensor cores in bf16.
    pub fn computes_by_mma(&self, dtype: DType) -> bool {
        let has_mma = dtype != DType::BF16 || !self.is_gpu() || self.has(Feature::Bf16);
        has_mma && self.computes(dtype)
    }

    /// Returns the facts of `device`, or of the simulator while kernels are simulated; queried once.
    ///
    /// # Errors
    /// If the driver does not respond.
    pub fn of(device: &Device) -> Result<&'static Self> {
        match device {
            Device::Cpu if is_simulated() => Ok(simulator()),
            Device::Cpu => Ok(host()),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => gpu(cuda),
            other => {
                let found = format!("{:?}", other.location());
                Err(crate::error::mismatch("dispatch", "a CPU or a GPU", found))
            }
        }
    }
}

fn host() -> &'static Facts {
    static HOST: OnceLock<Facts> = OnceLock::new();
    HOST.get_or_init(|| Facts::cpu(processor(), rayon::current_num_threads()))
}

/// Facts for the simulator: those of a Hopper GPU, which can run every kernel.
fn simulator() -> &'static Facts {
    static SIMULATOR: OnceLock<Facts> = OnceLock::new();
    SIMULATOR.get_or_init(|| Facts {
        simulated: true,
        ..Facts::any_gpu((9, 0), 132)
    })
}

/// The processor's name, or its architecture.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = model_name(&text).map(str::to_string);
    let named = named.or_else(|| match std::env::consts::OS {
        "macos" => sysctl("machdep.cpu.brand_string"),
        "windows" => std::env::var("PROCESSOR_IDENTIFIER").ok(),
        _ => None,
    });
    named.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

fn model_name(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

fn sysctl(name: &str) -> Option<String> {
    let output = Command::new("sysctl").args(["-n", name]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

/// Returns the facts of a GPU by its context; queried once, because the driver takes longer to respond than a
/// kernel to run.
#[cfg(feature = "cuda")]
fn gpu(device: &candle_core::CudaDevice) -> Result<&'static Facts> {
    use candle_core::cuda_backend::WrapErr;
    use candle_core::cuda_backend::cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as SMS;
    use std::collections::HashMap;
    use std::sync::{LazyLock, RwLock};

    static KNOWN: LazyLock<RwLock<HashMap<usize, &'static Facts>>> = LazyLock::new(RwLock::default);
    let stream = device.cuda_stream();
    let context = stream.context();
    let key = context.ordinal();
    let known = KNOWN.read().ok().and_then(|known| known.get(&key).copied());
    if let Some(facts) = known {
        return Ok(facts);
    }
    let (major, minor) = context.compute_capability().w()?;
    let facts: &'static Facts = Box::leak(Box::new(Facts {
        name: context.name().w()?,
        driver: driver(),
        capability: Some((major as u32, minor as u32)),
        units: context.attribute(SMS).w()? as usize,
        simulated: false,
    }));
    if let Ok(mut known) = KNOWN.write() {
        known.insert(key, facts);
    }
    Ok(facts)
}

/// Returns the driver's version from the kernel module, such as `580.159.04`; only on Linux.
#[cfg(feature = "cuda")]
fn driver() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let number = |word: &&str| {
        word.split('.').count() >= 2 && word.starts_with(|c: char| c.is_ascii_digit())
    };
    text.lines()
        .next()?
        .split_whitespace()
        .find(number)
        .map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_has_the_features_of_its_architecture() {
        let gpu = |capability| Facts::any_gpu(capability, 40);
        assert!(gpu((7, 5)).is_gpu() && !gpu((7, 5)).has(Feature::Bf16));
        assert!(gpu((8, 6)).has(Feature::Bf16) && gpu((8, 6)).at_least((8, 0)));
        assert!(!gpu((8, 6)).at_least((9, 0)));
    }

    #[test]
    fn a_cpu_is_no_gpu() -> Result<()> {
        let cpu = Facts::of(&Device::Cpu)?;
        assert!(!cpu.is_gpu() && !cpu.has(Feature::TensorCores) && !cpu.at_least((0, 0)));
        assert!(cpu.units > 0 && !cpu.name.is_empty());
        assert_eq!(Facts::cpu("a CPU", 1).measured(), "a CPU, 1 thread");
        assert_eq!(Facts::cpu("a CPU", 2).measured(), "a CPU, 2 threads");
        Ok(())
    }

    #[test]
    fn the_driver_version_is_parsed() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC 9R14\nflags\t: avx2\n";
        assert_eq!(model_name(text), Some("AMD EPYC 9R14"));
        assert_eq!(model_name("CPU implementer\t: 0x41\n"), None);
    }
}
