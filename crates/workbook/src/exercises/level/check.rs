//! Decides about the methods of a learner's level.

mod difference;
mod kernels;
mod stderr;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use candle_core::DType;
use classroom::{in_cuda, printable};
use cli::own::OwnLevel;
use cli::{files, toolkit};
use data::Temporary;
use levels::Level;
use sandbox::{Killed, Limits, Outcome};

pub use self::difference::difference;
use self::kernels::Kernels;
use self::stderr::{exhausted, last_lines, one_line, panic, with_line};
use super::calls::Call;
use super::child::{self, Counts, Found, Output, PRINTED, Printed, Ran, Times};
use super::oracle::{expected, with_tanh};
use super::repeat::Counted;

/// Runs the methods of one level, each in a process of its own.
pub struct Checker<'l> {
    level: &'l OwnLevel,
    /// The workbook with the level in it.
    program: &'l Path,
    /// Time limit of a method.
    limit: Duration,
    folder: Temporary,
    kernels: Kernels,
    /// The last lines that the last child wrote to stderr.
    said: RefCell<Vec<String>>,
    /// The first lines of `printf` in the kernels of the method that was checked last.
    printed: RefCell<Vec<String>>,
}

/// Counts of a method that is right, or one line that names the fault, its file and its line.
pub type Checked = std::result::Result<Right, String>;

/// A method with the right results.
#[derive(Debug, Clone, Default)]
pub struct Right {
    /// Counters of the last call.
    pub counts: Counts,
    /// Whether it launches kernels also where it may choose its CPU twin.
    pub needs_gpu: bool,
    /// Work that its kernels leave to other code in that call.
    pub left: Option<String>,
    /// Files in `kernels/` whose kernels it launched.
    pub files: BTreeSet<PathBuf>,
    /// The line of its kernels that moves the most bytes in that call.
    pub most: Option<Most>,
}

/// A line of a kernel, and its share of the traffic.
#[derive(Debug, Clone, Default)]
pub struct Most {
    /// `FILE:LINE`
    pub place: String,
    /// `` `ld.global.f32` moves 1024 bytes ``
    pub what: String,
}

/// `FILE:LINE: METHOD: WHAT`, at the method in `src/ops.rs` of a level.
pub fn at(level: &OwnLevel, method: &str, what: &str) -> String {
    format!("{}: {what}", place(level, method))
}

/// `FILE:LINE: METHOD`
pub fn place(level: &OwnLevel, method: &str) -> String {
    let file = level.folder().join("src/ops.rs");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let begin = format!("fn {method}(");
    let line = text
        .lines()
        .position(|line| line.trim_start().starts_with(&begin));
    let line = line.map_or(String::new(), |line| format!(":{}", line + 1));
    format!("{}{line}: {method}", file.display())
}

/// Toolkits and headers that compile a kernel in CUDA C++.
pub fn for_kernels() -> impl Iterator<Item = PathBuf> {
    let toolkits = toolkit::named().map(|(_, root)| root).into_iter();
    let system = Some(toolkit::SYSTEM.into());
    let all = toolkits.chain(system).chain(toolkit::own());
    let all = all.chain(files::find("kernels/src").ok());
    all.filter(|path| path.is_dir())
}

/// Kernels that a method's calls launch at most.
const MOST: usize = 100;

/// Names of all kernels.
fn entries(ran: &[Ran]) -> BTreeSet<&String> {
    ran.iter().flat_map(|ran| &ran.entries).collect()
}

/// Time limit of a timing, over that of a check.
const TO_TIME: u32 = 3;

/// Limit of a method's address space in bytes.
const MEMORY: u64 = 8 << 30;

impl<'l> Checker<'l> {
    /// A checker of a level that is built.
    pub fn new(level: &'l OwnLevel, program: &'l Path, limit: Duration) -> Result<Self> {
        Ok(Self {
            level,
            program,
            limit,
            folder: Temporary::new(&std::env::temp_dir())?,
            kernels: Kernels::of(level.folder()),
            said: RefCell::default(),
            printed: RefCell::default(),
        })
    }

