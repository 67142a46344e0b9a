//! Compiles CUDA to PTX by NVRTC, the runtime compiler, if it is installed.
//!
//! It is looked for when needed: in the toolkit of CUDA_HOME or CUDA_PATH, otherwise in that of
//! `scripts/cuda-toolkit.sh`, otherwise on the loader's path.

use std::env::consts::OS;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use data::BadInput;
use libloading::Library;

use crate::files;
use crate::toolkit::{self, file_name, libraries};

/// How to install it.
const MISSING: &str = if cfg!(target_os = "macos") {
    "NVRTC to compile it, which does not exist for macOS (PTX needs no compiler)"
} else {
    "NVRTC to compile it (`cargo run --release -- doctor` shows how to install it, without root; for one in \
     another folder, `export LD_LIBRARY_PATH=FOLDER` in each terminal)"
};

/// Description of valid input.
const KERNELS: &str = "CUDA that NVRTC compiles";

/// Advice for a file that seems to have host code.
const NO_HOST: &str =
    "NVRTC takes only kernels; put host code between `#ifndef __CUDACC_RTC__` and `#endif`";

/// Advice for a header that is not found.
const NO_HEADER: &str = "headers come from the folder of the file, from `kernels/src`, and from a CUDA toolkit if one is \
                         installed; `common/vector.cuh` in `kernels/src` has a type `bf16` with `widen` and `store`, and \
                         `asm volatile` writes what other headers wrap, such as `cp.async`";

/// Version suffixes that the loader may know, the newest first.
const VERSIONS: &[&str] = if cfg!(windows) {
    &["130_0", "120_0"]
} else {
    &["13", "12", ""]
};

/// Compiles the CUDA text of `path` to PTX, for the virtual architecture `arch` (`compute_75`), with line
/// numbers. Headers come from the file's folder, from `kernels/src` and from the toolkit.
///
/// # Errors
/// There is no compiler, or it refuses the text; the latter is `FILE:LINE: …`, NVRTC's first error.
pub fn compile(path: &Path, text: &str, arch: &str) -> Result<String, BadInput> {
    fits(path, text)?;
    let root = load().map_err(|found| BadInput::new(path.display(), MISSING, found))?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut folders = vec![folder.unwrap_or(Path::new(".")).to_path_buf()];
    folders.extend(files::find("kernels/src"));
    // Cooperative groups need the C++ library, which CUDA 13 has in a separate folder.
    let of_toolkit = |root: PathBuf| ["include", "include/cccl"].map(|folder| root.join(folder));
    folders.extend(root.map(of_toolkit).into_iter().flatten());
    let arch = format!("--gpu-architecture={arch}");
    let options = [
        &arch,
        "--std=c++17",
        "--generate-line-info",
        // Definitions of nvcc's host headers, and its relaxed constexpr: a constexpr function without
        // __device__.
        "--define-macro=INFINITY=__int_as_float(0x7f800000)",
        "--define-macro=NAN=__int_as_float(0x7fffffff)",
        "--device-as-default-execution-space",
    ];
    let options = CompileOptions {
        include_paths: folders.iter().map(|f| f.display().to_string()).collect(),
        options: options.map(str::to_owned).into(),
        name: Some(path.display().to_string()),
        ..CompileOptions::default()
    };
    let compiled = thread::scope(|scope| {
        let compiler = thread::Builder::new().stack_size(STACK);
        let compiler = compiler.spawn_scoped(scope, || compile_ptx_with_opts(text, options))?;
        compiler.join().map_err(|_| io::ErrorKind::Other.into())
    });
    let compiled =
        compiled.map_err(|e: io::Error| BadInput::new("a thread for NVRTC", "one", e))?;
    let ptx = compiled.map_err(|error| refused(path, text, &error))?;
    Ok(ptx.to_src())
}

/// Maximum bytes of a text, and a stack that is large enough however it is nested.
const MOST_BYTES: usize = 1 << 18;
const STACK: usize = 1 << 30;

/// Maximum depth of brackets. Thousands take gigabytes of memory.
const DEEPEST: usize = 1000;

/// Refuses a text that would end this process. What macros and templates make of it has no limit.
fn fits(path: &Path, text: &str) -> Result<(), BadInput> {
    let path = path.display();
    if text.contains('\0') {
        return Err(BadInput::new(path, "CUDA", "a byte 0"));
    }
    if text.len() > MOST_BYTES {
        let expected = format!("CUDA of at most {MOST_BYTES} bytes");
        return Err(BadInput::new(path, expected, text.len()));
    }
    let mut depth = 0_usize;
    for (number, line) in (1..).zip(text.lines()) {
        for c in line.chars() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > DEEPEST {
                let place = format!("{path}:{number}");
                return Err(BadInput::new(place, "", "nested too deeply"));
            }
        }
    }
    Ok(())
}

/// Compiles the CUDA of a learner's level, for the simulator and for every GPU from compute capability 7.5 on.
///
/// # Errors
/// Those of [`compile`].
pub fn for_levels(path: &Path, text: &str) -> Result<String, String> {
    compile(path, text, "compute_75").map_err(|bad| bad.to_string())
}

/// The reason why there is no working compiler.
pub enum Fault {
    /// Not found; the searched places.
    Missing(String),
    /// The library of its built-in functions is missing.
    NoBuiltins,
    /// Its error message.
    Refused(String),
}

