//! A launch of a learner's kernel: arguments with random numbers, and the expected output.

use std::path::Path;

use data::BadInput;
use simt::case::Operands;
use simt::{Argument, Case};

use crate::answers::Answers;
use crate::oracles;
use crate::spec::{KernelSpec, Sizes};

/// The input of an oracle.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// Sizes of the launch.
    pub sizes: &'a Sizes,
    /// Arguments before the launch, in f64; a scalar is an array of one.
    pub args: Vec<Vec<f64>>,
}

impl Problem<'_> {
    /// Returns a size by name, if there is one and it is not 0.
    pub fn size(&self, name: &str) -> Option<usize> {
        let size = self.sizes.get(name).copied();
        size.filter(|&n| n > 0)?.try_into().ok()
    }

    /// Returns argument `k`, if there is one.
    pub fn arg(&self, k: usize) -> Option<&[f64]> {
        self.args.get(k).map(Vec::as_slice)
    }
}

/// A prepared launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Kernel, grid and block.
    pub case: Case,
    /// Buffers before the launch.
    pub operands: Operands,
    /// Expected output.
    pub expected: Vec<f64>,
    /// Outputs of the kernel's mistakes.
    pub mistakes: Vec<Vec<f64>>,
}

impl Launch {
    /// Prepares the launch of `kernel` at `sizes`, with numbers from `seed`. If the learner chooses the
    /// launch, it comes from the file's `answers`.
    ///
    /// # Errors
    /// The launch cannot be parsed, or the oracle does not fit its arguments.
    pub fn new(
        kernel: &KernelSpec,
        sizes: &Sizes,
        answers: &Answers,
        seed: u64,
    ) -> Result<Self, BadInput> {
        let launch = answers.in_launch(&kernel.launch)?;
        check_sizes(&launch, sizes)?;
        let launch = fill(&launch, sizes)?;
        let mut case = Case::parse(&launch).map_err(|e| bad(&launch, e))?;
        case.entry = Some(kernel.entry.clone());
        for arg in &kernel.args {
            let arg = fill(arg, sizes)?;
            let parsed: Argument = arg.parse().map_err(|e| bad(&arg, e))?;
            case.args.push(parsed);
        }
        let operands = case
            .operands(seed, Path::new(""))
            .map_err(|e| bad(&launch, e))?;
        let args = (0..case.args.len()).map(|k| values(&case.args[k], &operands, k));
        let problem = Problem {
            sizes,
            args: args.collect(),
        };
        let numbers = problem.args.get(kernel.output).map_or(0, Vec::len);
        let output = |oracle: &String| {
            let output = oracles::by_name(oracle)?(&problem);
            output
                .filter(|output| output.len() == numbers)
                .ok_or_else(|| {
                    let needs = format!("arguments and sizes of the oracle `{oracle}`");
                    let found =
                        format!("others for argument {} of {numbers} numbers", kernel.output);
                    BadInput::new(&kernel.entry, needs, found)
                })
        };
        let expected = output(&kernel.oracle)?;
        let mistakes = kernel
            .mistakes
            .iter()
            .map(|mistake| output(&mistake.oracle));
        let mistakes = mistakes.collect::<Result<_, _>>()?;
        Ok(Self {
            case,
            operands,
            expected,
            mistakes,
        })
    }

    /// Name of argument `k`'s buffer, with its type and shape.
    pub fn name(&self, k: usize) -> &str {
        let buffer = self.operands.buffer(k);
        buffer.map_or("", |buffer| &self.operands.buffers[buffer].name)
    }

    /// Name of element `i` of argument `k`'s buffer: `y[0, 2, 0]`.
    pub fn element(&self, k: usize, i: usize) -> String {
        let buffer = self.operands.buffer(k);
        let name = buffer.map_or("", |buffer| self.operands.name(buffer));
        let index = index(i, &self.shape(k));
        let index: Vec<String> = index.iter().map(usize::to_string).collect();
        format!("{name}[{}]", index.join(", "))
    }

    /// Shape of argument `k`'s buffer.
    pub fn shape(&self, k: usize) -> Vec<usize> {
        let shape = self.operands.buffer(k).map(|b| &self.operands.layouts[b].1);
        let sizes = shape.into_iter().flatten();
        sizes.map(|&size| size as usize).collect()
    }

    /// Whether element `i` of argument `k`'s uninitialised buffer is unwritten: all bits are set, which no
    /// instruction's NaN has.
    pub fn is_unwritten(&self, k: usize, i: usize) -> bool {
        let Some(b) = self.operands.buffer(k) else {
            return false;
        };
        let (buffer, bytes) = (
            &self.operands.buffers[b],
            self.operands.layouts[b].0.bytes(),
        );
        let element = buffer.bytes.chunks_exact(bytes).nth(i);
        !buffer.initialised && element.is_some_and(|all| all.iter().all(|&byte| byte == 0xff))
    }