    /// Checks one method: its results against the oracle, with a clean simulation.
    pub fn check(&self, method: &str, seed: u64) -> Result<Checked> {
        let file = self.folder.path().join(format!("{method}.json"));
        self.printed.take();
        let seed_text = seed.to_string();
        let args = ["run", self.level.name(), method, &seed_text];
        let ended = self.child(self.program, &args, &file, self.limit)?;
        if let Some(line) = self.refused(method, &ended, &file, self.limit) {
            return Ok(Err(line));
        }
        let ran: Vec<Ran> = match child::read(&file) {
            Ok(ran) => ran,
            Err(error) => return Ok(Err(self.at(method, &one_line(&error.to_string())))),
        };
        self.printed.replace(printed(&ran));
        Ok(match self.fault(method, &ran, seed)? {
            Some(line) => Err(one_line(&line)),
            None => Ok(self.counted(method, &ran, &file, seed)?),
        })
    }

    /// Counts of a method that is right, and whose process wrote `ran` to a file.
    fn counted(&self, method: &str, ran: &[Ran], file: &Path, seed: u64) -> Result<Right> {
        let entries = entries(ran).into_iter();
        let mut right = Right {
            files: entries.map(|entry| self.kernels.file_of(entry)).collect(),
            ..Right::default()
        };
        let Some(last) = ran.last() else {
            return Ok(right);
        };
        right.needs_gpu = last.needs_gpu;
        let Counted { counts, left, most } = self.repeated(method, last, file, seed)?;
        right.counts = counts;
        right.left = left.map(|left| one_line(&left));
        right.most = most.map(|most| Most {
            place: self.place(&most),
            what: one_line(&most.what),
        });
        Ok(right)
    }

    /// Repeats the launches of a file in a process without the level: their PTX may take long or much memory to read. Those
    /// of all calls are repeated for a level of a stranger, who may hide faults.
    fn repeated(&self, method: &str, last: &Ran, file: &Path, seed: u64) -> Result<Counted> {
        let out = self.folder.path().join(format!("{method}-repeated.json"));
        let program = std::env::current_exe()?;
        // In the folder of the child.
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let seed = seed.to_string();
        let mut args = vec!["repeat", method, &name];
        if self.level.is_confined() {
            args.extend(["--seed", &seed]);
        }
        let ended = self.child(&program, &args, &out, self.limit)?;
        let found = match ended.killed {
            None if ended.status.success() => return Ok(child::read(&out)?),
            None => {
                let why = exhausted(&ended.stderr.text()).unwrap_or_default();
                format!("an early end ({}) {why}", ended.status)
            }
            Some(_) => format!("them still running after {} s", self.limit.as_secs_f32()),
        };
        Ok(Counted::unrepeated(last, found.trim_end()))
    }

    /// The line about the first fault in what a child wrote, which has one outcome per call, up to one that fails.
    fn fault(&self, method: &str, ran: &[Ran], seed: u64) -> Result<Option<String>> {
        if let Some(what) = ran.iter().find_map(Ran::made_up) {
            let what = format!("expected {what}, found others");
            return Ok(Some(self.at(method, &what)));
        }
        let calls = child::all().len();
        for (i, ran) in ran.iter().enumerate().take(calls) {
            if let Some(line) = self.wrong(method, ran, seed, i)? {
                return Ok(Some(line));
            }
        }
        if ran.len() != calls {
            let what = format!("expected {calls} calls, found {}", ran.len());
            return Ok(Some(self.at(method, &what)));
        }
        let kernels = entries(ran).len();
        let what = format!("expected at most {MOST} kernels, found {kernels}");
        Ok((kernels > MOST).then(|| self.at(method, &what)))
    }

