//! Names of series: a level, and what it runs as on the machine.

use crate::{Machine, Row, SweepRow, spoken};

/// Returns in two words at most what [`runs_as`](crate::runs_as) says in full, for a narrow column or a legend.
///
/// On a CPU there is no PTX and no CUDA: levels 3 to 5 run the kernels' twins in Rust. Empty for a number that is no
/// level, such as the 0 of another framework.
pub fn runs_as_short(level: usize, on_gpu: bool) -> &'static str {
    match (level, on_gpu) {
        (1, _) => "candle",
        (2, _) => "fused candle",
        (3, true) => "PTX",
        (4, true) => "CUDA",
        (5, true) => "tuned",
        (3..=5, false) => "Rust twin",
        _ => "",
    }
}

impl Machine {
    /// Whether the device that computed was a GPU.
    pub fn is_gpu(&self) -> bool {
        self.device == "cuda"
    }

    /// Names a level or another framework as [`spoken`] does, with what a level runs as from level 3 on:
    /// `level 4 (Rust twin)`, `level 4 (CUDA)`, `level 2`, `PyTorch`.
    pub fn label(&self, level: &str) -> String {
        self.labelled(spoken(level))
    }

    /// A name that says more than the level, such as `level 5 in a graph`, stays as it is.
    fn labelled(&self, name: String) -> String {
        let number = name.strip_prefix("level ").map(str::parse);
        match number {
            // Levels 1 and 2 are candle's ops on every device.
            Some(Ok(number @ 3..)) => format!("{name} ({})", runs_as_short(number, self.is_gpu())),
            _ => name,
        }
    }
}

impl Row {
    /// [`variant`](Self::variant), with what a level runs as on `machine`: `level 3 (Rust twin)`.
    pub fn label(&self, machine: &Machine) -> String {
        machine.labelled(self.variant())
    }
}

impl SweepRow {
    /// [`variant`](Self::variant), with what a level runs as on `machine`: `level 3 (Rust twin)`.
    pub fn label(&self, machine: &Machine) -> String {
        machine.labelled(self.variant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HIGHEST, runs_as};

    /// The short form says the same as the long one: its last level too, and nothing of PTX or CUDA on a CPU.
    #[test]
    fn both_forms_agree() {
        for level in 1..=usize::from(HIGHEST) {
            let short = runs_as_short(level, false);
            assert!(!short.is_empty(), "level {level}");
            for part in short.split(' ') {
                assert!(
                    runs_as(level, false).contains(part),
                    "level {level}: {part}"
                );
            }
        }
        for (level, short) in [(3, "PTX"), (4, "CUDA"), (5, "tuned")] {
            assert_eq!(runs_as_short(level, true), short);
            assert!(runs_as(level, true).contains(short), "level {level}");
        }
        assert_eq!(runs_as_short(0, false), "");
    }

    #[test]
    fn a_name_says_what_a_level_runs_as() {
        let machine = |device: &str| Machine {
            device: device.into(),
            ..Machine::default()
        };
        let (cpu, gpu) = (machine("cpu"), machine("cuda"));
        assert_eq!(cpu.label("level4"), "level 4 (Rust twin)");
        assert_eq!(gpu.label("level4"), "level 4 (CUDA)");
        for name in ["level2", "pytorch_compile", "copy"] {
            assert_eq!(cpu.label(name), spoken(name));
        }
        let row = |level, graph| Row {
            level,
            graph,
            ..Row::default()
        };
        assert_eq!(row(3, false).label(&cpu), "level 3 (Rust twin)");
        assert_eq!(row(5, true).label(&gpu), "level 5 in a graph");
    }
}
