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

/// Parts of a text that seems to have host code.
const HOST: [&str; 6] = [
    "<iostream>",
    "<stdio.h>",
    "<cstdio>",
    "<vector>",
    "<<<",
    "main(",
];

/// Advice for a header that is not found.
const NO_HEADER: &str = "headers come from the folder of the file, from `kernels/src`, and from CUDA: for those of CUDA, set \
                         CUDA_HOME to a toolkit, or `pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl` in the \
                         Python environment that has NVRTC";

/// More advice for headers whose names have a part.
const INSTEAD: [(&str, &str); 3] = [
    (
        "bf16",
        "`common/vector.cuh` in `kernels/src` has a type `bf16` with `widen` and `store`",
    ),
    (
        "pipeline",
        "`asm volatile` writes `cp.async` without a header",
    ),
    ("mma", "`asm volatile` writes `mma.sync` without a header"),
];

/// Advice for integers of a fixed width, which no CUDA package defines under their usual header.
const NO_STDINT: &str = "NVRTC has no `<cstdint>` or `<stdint.h>`: write `unsigned char`, `int`, `unsigned`, `long long` or \
                         `unsigned long long`, or include `<cuda/std/cstdint>` of a CUDA toolkit (or of `pip install \
                         nvidia-cuda-cccl` in the Python environment that has NVRTC)";

/// Headers that define [`INTEGERS`] elsewhere.
const STDINT: [&str; 3] = ["cstdint", "stdint.h", "inttypes.h"];

/// Integers of a fixed width.
const INTEGERS: [&str; 10] = [
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "intptr_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uintptr_t",
];

/// Version suffixes that the loader may know, the newest first.
const VERSIONS: &[&str] = if cfg!(windows) {
    &["130_0", "120_0"]
} else {
    &["13", "12", ""]
};

/// Compiles the CUDA text of `path` to PTX, for the virtual architecture `arch` (`compute_75`), with line
/// numbers. Headers come from the file's folder, from `kernels/src` and from the toolkit or the wheel.
///
/// # Errors
/// There is no compiler, or it refuses the text; the latter is `FILE:LINE: …`, NVRTC's first error.
pub fn compile(path: &Path, text: &str, arch: &str) -> Result<String, BadInput> {
    fits(path, text)?;
    let root = load().map_err(|found| BadInput::new(path.display(), MISSING, found))?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut folders = vec![folder.unwrap_or(Path::new(".")).to_path_buf()];
    folders.extend(files::find("kernels/src"));
    folders.extend(root.iter().flat_map(|root| toolkit::includes(root)));
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
    let parts = std::iter::once(what).chain(advice(what, text));
    BadInput::new(place, "", parts.collect::<Vec<_>>().join("; "))
}

/// Returns advice on the compiler's error `what` in `text`.
fn advice(what: &str, text: &str) -> Vec<&'static str> {
    // Such as `cannot open source file "a.h"` and `identifier "uint32_t" is undefined`.
    let name = what.split('"').nth(1).unwrap_or_default();
    let is_header = what.starts_with("cannot open source file");
    let needs_stdint = if is_header {
        STDINT.contains(&name)
    } else {
        what.ends_with("is undefined") && INTEGERS.contains(&name)
    };
    if needs_stdint {
        return vec![NO_STDINT];
    }
    if HOST.iter().any(|part| text.contains(part)) {
        return vec![NO_HOST];
    }
    if !is_header {
        return vec![];
    }
    let instead = INSTEAD.iter().filter(|(part, _)| name.contains(part));
    let instead = instead.map(|(_, advice)| *advice);
    [NO_HEADER].into_iter().chain(instead).collect()
}

/// Splits `FILE(7): error: WHAT` into `FILE:7` and `WHAT`.
fn placed(line: &str) -> Option<(String, &str)> {
    let kinds = ["): error: ", "): catastrophic error: "];
    let (place, what) = kinds.iter().find_map(|kind| line.split_once(kind))?;
    let (file, number) = place.rsplit_once('(')?;
    number.parse::<u32>().ok()?;
    Some((format!("{file}:{number}"), what))
}

/// Loads the library for the rest of the process; returns its toolkit or its wheel, if known. The error says
/// where it was looked for.
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
        Ok(loaded_wheel())
    } else {
        Err("CUDA_HOME is not set, and there is none on the library path".into())
    }
}

/// The wheel of the library that this process has loaded, where the system lists what is loaded.
fn loaded_wheel() -> Option<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let library = toolkit::mapped(&String::from_utf8_lossy(&maps), &file_name("nvrtc", "", OS))?;
    toolkit::wheel(&library)
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

    #[test]
    fn a_missing_header_has_advice_of_its_own() {
        let kernel = "__global__ void k() {}";
        let header = |name: &str| {
            let what = format!("cannot open source file \"{name}\"");
            advice(&what, kernel)
        };
        assert_eq!(header("cuda_fp16.h"), [NO_HEADER]);
        assert!(NO_HEADER.contains("CUDA_HOME") && NO_HEADER.contains("nvidia-cuda-runtime"));
        assert!(!NO_HEADER.contains("vector.cuh"));
        let [bf16, pipeline, mma] = INSTEAD.map(|(_, advice)| advice);
        assert_eq!(header("cuda_bf16.h"), [NO_HEADER, bf16]);
        assert_eq!(header("cuda/pipeline"), [NO_HEADER, pipeline]);
        assert_eq!(header("crt/mma.h"), [NO_HEADER, mma]);
        for name in ["cstdint", "stdint.h"] {
            assert_eq!(header(name), [NO_STDINT], "{name}");
        }
    }

    #[test]
    fn an_undefined_name_may_have_advice() {
        let undefined = |name: &str, text| {
            let what = format!("identifier \"{name}\" is undefined");
            advice(&what, text)
        };
        let host = "int main() {}";
        for name in ["uint32_t", "int32_t", "uint8_t", "uint64_t", "uintptr_t"] {
            assert_eq!(undefined(name, ""), [NO_STDINT], "{name}");
            assert_eq!(undefined(name, host), [NO_STDINT], "{name}");
        }
        assert_eq!(undefined("printg", host), [NO_HOST]);
        assert!(undefined("fmaxg", "").is_empty());
    }
}