    /// Times one method next to `levels`.
    pub fn time(&self, method: &str, levels: &[u8]) -> Result<std::result::Result<Times, String>> {
        let file = self.folder.path().join(format!("{method}-time.json"));
        let numbers: Vec<String> = levels.iter().map(u8::to_string).collect();
        let mut args = vec!["time", self.level.name(), method];
        args.extend(numbers.iter().flat_map(|number| ["--level", number]));
        // All of these levels run, too, one after the other.
        let limit = TO_TIME * self.limit;
        let ended = self.child(self.program, &args, &file, limit)?;
        match self.refused(method, &ended, &file, limit) {
            Some(line) => Ok(Err(line)),
            None => {
                Ok(child::read(&file)
                    .map_err(|error| self.at(method, &one_line(&error.to_string()))))
            }
        }
    }

    /// Compares whole models with all levels; returns the file of what was measured.
    pub fn compare(
        &self,
        instead: &[&str],
        samples: usize,
    ) -> Result<std::result::Result<PathBuf, String>> {
        let file = self.folder.path().join("compared.json");
        let samples = samples.to_string();
        let mut args = vec!["compare", self.level.name(), "--samples", &samples];
        args.extend(instead.iter().flat_map(|method| ["--instead", *method]));
        let ended = self.child(self.program, &args, &file, self.limit)?;
        Ok(
            match self.refused("whole models", &ended, &file, self.limit) {
                Some(line) => Err(line),
                None => Ok(file),
            },
        )
    }

    /// Runs a program, such as the one with the level in it; the one place where code of a learner starts.
    fn child(
        &self,
        program: &Path,
        args: &[&str],
        file: &Path,
        limit: Duration,
    ) -> Result<Outcome> {
        let mut command = Command::new(program);
        let mut limits = Limits::new(limit).open_files(1024).file_size(1 << 30);
        // These are on the CPU alone. The driver of a GPU takes more address space than there is memory.
        let is_on_cpu = matches!(args.first(), Some(&("run" | "repeat")));
        let has_gpu = cfg!(feature = "cuda") && !is_on_cpu;
        limits = limits.memory(if has_gpu { u64::MAX } else { MEMORY });
        if self.level.is_confined() {
            let kept = ["PATH", "CUDA_HOME", "CUDA_PATH", "RAYON_NUM_THREADS"];
            let kept = kept.map(|name| Some((name, std::env::var_os(name)?)));
            command.env_clear().envs(kept.into_iter().flatten());
            limits = limits
                .readable(program)
                .readable(self.level.folder())
                .writable(self.folder.path())
                .file_size(1 << 26);
            limits = for_kernels().fold(limits, Limits::readable);
        } else {
            limits = limits.unconfined();
        }
        command
            .current_dir(self.folder.path())
            .args(["exercises", "level"])
            .args(args)
            .arg(file)
            .envs([("RUST_BACKTRACE", "0"), ("RUST_LIB_BACKTRACE", "0")]);
        let ended = sandbox::run(command, &limits)?;
        self.said.replace(last_lines(&ended.stderr.text()));
        Ok(ended)
    }

    /// The last lines of a learner's own that the last child wrote to stderr.
    pub fn said(&self) -> Vec<String> {
        self.said.borrow().clone()
    }

    /// The lines about `printf` in the kernels of the method that was checked last.
    pub fn printed(&self) -> Vec<String> {
        self.printed.take()
    }

    /// The line about a process that did not end well, or that wrote to stdout.
    fn refused(
        &self,
        method: &str,
        ended: &Outcome,
        file: &Path,
        limit: Duration,
    ) -> Option<String> {
        let limit = limit.as_secs_f32();
        match ended.killed {
            Some(Killed::Time | Killed::Cpu) => {
                let what = format!("expected it to end within {limit} s, found it still running");
                return Some(self.at(method, &what));
            }
            Some(Killed::FileSize) => {
                return Some(self.at(method, "wrote a file that is too large"));
            }
            None => {}
        }
        let (stdout, stderr) = (ended.stdout.text(), ended.stderr.text());
        if let Some((place, why)) = panic(&stderr) {
            let own = self.level.folder().canonicalize().unwrap_or_default();
            return Some(match place.strip_prefix(&format!("{}/", own.display())) {
                Some(place) => format!(
                    "{}/{place}: {method}: panicked: {why}",
                    self.level.folder().display()
                ),
                None => self.at(method, &format!("panicked: {why}")),
            });
        }
        if !stdout.is_empty() {
            let first = stdout.lines().next().unwrap_or_default();
            let what = format!(
                "wrote to stdout, which belongs to the programs (use `eprintln!`): {first:?}"
            );
            return Some(self.at(method, &printable(&data::short(what))));
        }
        let said = stderr.lines().rfind(|line| line.starts_with("error: "));
        let status = ended.status;
        // A method that ends the process with code 0 has written nothing.
        (!status.success() || !file.is_file()).then(|| {
            let said = said.map(|said| one_line(&said[7..]));
            let said = said.or_else(|| exhausted(&stderr));
            let said = said.map_or(String::new(), |said| format!(": {said}"));
            self.at(method, &format!("ended early ({status}){said}"))
        })
    }

