//! Tables of measurements on a device: ranges of shapes and the fastest kernel there.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ANY_CPU, ANY_GPU, Facts, Op, Problem};

/// A table's file has fewer bytes than this, which is tens of times the largest.
const MOST: u64 = 1 << 24;

/// A range of sizes, both ends included: `[33, 64]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range(pub usize, pub usize);

impl Range {
    /// Whether `x` is in it.
    pub fn contains(self, x: usize) -> bool {
        (self.0..=self.1).contains(&x)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.0, self.1) {
            (a, b) if a == b => write!(f, "{a}"),
            (0, usize::MAX) => write!(f, "any"),
            (0, 1) => write!(f, "1"), // sizes start at 1
            (0, b) => write!(f, "≤ {b}"),
            (a, usize::MAX) => write!(f, "≥ {a}"),
            (a, b) => write!(f, "{a}–{b}"),
        }
    }
}

/// A range of problems, and the fastest kernel there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The operation.
    pub op: Op,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Number of matrices.
    pub batch: Range,
    /// Rows of A.
    pub m: Range,
    /// Columns of B.
    pub n: Range,
    /// Columns of A.
    pub k: Range,
    /// Name of the fastest kernel.
    pub kernel: String,
    /// Its microseconds at the range's upper end, or at the largest measured size.
    pub us: f64,
    /// Name of the second fastest kernel; empty if there is none.
    pub next: String,
    /// Microseconds of the second fastest kernel.
    pub next_us: f64,
    /// Name of the kernel that runs without a table.
    pub untuned: String,
    /// Microseconds of the kernel that runs without a table.
    pub untuned_us: f64,
}

impl Rule {
    /// Whether it matches `problem`.
    pub fn holds(&self, problem: &Problem) -> bool {
        self.op == problem.op
            && self.dtype == problem.dtype.as_str()
            && self.batch.contains(problem.batch)
            && self.m.contains(problem.m)
            && self.n.contains(problem.n)
            && self.k.contains(problem.k)
    }
}

impl fmt::Display for Rule {
    /// `batch 1, m 33–64, n 33–64, k any: 2.10 µs, next candle 3.20 µs`
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            batch, m, n, k, us, ..
        } = self;
        write!(f, "batch {batch}, m {m}, n {n}, k {k}: {us:.2} µs")?;
        if !self.next.is_empty() {
            write!(f, ", next {} {:.2} µs", self.next, self.next_us)?;
        }
        if self.kernel == self.untuned {
            Ok(())
        } else {
            write!(f, ", untuned {} {:.2} µs", self.untuned, self.untuned_us)
        }
    }
}

/// Rules, tried from the first on, and where they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Version of the file's schema: 1.
    pub schema: u32,
    /// Name of the device; `any GPU` or `any CPU` for the fallback of unmeasured devices.
    pub device: String,
    /// The measured device of a table for any device: `AMD EPYC, 2 threads`. `None` if that is `device`
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_on: Option<String>,
    /// Driver of the measured GPU.
    pub driver: Option<String>,
    /// Version of the measuring program.
    pub version: String,
    /// Date: `2026-11-21`.
    pub date: String,
    /// Rules; the first match wins.
    pub rules: Vec<Rule>,
}

/// Version of the schema.
pub const SCHEMA: u32 = 1;

impl Table {
    /// Parses a table.
    ///
    /// # Errors
    /// The problem in the text, in one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        match table.schema {
            SCHEMA => Ok(table),
            other => Err(format!("schema: expected {SCHEMA}, found {other}")),
        }
    }

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// The problem, in one line that names the file.
    pub fn load(path: &Path) -> Result<Option<Self>, String> {
        let named = |e: String| format!("{}: {e}", path.display());
        let read = || -> io::Result<String> {
            let mut text = String::new();
            // A pipe would wait for a writer forever, and so may a file without a size, such as `/proc/kmsg`.
            let file = path.metadata()?;
            if !file.is_file() || file.len() == 0 {
                return Err(io::Error::other(
                    "expected a file, found a folder, a pipe, a device or nothing",
                ));
            }
            // A device such as `/dev/zero` has no end.
            File::open(path)?.take(MOST).read_to_string(&mut text)?;
            Ok(text)
        };
        match read() {
            Ok(text) if text.len() as u64 == MOST => Err(named(format!(
                "expected fewer than {MOST} bytes, found more"
            ))),
            Ok(text) => Self::parse(&text).map(Some).map_err(named),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(named(e.to_string())),
        }
    }

    /// Formats the file with one rule per line.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn text(&self) -> serde_json::Result<String> {
        let head = serde_json::to_string_pretty(&Self {
            rules: vec![],
            ..self.clone()
        })?;
        let rules: Vec<String> = self
            .rules
            .iter()
            .map(|rule| Ok(format!("    {}", serde_json::to_string(rule)?)))
            .collect::<serde_json::Result<_>>()?;
        let rules = if rules.is_empty() {
            "\"rules\": []".to_string()
        } else {
            format!("\"rules\": [\n{}\n  ]", rules.join(",\n"))
        };
        Ok(head.replace("\"rules\": []", &rules) + "\n")
    }

    /// Converts to the table for any device of the kind, which names the measured one.
    pub fn of_any(self, facts: &Facts) -> Self {
        let device = if facts.is_gpu() { ANY_GPU } else { ANY_CPU };
        Self {
            device: device.into(),
            measured_on: Some(facts.measured()),
            ..self
        }
    }

    /// Returns the measured device: `NVIDIA H200`; `AMD EPYC, 2 threads`.
    pub fn measured_on(&self) -> &str {
        self.measured_on.as_deref().unwrap_or(&self.device)
    }

    /// Whether it was measured on the device of `facts`.
    pub fn is_of(&self, facts: &Facts) -> bool {
        self.device == facts.name || self.measured_on == Some(facts.measured())
    }

    /// Describes its origin: `any CPU, measured on AMD EPYC, 2 threads, 2026-11-22`;
    /// `NVIDIA H200, driver 580.159.04, 2026-11-23`.
    pub fn origin(&self) -> String {
        let mut text = self.device.clone();
        if let Some(device) = &self.measured_on {
            text += &format!(", measured on {device}");
        }
        if let Some(driver) = &self.driver {
            text += &format!(", driver {driver}");
        }
        format!("{text}, {}", self.date)
    }

    /// Returns the first matching rule.
    pub fn rule(&self, problem: &Problem) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.holds(problem))
    }

    /// Returns its file name in the cache folder: device and driver, or for a CPU the threads, in letters,
    /// digits and `-`.
    pub fn file_name(facts: &Facts) -> String {
        let second = match (&facts.driver, facts.is_gpu()) {
            (Some(driver), _) => driver.clone(),
            (None, true) => String::new(),
            (None, false) => format!("{} threads", facts.units),
        };
        let name = format!("{} {second}", facts.name);
        let plain = |c: char| match c {
            '.' => '.',
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            _ => '-',
        };
        let name: String = name.trim().chars().map(plain).collect();
        format!("{name}.json")
    }
}
