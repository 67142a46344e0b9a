//! Lines about what is wrong with a kernel or its launch.

use std::panic::Location;
use std::path::{Path, PathBuf};

use candle_core::Error;
use kernels::launch::Module;
use simt::Report;
use simt::case::parameters;

/// Names of the kernels in a text of PTX: `.entry NAME(`.
pub fn entries(ptx: &str) -> Vec<&str> {
    let code = ptx
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == ".entry");
    pairs
        .map(|pair| pair[1].split('(').next().unwrap_or(pair[1]))
        .collect()
}

/// `src/ops.rs:50`, relative to the crate's folder.
pub fn below(folder: &str, place: &Location) -> String {
    let file = Path::new(place.file());
    let file = file.strip_prefix(folder).unwrap_or(file);
    format!("{}:{}", file.display(), place.line())
}

/// Names the place of an error, and removes candle's backtrace. A fault in the kernel's text has a line there. All others are
/// faults of the launch, which begins and runs at `places`. If the file has no kernel `entry`, names those that it has.
pub fn of_file(
    file: &str,
    module: &Module,
    entry: &str,
    places: &[String; 2],
    error: &Error,
) -> Error {
    let kernels = entries(module.texts().first().unwrap_or(&""));
    if !kernels.is_empty() && !kernels.contains(&entry) {
        let kernels = kernels.join(", ");
        let place = &places[0];
        let line =
            format!("{place}: {file}: expected a kernel of this file ({kernels}), found {entry}");
        return Error::Msg(line);
    }
    let said = error.to_string();
    let line = said.lines().next().unwrap_or_default();
    Error::Msg(if line.starts_with("line ") {
        format!("{file}: {line}")
    } else {
        format!("{}: {file}: {line}", places[1])
    })
}

/// The first finding of the launches, in one line.
pub fn defect(folder: &str, file: &str, reports: &[Report]) -> Option<String> {
    let mut found = reports
        .iter()
        .flat_map(|r| r.findings.iter().map(move |f| (r, f)));
    let (report, first) = found.next()?;
    let path: PathBuf = [folder, file].iter().collect();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let first = with_smem(with_names(&first.to_string(), &report.entry, &text));
    let more = match found.count() {
        0 => String::new(),
        n => format!(" (and {n} more findings)"),
    };
    Some(format!("{file}: {first}{more}"))
}

/// Adds to a finding about an access outside of shared memory how a launch gets more of it.
pub fn with_smem(text: String) -> String {
    if text.contains(" of shared memory, which has ") {
        text + " (`.smem(BYTES)` at the launch adds dynamic shared memory)"
    } else {
        text
    }
}

/// A text about a kernel in CUDA C++, with the names of its signature in `cuda` in place of `ENTRY_param_0`, as the compiler
/// calls its parameters.
pub fn with_names(text: &str, entry: &str, cuda: &str) -> String {
    let mut text = text.to_owned();
    // From the last one: `_param_1` begins `_param_12`.
    for (i, name) in parameters(entry, cuda).into_iter().enumerate().rev() {
        // A name that the next step replaces could grow without end.
        if !name.contains("_param_") {
            text = text.replace(&format!("{entry}_param_{i}"), name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_shared_memory_says_how_to_have_more() {
        let found = "reads byte 0 of shared memory, which has 0 bytes";
        let expected = format!("{found} (`.smem(BYTES)` at the launch adds dynamic shared memory)");
        assert_eq!(with_smem(found.into()), expected);
        let other = "reads byte 8 of x, which has 8 bytes";
        assert_eq!(with_smem(other.into()), other);
    }

    #[test]
    fn parameters_of_cuda_have_the_names_of_the_signature() {
        let cuda = "extern \"C\" __global__ void sum(const float *x, float *y) {}";
        let text = with_names("4 bytes after sum_param_1, not sum_param_0", "sum", cuda);
        assert_eq!(text, "4 bytes after y, not x");
        let grows = "__global__ void f(int a, int f_param_0f_param_0)";
        assert_eq!(with_names("f_param_1", "f", grows), "f_param_1");
    }
}