    /// The line about a call that failed or has another result than the oracle.
    fn wrong(&self, method: &str, ran: &Ran, seed: u64, index: usize) -> Result<Option<String>> {
        let (dtype, sizes, _) = child::all()[index];
        if let Some(found) = ran.findings.first() {
            let call = child::draw(method, seed, index)?;
            let line = self.in_kernel(method, found);
            return Ok(Some(format!("{line} ({})", call.words(sizes, dtype))));
        }
        if let Some(error) = &ran.error {
            let is_placed = error.starts_with("kernels/") || error.starts_with("src/");
            return Ok(Some(if is_placed {
                let line = with_line(&one_line(error), method);
                format!("{}/{line}", self.level.folder().display())
            } else {
                self.at(method, &one_line(error))
            }));
        }
        let call = child::draw(method, seed, index)?;
        let what = call.words(sizes, dtype);
        let found = match compared(&call, &ran.outputs, dtype)? {
            None => compared(&child::second(&call, seed, index)?, &ran.on_cpu, dtype)?,
            found => found,
        };
        // The outputs of kernels are full of NaN before they run.
        let unwritten = |line: String| {
            if ran.entries.is_empty() {
                line
            } else {
                let why = "found NaN (either no thread wrote this element, or one stored NaN)";
                line.replace("found NaN", why)
            }
        };
        let found = found.map(unwritten);
        Ok(found.map(|line| self.at(method, &format!("{line} ({what})"))))
    }

    /// `FILE:LINE: METHOD: WHAT`, at the method in `src/ops.rs`.
    fn at(&self, method: &str, what: &str) -> String {
        at(self.level, method, what)
    }

    /// The line about a finding, at the kernel's file.
    fn in_kernel(&self, method: &str, found: &Found) -> String {
        let what = match &found.source {
            Some(_) => in_cuda(&found.what),
            None => found.what.clone(),
        };
        let what = self.kernels.with_names(&one_line(&what), &found.entry);
        let what = level_kit::with_smem(what);
        let from = match self.caller(found) {
            Some(place) => format!(" (in code that {place} calls)"),
            None => String::new(),
        };
        one_line(&format!("{}: {method}: {what}{from}", self.place(found)))
    }

    /// `FILE:LINE` of the learner's kernel that led into the header which a finding is in: the line of the call if the PTX
    /// names it, or else the line of the kernel.
    fn caller(&self, found: &Found) -> Option<String> {
        let (header, _) = found.source.as_ref()?;
        if let Some((file, line)) = &found.called {
            return Some(self.place_of(Path::new(file), *line));
        }
        let file = self.kernels.file_of(&found.entry);
        let line = self.kernels.line_of(&found.entry)?;
        let is_own = Path::new(header).file_name() == file.file_name();
        (!is_own).then(|| self.place_of(&file, line))
    }

    /// `FILE:LINE` of a kernel.
    fn place(&self, found: &Found) -> String {
        let Found {
            entry,
            source,
            line,
            ..
        } = found;
        let (file, line) = match source {
            Some((file, line)) => (PathBuf::from(file), *line),
            None => (self.kernels.file_of(entry), *line),
        };
        self.place_of(&file, line)
    }

