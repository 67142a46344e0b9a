//! Names of series: a level, and what it runs as on the machine.

use crate::{HIGHEST, Machine, Row, SweepRow, runs_as, spoken};

/// Returns the short form of what [`runs_as`] says, for a narrow column or a legend: `Rust twin`, `PTX`. Empty for a number
/// that is no level, such as the 0 of another framework.
pub fn runs_as_short(level: usize, on_gpu: bool) -> &'static str {
    if (1..=usize::from(HIGHEST)).contains(&level) {
        runs_as(level, on_gpu).split(':').next().unwrap_or_default()
    } else {
        ""
    }
}

impl Machine {
    /// Whether the device that computed was a GPU.
    pub fn is_gpu(&self) -> bool {
        self.device == "cuda"
    }

    /// Names a level or another framework as [`spoken`] does, with its kind of code from level 3 on:
    /// `level 4 (Rust twin)`, `level 4 (CUDA C++)`, `level 2`, `PyTorch`.
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
    /// [`variant`](Self::variant), with its kind of code on `machine`: `level 3 (Rust twin)`.
    pub fn label(&self, machine: &Machine) -> String {
        machine.labelled(self.variant())
    }
}

impl SweepRow {
    /// [`variant`](Self::variant), with its kind of code on `machine`: `level 3 (Rust twin)`.
    pub fn label(&self, machine: &Machine) -> String {
        machine.labelled(self.variant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_fits_a_column() {
        for level in 1..=usize::from(HIGHEST) {
            for on_gpu in [false, true] {
                let short = runs_as_short(level, on_gpu);
                assert!((1..=13).contains(&short.len()), "level {level}: {short}");
            }
        }
        assert_eq!([3, 4, 5].map(|n| runs_as_short(n, false)), ["Rust twin"; 3]);
        assert_eq!(runs_as_short(3, true), "PTX");
        assert_eq!(runs_as_short(0, false), "");
        assert_eq!(runs_as_short(6, false), "");
    }

    #[test]
    fn a_name_says_what_a_level_runs_as() {
        let machine = |device: &str| Machine {
            device: device.into(),
            ..Machine::default()
        };
        let (cpu, gpu) = (machine("cpu"), machine("cuda"));
        assert_eq!(cpu.label("level4"), "level 4 (Rust twin)");
        assert_eq!(gpu.label("level4"), "level 4 (CUDA C++)");
        for name in ["level2", "pytorch_compile", "copy"] {
            assert_eq!(cpu.label(name), spoken(name));
        }
        let row = |level, cuda_graph| Row {
            level,
            cuda_graph,
            ..Row::default()
        };
        assert_eq!(row(3, false).label(&cpu), "level 3 (Rust twin)");
        assert_eq!(row(5, true).label(&gpu), "level 5 in a graph");
    }
}
