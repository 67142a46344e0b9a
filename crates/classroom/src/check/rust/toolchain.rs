//! The compiler that made the library of the exercises, and that library.

use std::path::{Path, PathBuf};
use std::process::Command;

use data::BadInput;
use sandbox::Limits;

use super::TO_COMPILE;
use super::library::Library;

/// Address space of rustc: several times what the largest solution needs.
pub const TO_COMPILE_IN: u64 = 3 << 30;

/// A compiler and a library that it made.
#[derive(Debug, Clone)]
pub struct Toolchain {
    sysroot: PathBuf,
    /// The library `exercise`.
    library: Library,
}

impl Toolchain {
    /// The compiler that rustup selects where `library` is, in the clone.
    pub fn of(library: Library) -> Result<Self, BadInput> {
        let mut rustc = Command::new("rustc");
        rustc.args(["--print", "sysroot"]);
        rustc.current_dir(library.file.parent().unwrap_or(Path::new(".")));
        let bad = |found: String| BadInput::new("rustc", "a compiler that says where it is", found);
        let output = rustc.output().map_err(|e| bad(e.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(bad(said.lines().next().unwrap_or("an error").to_owned()));
        }
        let sysroot = String::from_utf8_lossy(&output.stdout).trim().into();
        Ok(Self { sysroot, library })
    }

    /// A call of rustc that writes to `out`, with the library; and its limits, to which the caller adds what it reads.
    pub fn rustc(&self, name: &str, out: &Path) -> (Command, Limits) {
        let program = format!("rustc{}", std::env::consts::EXE_SUFFIX);
        // Not rustup's `rustc`, which reads its settings first.
        let mut rustc = Command::new(self.sysroot.join("bin").join(program));
        with_few_variables(&mut rustc);
        rustc.current_dir(out).env("TMPDIR", out);
        rustc.args(["--edition", "2024", "--crate-name", name]);
        rustc.args("--error-format json -C opt-level=1".split_whitespace());
        rustc.arg("--extern");
        rustc.arg(format!("exercise={}", self.library.file.display()));
        rustc.arg("--out-dir").arg(out);
        for folder in &self.library.folders {
            rustc.arg("-L");
            rustc.arg(format!("dependency={}", folder.display()));
        }
        for path in &self.library.native {
            rustc.arg("-L").arg(path);
        }
        (rustc, self.limits().writable(out))
    }

    /// The limits of rustc, with the folders that it reads for every submission.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::new(TO_COMPILE)
            .memory(TO_COMPILE_IN)
            .processes(64)
            .file_size(1 << 30)
            .readable(&self.sysroot);
        for folder in &self.library.folders {
            limits = limits.readable(folder);
        }
        for path in &self.library.native {
            // `KIND=PATH`
            let path = path.split_once('=').map_or(&**path, |(_, path)| path);
            if Path::new(path).is_dir() {
                limits = limits.readable(path);
            }
        }
        limits
    }
}

/// Variables that a compiler or a linker needs. The others are not passed on: `NIX_CONFIG` may hold a token.
const VARIABLES: [&str; 16] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "SDKROOT",
    "DEVELOPER_DIR",
    "INCLUDE",
    "LIB",
    "SystemRoot",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "NIX_CC",
    "NIX_BINTOOLS",
    "NIX_CFLAGS_COMPILE",
    "NIX_CFLAGS_LINK",
    "NIX_LDFLAGS",
];

fn is_needed(name: &str) -> bool {
    // The rest is a platform.
    VARIABLES.contains(&name) || name.starts_with("NIX_CC_WRAPPER_TARGET_")
}

/// Leaves a compiler few variables of this process: no secret, and no setting of backtraces.
fn with_few_variables(command: &mut Command) {
    command.env_clear();
    let own = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_needed));
    command.envs(own);
}

#[test]
fn a_compiler_gets_no_secret() {
    assert!(is_needed("NIX_LDFLAGS") && !is_needed("NIX_CONFIG"));
}
