//! Collects facts about this machine, without judging them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use cli::{nvrtc, toolkit};
use kernels::dispatch::processor;
use libloading::Library as Shared;

use super::driver;
use super::machine::{Cpu, Library, Machine, Nvcc, Nvrtc, Simd, Version};

/// Libraries of a CUDA build, and the version suffixes that the loader may know.
const LIBRARIES: [(&str, &[&str]); 4] = [
    ("libcudart", &["13", "12"]),
    ("libcublas", &["13", "12"]),
    ("libcublasLt", &["13", "12"]),
    ("libcurand", &["10"]),
];

/// Describes this machine. `threads` is the user's `RAYON_NUM_THREADS`, because the program sets its own
/// default.
pub fn machine(threads: Option<String>) -> Machine {
    Machine {
        os: env::consts::OS,
        cuda_build: cfg!(feature = "cuda"),
        cpu: cpu(threads),
        card: has_card(),
        driver: driver::ask(),
        compute_cap: env::var("CUDA_COMPUTE_CAP").ok(),
        nvidia_smi: Command::new("nvidia-smi")
            .arg("-L")
            .output()
            .is_ok_and(|o| o.status.success()),
        nvcc: nvcc(),
        libraries: LIBRARIES
            .map(|(name, versions)| library(name, versions))
            .into(),
        nvrtc: of_nvrtc(),
    }
}

fn cpu(asked: Option<String>) -> Cpu {
    Cpu {
        name: processor(),
        threads: available_parallelism().map_or(1, |n| n.get()),
        asked,
        simd: simd(),
    }
}

#[cfg(target_arch = "x86_64")]
pub fn simd() -> Option<Simd> {
    use std::arch::is_x86_feature_detected as has;
    // The five features that the matmuls use.
    let parts = [
        has!("avx512bw"),
        has!("avx512cd"),
        has!("avx512dq"),
        has!("avx512vl"),
    ];
    Some(match () {
        _ if has!("avx512f") && parts == [true; 4] => Simd::Avx512,
        _ if has!("avx2") && has!("fma") => Simd::Avx2,
        _ => Simd::Sse,
    })
}

#[cfg(not(target_arch = "x86_64"))]
pub fn simd() -> Option<Simd> {
    None
}

/// Whether the PCI bus has a display or compute device of NVIDIA: vendor 10de, and a class that starts with
/// 03.
fn has_card() -> bool {
    let devices = std::fs::read_dir("/sys/bus/pci/devices")
        .into_iter()
        .flatten()
        .flatten();
    let read =
        |path: &Path, name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    devices.map(|device| device.path()).any(|path| {
        read(&path, "vendor").trim() == "0x10de" && read(&path, "class").starts_with("0x03")
    })
}

/// Looks for nvcc where candle's build looks, in its order, then elsewhere.
fn nvcc() -> Nvcc {
    let given = env::var_os("NVCC").map(PathBuf::from).into_iter();
    let path = env::var_os("PATH").unwrap_or_default();
    let program = format!("nvcc{}", env::consts::EXE_SUFFIX);
    let on_path = env::split_paths(&path).map(|folder| folder.join(&program));
    let of_toolkit = |root: PathBuf| root.join("bin").join(&program);
    let named = toolkit::named().map(|(_, root)| of_toolkit(root));
    let system = of_toolkit(toolkit::SYSTEM.into());
    let mut found = given.chain(on_path).chain(named).chain([system]);
    if let Some(path) = found.find(|path| path.is_file()) {
        let cuda = release(&path);
        return Nvcc::Found { path, cuda };
    }
    let own = toolkit::own().map(of_toolkit).filter(|path| path.is_file());
    own.map_or(Nvcc::Missing, Nvcc::Aside)
}

/// Parses the output of `nvcc --version`: `Cuda compilation tools, release 13.0, V13.0.88`.
fn release(nvcc: &Path) -> Option<Version> {
    let output = Command::new(nvcc).arg("--version").output().ok()?;
    version(&String::from_utf8_lossy(&output.stdout))
}

fn version(text: &str) -> Option<Version> {
    let (_, rest) = text.split_once("release ")?;
    let (major, rest) = rest.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn library(name: &'static str, versions: &[&str]) -> Library {
    let of_version = |version: &str| {
        toolkit::file_name(name.trim_start_matches("lib"), version, env::consts::OS)
    };
    // SAFETY: NVIDIA's own libraries by their names; loading one runs no more than its initialisers.
    let loads = |version: &&str| unsafe { Shared::new(of_version(version)) }.is_ok();
    let named = toolkit::named().map(|(_, root)| root);
    let roots = named
        .into_iter()
        .chain(toolkit::own())
        .chain([toolkit::SYSTEM.into()]);
    let file = |root: PathBuf| {
        toolkit::libraries(&root, &of_version(""))
            .into_iter()
            .next()
    };
    Library {
        name,
        loads: versions.iter().any(loads),
        aside: roots
            .filter_map(file)
            .find_map(|path| std::path::absolute(path.parent()?).ok()),
    }
}

fn of_nvrtc() -> Nvrtc {
    match nvrtc::works() {
        Ok(()) => Nvrtc::Works,
        Err(nvrtc::Fault::Missing(found)) => Nvrtc::Missing(found),
        Err(nvrtc::Fault::NoBuiltins) => Nvrtc::NoBuiltins,
        Err(nvrtc::Fault::Refused(why)) => Nvrtc::Broken(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_parsed_from_nvccs_output() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n";
        assert_eq!(version(text), Some((12, 4)));
        assert_eq!(version("nvcc: command not found"), None);
    }

    /// On any machine this does not panic and finds a processor.
    #[test]
    fn this_machine_is_described() {
        let machine = machine(None);
        assert!(machine.cpu.threads > 0 && !machine.cpu.name.is_empty());
        assert_eq!(machine.libraries.len(), LIBRARIES.len());
    }
}