    /// Contents of argument `k`'s buffer.
    pub fn values(&self, k: usize) -> Vec<f64> {
        values(&self.case.args[k], &self.operands, k)
    }
}

fn bad(what: &str, error: simt::Error) -> BadInput {
    match error {
        simt::Error::Launch {
            what,
            expected,
            found,
        } => BadInput::new(what, expected, found),
        other => BadInput::new(what, "a launch that can be made", other),
    }
}

/// `{batch}, {columns}`
fn names(sizes: &Sizes) -> String {
    let names: Vec<String> = sizes.keys().map(|name| format!("{{{name}}}")).collect();
    names.join(", ")
}

/// Whether grid, block and shared memory are numbers and known names.
fn check_sizes(launch: &str, sizes: &Sizes) -> Result<(), BadInput> {
    let mut words = launch.split_whitespace();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some(both) => both,
            None => (word, words.next().unwrap_or_default()),
        };
        let expected = match flag {
            "--grid" | "--block" => "one to three numbers or names, separated by commas",
            "--smem" => "a number or a name",
            _ => continue,
        };
        let name = |part: &str| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned());
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_name = |part: &str| name(part).is_some_and(|name| !name.contains(['{', '}']));
        let parts: Vec<&str> = value.split(',').collect();
        let most = if flag == "--smem" { 1 } else { 3 };
        if parts.len() > most || !parts.iter().all(|part| is_number(part) || is_name(part)) {
            let expected = format!("{expected} (names: {})", names(sizes));
            return Err(BadInput::new(flag, expected, format!("`{value}`")));
        }
        let is_unknown = |part: &&&str| name(part).is_some_and(|name| !sizes.contains_key(&name));
        if let Some(part) = parts.iter().find(is_unknown) {
            let found = format!("unknown name {part}; known names are {}", names(sizes));
            return Err(BadInput::new(flag, "", found));
        }
    }
    Ok(())
}

/// Row-major index of element `i` in an array of this shape.
fn index(i: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = i;
    let mut index: Vec<usize> = vec![];
    for &size in shape.iter().rev() {
        index.push(rest % size);
        rest /= size;
    }
    index.reverse();
    index
}

/// Numbers of an argument.
fn values(argument: &Argument, operands: &Operands, k: usize) -> Vec<f64> {
    if let Argument::Scalar(element, bits) = argument {
        return vec![element.to_f64(*bits)];
    }
    let Some(buffer) = operands.buffer(k) else {
        return vec![];
    };
    let element = operands.layouts[buffer].0;
    let bits = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    let bytes = operands.buffers[buffer].bytes.chunks_exact(element.bytes());
    bytes.map(|bytes| element.to_f64(bits(bytes))).collect()
}

/// Replaces names of sizes in braces by their values.
fn fill(text: &str, sizes: &Sizes) -> Result<String, BadInput> {
    let mut filled = text.to_owned();
    for (name, size) in sizes {
        filled = filled.replace(&format!("{{{name}}}"), &size.to_string());
    }
    if filled.contains('{') {
        Err(BadInput::new(
            text,
            format!("sizes: {}", names(sizes)),
            filled,
        ))
    } else {
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_a_launch_are_numbers_and_known_names() {
        let sizes = Sizes::from([("batch".to_owned(), 2), ("steps".to_owned(), 3)]);
        let check = |launch: &str| check_sizes(launch, &sizes).map_err(|bad| bad.to_string());
        for launch in [
            "--grid {steps},{batch} --block 32",
            "--grid=1,2,3 --smem {steps}",
        ] {
            assert_eq!(check(launch), Ok(()));
        }
        let unknown = "--grid: unknown name {rows}; known names are {batch}, {steps}";
        assert_eq!(check("--grid {rows} --block 32"), Err(unknown.into()));
        for value in ["{batch}*{steps}", "1,2,3,4", "{batch},", "x", "batch"] {
            let expected = "expected one to three numbers or names, separated by commas (names: {batch}, {steps})";
            let error = format!("--grid: {expected}, found `{value}`");
            assert_eq!(check(&format!("--grid {value} --block 32")), Err(error));
        }
    }

    #[test]
    fn an_element_has_an_index_for_each_dimension() {
        assert_eq!(index(66, &[2, 3, 33]), [0, 2, 0]);
        assert_eq!(index(100, &[2, 3, 33]), [1, 0, 1]);
        assert_eq!(index(7, &[9]), [7]);
    }
}