/// Compiles a tiny kernel, which needs all parts.
///
/// # Errors
/// There is no working compiler.
pub fn works() -> Result<(), Fault> {
    load().map_err(|found| {
        if has_no_builtins() {
            Fault::NoBuiltins
        } else {
            Fault::Missing(found)
        }
    })?;
    match compile_ptx_with_opts("__global__ void f() {}", CompileOptions::default()) {
        Ok(_) => Ok(()),
        Err(CompileError::CompileError { log, nvrtc, .. }) => {
            let log = log.to_string_lossy();
            let said = log.lines().next().map_or(nvrtc.to_string(), str::to_owned);
            Err(if said.contains("builtins") {
                Fault::NoBuiltins
            } else {
                Fault::Refused(said)
            })
        }
        Err(error) => Err(Fault::Refused(error.to_string())),
    }
}

/// Whether the requested toolkit, or one that is installed, has the library without its built-ins.
fn has_no_builtins() -> bool {
    let named = toolkit::named().map(|(_, root)| root);
    let others = || toolkit::own().into_iter().chain([toolkit::SYSTEM.into()]);
    let roots: Vec<PathBuf> = named.map_or_else(|| others().collect(), |root| vec![root]);
    let has = |root: &PathBuf, name| !libraries(root, &file_name(name, "", OS)).is_empty();
    let lacks = |root: &PathBuf| has(root, "nvrtc") && !has(root, "nvrtc-builtins");
    roots.iter().any(lacks)
}

/// Whether an error is about a missing compiler, not about the text.
pub fn is_missing(bad: &BadInput) -> bool {
    bad.expected == MISSING
}

/// Whether a line says that there is no compiler.
pub fn says_missing(line: &str) -> bool {
    line.contains(MISSING)
}

/// Converts the compiler's first error, which names the line.
fn refused(path: &Path, text: &str, error: &CompileError) -> BadInput {
    let CompileError::CompileError { log, nvrtc, .. } = error else {
        return BadInput::new(path.display(), "a working NVRTC", error);
    };
    let log = log.to_string_lossy();
    let first = log.lines().find(|line| line.contains("error"));
    let Some((place, what)) = first.and_then(placed) else {
        let found = first.map_or_else(|| nvrtc.to_string(), str::to_owned);
        return BadInput::new(path.display(), KERNELS, found);
    };
    let is_header = what.starts_with("cannot open source file");
    let of_host = [
        "<iostream>",
        "<stdio.h>",
        "<cstdio>",
        "<vector>",
        "<<<",
        "main(",
    ];
    let advice = if of_host.iter().any(|part| text.contains(part)) {
        Some(NO_HOST)
    } else {
        is_header.then_some(NO_HEADER)
    };
    let advice = advice.map_or(String::new(), |advice| format!("; {advice}"));
    BadInput::new(place, "", what.to_owned() + &advice)
}

/// Splits `FILE(7): error: WHAT` into `FILE:7` and `WHAT`.
fn placed(line: &str) -> Option<(String, &str)> {
    let kinds = ["): error: ", "): catastrophic error: "];
    let (place, what) = kinds.iter().find_map(|kind| line.split_once(kind))?;
    let (file, number) = place.rsplit_once('(')?;
    number.parse::<u32>().ok()?;
    Some((format!("{file}:{number}"), what))
}

/// Loads the library for the rest of the process; returns its toolkit, if known. The error says where it was
/// looked for.
fn load() -> Result<Option<PathBuf>, String> {
    if let Some((variable, root)) = toolkit::named() {
        return if open_in(&root) {
            Ok(Some(root))
        } else {
            Err(format!("none in {variable}={}", root.display()))
        };
    }
    let own = toolkit::own().into_iter();
    let system = PathBuf::from(toolkit::SYSTEM);
    if let Some(root) = own.chain([system]).find(|root| open_in(root)) {
        return Ok(Some(root));
    }
    let is_there = |version: &&str| open(Path::new(&file_name("nvrtc", version, OS)));
    if VERSIONS.iter().any(is_there) {
        Ok(None)
    } else {
        Err("CUDA_HOME is not set, and there is none on the library path".into())
    }
}

/// Whether the toolkit in `root` has the library. Its built-in functions are a separate library that it loads
/// by name; loading that one first makes the loader's path irrelevant.
fn open_in(root: &Path) -> bool {
    let loads = |name| {
        let found = libraries(root, &file_name(name, "", OS));
        found.iter().any(|path| open(path))
    };
    loads("nvrtc-builtins") && loads("nvrtc")
}

/// Loads a library and keeps it loaded, so that cudarc finds it by name.
fn open(path: &Path) -> bool {
    // SAFETY: the file is NVIDIA's compiler, as its name and the toolkit's folder say; loading it runs no
    // more than its initialisers.
    let library = unsafe { Library::new(path) };
    library.map(std::mem::forget).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_missing_compiler_is_recognised() {
        let line = BadInput::new("a.cu", MISSING, "none").to_string();
        assert!(says_missing(&line) && !says_missing("a.cu:7: expected NVRTC"));
    }

    #[test]
    fn an_error_has_its_place() {
        let place = |line: &str| placed(line).map(|(place, what)| format!("{place} | {what}"));
        let error = "my/(a)/sum.cu(7): error: identifier \"y\" is undefined";
        let expected = "my/(a)/sum.cu:7 | identifier \"y\" is undefined";
        assert_eq!(place(error).as_deref(), Some(expected));
        let error = "a.cu(1): catastrophic error: cannot open source file \"b.h\"";
        let expected = "a.cu:1 | cannot open source file \"b.h\"";
        assert_eq!(place(error).as_deref(), Some(expected));
        assert_eq!(place("nvrtc: error: invalid value"), None);
    }
}
