//! Locations of a CUDA toolkit: the user's choice, the folder of `scripts/cuda-toolkit.sh`, the system's.

use std::env;
use std::path::{Path, PathBuf};

use crate::files;

/// Default folder of NVIDIA's installers.
pub const SYSTEM: &str = "/usr/local/cuda";

/// Returns the toolkit that the user names, and the variable that names it.
pub fn named() -> Option<(&'static str, PathBuf)> {
    let of = |name| Some((name, PathBuf::from(env::var_os(name)?)));
    of("CUDA_HOME").or_else(|| of("CUDA_PATH"))
}

/// Returns the toolkit that `scripts/cuda-toolkit.sh` installs.
pub fn own() -> Option<PathBuf> {
    let lib = files::find(".cuda/venv/lib").ok()?;
    let pythons = std::fs::read_dir(lib).ok()?.flatten();
    let roots = pythons.map(|python| python.path().join("site-packages/nvidia/cu13"));
    roots.filter(|root| root.is_dir()).min()
}

/// Libraries of the toolkit in `root` whose file names begin with `prefix`, sorted.
pub fn libraries(root: &Path, prefix: &str) -> Vec<PathBuf> {
    let folders: &[&str] = if cfg!(windows) {
        &["bin", "bin/x64", "bin/x86_64"]
    } else {
        &["lib", "lib64"]
    };
    let of = |folder: &&str| versions(&root.join(folder), prefix);
    folders.iter().flat_map(of).collect()
}

/// Returns the file name of a library's version on an operating system: `libcublas.so.13` or
/// `cublas64_13.dll`. Without a version, the common prefix.
pub fn file_name(library: &str, version: &str, os: &str) -> String {
    match (os, version) {
        ("windows", "") => format!("{library}64_"),
        ("windows", version) => format!("{library}64_{version}.dll"),
        (_, "") => format!("lib{library}.so"),
        (_, version) => format!("lib{library}.so.{version}"),
    }
}

/// Files of a folder whose names begin with `prefix`, sorted.
pub fn versions(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let begins = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(prefix)
    };
    let mut found: Vec<PathBuf> = entries.map(|e| e.path()).filter(begins).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn libraries_have_the_names_of_their_system() {
        assert_eq!(file_name("cublas", "13", "linux"), "libcublas.so.13");
        assert_eq!(file_name("cublas", "13", "windows"), "cublas64_13.dll");
        assert_eq!(file_name("nvrtc", "130_0", "windows"), "nvrtc64_130_0.dll");
        assert_eq!(
            file_name("nvrtc-builtins", "", "linux"),
            "libnvrtc-builtins.so"
        );
        assert_eq!(
            file_name("nvrtc-builtins", "", "windows"),
            "nvrtc-builtins64_"
        );
        // Neither name is a prefix of the other.
        let [nvrtc, builtins] =
            ["nvrtc", "nvrtc-builtins"].map(|name| file_name(name, "", "windows"));
        assert!(!builtins.starts_with(&nvrtc));
    }
}
