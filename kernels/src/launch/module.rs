//! PTX texts of a kernel file, and which of them a GPU runs.

use candle_core::Result;

use crate::error::{mismatch, unsupported};

/// PTX of some kernels: one text, or one for each target.
///
/// All texts have the same entries. A GPU runs the one with the highest target that it supports, the
/// simulator the one with the highest target that is not specific to one architecture.
#[derive(Debug)]
pub struct Module {
    name: &'static str,
    texts: &'static [&'static str],
}

impl Module {
    /// A module with the `name` for errors, and its `texts` in ascending order of targets.
    pub const fn new(name: &'static str, texts: &'static [&'static str]) -> Self {
        Self { name, texts }
    }

    /// Name in errors: `rms_norm/level4`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One text for each target, in ascending order.
    pub fn texts(&self) -> &'static [&'static str] {
        self.texts
    }

    /// Returns the text for a GPU of compute capability `found`.
    ///
    /// # Errors
    /// If that GPU supports none of them.
    pub fn text_for(&self, found: (u32, u32)) -> Result<&'static str> {
        let can = |text: &&&str| Target::of(text).is_some_and(|target| target.runs_on(found));
        if let Some(text) = self.texts.iter().rfind(can) {
            return Ok(text);
        }
        let lowest = self.texts.first().and_then(|text| Target::of(text));
        let Some(Target { capability, alone }) = lowest else {
            return Err(mismatch(self.name, "PTX with a `.target sm_…`", "none"));
        };
        let (major, minor) = capability;
        let range = if alone { "and no other" } else { "or more" };
        // Only level 5 has kernels for one architecture. Level 4 can do the same from 8.0 on, level 3 from 7.5 on.
        let below = match found {
            (8.., _) if alone => 4,
            (7, 5..) | (8.., _) => 3,
            _ => 2,
        };
        Err(unsupported(
            self.name,
            format!("a GPU of compute capability {major}.{minor} {range}"),
            format!("{}.{}", found.0, found.1),
            below,
        ))
    }

    /// Returns the text for the simulator.
    pub(crate) fn simulated_text(&self) -> &'static str {
        let portable = |text: &&&str| Target::of(text).is_none_or(|target| !target.alone);
        let text = self.texts.iter().rfind(portable);
        text.or(self.texts.first()).copied().unwrap_or_default()
    }
}

/// The `.target` of a PTX text, which says what GPUs can run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// (7, 5) for `sm_75`.
    pub capability: (u32, u32),
    /// Whether it ends in `a`, as `sm_90a`: such a text has instructions of one architecture and does not run
    /// on newer ones ("PTX ISA", `.target`).
    pub alone: bool,
}

impl Target {
    /// Returns the target of a text; `None` without such a line.
    pub fn of(ptx: &str) -> Option<Self> {
        let target = ptx.lines().find_map(|l| l.strip_prefix(".target sm_"))?;
        let target = target.trim();
        let digits = target.trim_end_matches(|c: char| !c.is_ascii_digit());
        let number: u32 = digits.parse().ok()?;
        Some(Self {
            capability: (number / 10, number % 10),
            alone: target.ends_with('a'),
        })
    }

    /// Whether a GPU of compute capability `found` can run it.
    pub fn runs_on(self, found: (u32, u32)) -> bool {
        self.capability == found || !self.alone && self.capability < found
    }
}

/// Returns the [`Module`] of a kernel file.
///
/// `module!("rms_norm/level3")` is the hand-written `kernels/src/rms_norm/level3.ptx`.
/// `module!("rms_norm/level4", sm_75, sm_80)` is nvcc's output for `kernels/src/rms_norm/level4.cu` and these
/// targets: `kernels/generated/rms_norm/level4.sm_75.ptx` and `….sm_80.ptx`.
macro_rules! module {
    ($file:literal) => {
        $crate::launch::Module::new(
            $file,
            &[include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/",
                $file,
                ".ptx"
            ))],
        )
    };
    ($file:literal, $($target:ident),+) => {
        $crate::launch::Module::new(
            $file,
            &[$(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/generated/",
                $file,
                ".",
                stringify!($target),
                ".ptx"
            ))),+],
        )
    };
}
pub(crate) use module;
