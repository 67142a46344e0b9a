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

/// Folders with headers of the toolkit, or of the wheel, in `root`.
pub fn includes(root: &Path) -> Vec<PathBuf> {
    // Cooperative groups need the C++ library, which CUDA 13 has in a separate folder.
    let mut folders = ["include", "include/cccl"]
        .map(|name| root.join(name))
        .to_vec();
    if root.file_name() == Some("cuda_nvrtc".as_ref()) {
        // Wheels of CUDA 12 have a folder each.
        let others = ["cuda_runtime", "cuda_nvcc", "cuda_cccl"];
        folders.extend(others.map(|name| root.with_file_name(name).join("include")));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Returns the folder of the wheel that has a library: `nvidia/cu13` for `nvidia/cu13/lib/libnvrtc.so.13`. `None`
/// for a library elsewhere: next to one of the system are the system's own headers, which are not for GPUs.
pub fn wheel(library: &Path) -> Option<PathBuf> {
    let root = library.parent()?.parent()?;
    let is_wheel = root.parent()?.file_name()? == "nvidia";
    is_wheel.then(|| root.to_path_buf())
}

/// Returns the first file of `/proc/self/maps` whose name begins with `prefix`.
pub fn mapped(maps: &str, prefix: &str) -> Option<PathBuf> {
    // The path is the last column, and no other one has a slash.
    let mut paths = maps
        .lines()
        .filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let begins = |path: &&Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(prefix)
    };
    paths.find(begins).map(Path::to_path_buf)
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
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{file_name, includes, mapped, wheel};

    #[test]
    fn headers_next_to_a_wheel_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let nvidia = folder.path().join("site-packages/nvidia");
        let make = |name: &str| {
            let path = nvidia.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let found = |library: &str| includes(&wheel(&nvidia.join(library)).unwrap());
        let none: [PathBuf; 0] = [];
        assert_eq!(found("cu13/lib/libnvrtc.so.13"), none);
        let headers = [make("cu13/include"), make("cu13/include/cccl")];
        assert_eq!(found("cu13/lib/libnvrtc.so.13"), headers);
        let headers = [make("cuda_runtime/include"), make("cuda_cccl/include")];
        assert_eq!(found("cuda_nvrtc/lib/libnvrtc.so.12"), headers);
        // Those of CUDA 12 do not fit CUDA 13.
        assert_eq!(found("cu13/lib/libnvrtc.so.13").len(), 2);
        let of_system = Path::new("/usr/lib/libnvrtc.so.12");
        assert_eq!(wheel(of_system), None);
    }

    #[test]
    fn a_loaded_library_has_its_path() {
        let maps = "\
55d0e0000000-55d0e0001000 r--p 00000000 08:01 11         /home/a b/libnvrtc.so.d/workbook
55d0e0001000-55d0e0002000 rw-p 00000000 00:00 0          [heap]
7f0000000000-7f0000001000 r--p 00000000 08:01 12         /a b/nvidia/cu13/lib/libnvrtc-builtins.so.13.0
7f0000001000-7f0000002000 r--p 00000000 08:01 13         /a b/nvidia/cu13/lib/libnvrtc.so.13
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
";
        let path = Path::new("/a b/nvidia/cu13/lib/libnvrtc.so.13");
        assert_eq!(mapped(maps, "libnvrtc.so").as_deref(), Some(path));
        assert_eq!(mapped(maps, "libcublas.so"), None);
    }

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