    fn place_of(&self, file: &Path, line: u32) -> String {
        let own = self.level.folder().canonicalize().unwrap_or_default();
        let place = self
            .level
            .folder()
            .join(file.strip_prefix(&own).unwrap_or(file));
        one_line(&format!("{}:{line}", place.display()))
    }
}

/// The first lines of `printf` in all launches of a method's calls, and how many follow.
fn printed(ran: &[Ran]) -> Vec<String> {
    let launches = || {
        let calls = ran.iter().zip(child::all()).zip(1..);
        calls.flat_map(|((ran, (dtype, ..)), call)| {
            ran.printed.iter().map(move |p| (call, dtype, p))
        })
    };
    let of = |(call, dtype, printed): (usize, DType, &'_ Printed)| -> Vec<String> {
        let Printed { launch, entry, .. } = printed;
        let dtype = dtype.as_str();
        let begin = format!("printf in {entry}, call {call} in {dtype}, launch {launch}: ");
        let lines = printed.lines.iter().take(PRINTED);
        lines
            .map(|line| one_line(&format!("{begin}{line}")))
            .collect()
    };
    let more: usize = launches().fold(0, |sum, (.., p)| p.more.saturating_add(sum));
    let mut lines: Vec<String> = launches().flat_map(of).collect();
    let more = more.saturating_add(lines.len().saturating_sub(PRINTED));
    lines.truncate(PRINTED);
    if more > 0 {
        lines.push(format!("… {more} more lines of printf"));
    }
    lines
}

/// The first difference of a call's results from the oracle's.
fn compared(call: &Call, found: &[Output], dtype: DType) -> Result<Option<String>> {
    let Some(line) = difference(&expected(call)?, found, dtype) else {
        return Ok(None);
    };
    let line = with_result(line, call.results());
    let is_tanh = with_tanh(call)?.is_some_and(|tanh| difference(&tanh, found, dtype).is_none());
    let tanh = if is_tanh {
        "; looks like the tanh approximation of GELU, but the models use erf"
    } else {
        ""
    };
    Ok(Some(line + tanh))
}

/// A difference in `result 1: …`, with the name of the result.
fn with_result(line: String, names: &[&str]) -> String {
    let parts = line
        .strip_prefix("result ")
        .and_then(|it| it.split_once(": "));
    let named = parts.and_then(|(number, what)| {
        let name = names.get(number.parse::<usize>().ok()?)?;
        Some(format!("{name} (result {number}): {what}"))
    });
    named.unwrap_or(line)
}

/// Counts of level 1's method, and the least bytes, which the milestones compare with.
pub fn counts_of(ops: &Level, method: &str) -> Result<(Counts, u64)> {
    let call = child::draw(method, 0, child::all().len() - 1)?;
    let ran = child::observe(&call, || call.run(&**ops))?;
    Ok((ran.counts, call.cost()?.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_its_name() -> Result<()> {
        let call = child::draw("norm_qkv", 3, 0)?;
        let line = |text: &str| with_result(text.into(), call.results());
        assert_eq!(
            line("result 1: element 0: no"),
            "k (result 1): element 0: no"
        );
        assert_eq!(line("element 0: no"), "element 0: no");
        for method in levels::OPS {
            let call = child::draw(method, 3, 0)?;
            assert_eq!(call.results().len(), expected(&call)?.len(), "{method}");
        }
        Ok(())
    }

    /// The oracle is right if five levels, written without it, agree with it.
    #[test]
    fn every_level_passes_the_check() -> Result<()> {
        for ops in levels::all() {
            for method in levels::OPS {
                for (i, (dtype, ..)) in child::all().into_iter().enumerate() {
                    let call = child::draw(method, 3, i)?;
                    let ran = child::observe(&call, || call.run(&*ops))?;
                    let all = expected(&call)?;
                    let what = format!("level {}, {method}, call {i}", ops.level());
                    assert_eq!(ran.error, None, "{what}");
                    assert!(ran.findings.is_empty(), "{what}: {:?}", ran.findings);
                    assert_eq!(difference(&all, &ran.outputs, dtype), None, "{what}");
                }
            }
        }
        Ok(())
    }
}
