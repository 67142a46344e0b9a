//! Where a CUDA toolkit may be: where the user says, in the folder of `scripts/cuda-toolkit.sh`, in the system's.

use std::env;
use std::path::{Path, PathBuf};

use cli::files;

/// Where NVIDIA's installers put it.
pub const SYSTEM: &str = "/usr/local/cuda";

/// The toolkit that the user names, and the variable that does.
pub fn named() -> Option<(&'static str, PathBuf)> {
    let of = |name| Some((name, PathBuf::from(env::var_os(name)?)));
    of("CUDA_HOME").or_else(|| of("CUDA_PATH"))
}

/// The toolkit that `scripts/cuda-toolkit.sh` installs.
pub fn own() -> Option<PathBuf> {
    let lib = files::find(".cuda/venv/lib").ok()?;
    let pythons = std::fs::read_dir(lib).ok()?.flatten();
    let roots = pythons.map(|python| python.path().join("site-packages/nvidia/cu13"));
    roots.filter(|root| root.is_dir()).min()
}

/// Libraries of the toolkit in `root` whose file names begin with `prefix`, sorted.
pub fn libraries(root: &Path, prefix: &str) -> Vec<PathBuf> {
    let of = |lib: &&str| versions(&root.join(lib), prefix);
    ["lib", "lib64"].iter().flat_map(of).collect()
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
