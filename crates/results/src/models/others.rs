//! Comparison with other frameworks: where they are faster, and what was not tried.

use super::best::fastest;
use super::{Clock, Row};
use crate::{Results, spoken};

/// Systems of other frameworks on a CPU and on a GPU; PyG is for graphs only.
const ON_CPU: [&str; 4] = [
    "pytorch_eager",
    "pytorch_compile",
    "pytorch_compile_max_autotune",
    "pyg",
];
const ON_GPU: [&str; 8] = [
    "pytorch_eager",
    "pytorch_graph",
    "pytorch_compile",
    "pytorch_compile_reduce_overhead",
    "pytorch_compile_max_autotune",
    "pytorch_compile_max_autotune_graph",
    "pytorch_compile_max_autotune_pdl",
    "pyg",
];

/// Model, preset, workload, dtype and system of a note about a failure.
pub fn failed(note: &str) -> Option<[&str; 5]> {
    let (which, _) = note.split_once(" failed: ")?;
    which.split(' ').collect::<Vec<_>>().try_into().ok()
}

impl Results {
    /// Workloads for which another framework is faster than every level by `clock`: the fastest level, and the
    /// fastest other system.
    pub fn behind(&self, clock: Clock) -> Vec<(&Row, &Row)> {
        let ahead = |(own, other): &(&Row, &Row)| other.ms(clock) < own.ms(clock);
        let both = self.workloads().filter_map(|rows| both(rows, clock));
        both.filter(ahead).collect()
    }

    /// Other frameworks' systems that were not tried although others were: `PyG`, with the number of
    /// workloads without it in parentheses.
    pub fn not_tried(&self) -> Vec<String> {
        let systems = match self.machine.device.as_str() {
            "cpu" => &ON_CPU[..],
            _ => &ON_GPU[..],
        };
        systems.iter().filter_map(|s| self.without(s)).collect()
    }

    fn without(&self, system: &str) -> Option<String> {
        let has_others = |rows: &&[Row]| {
            let can = system != "pyg" || rows[0].model == "gnn";
            can && rows.iter().any(|row| row.system.is_some())
        };
        let compared: Vec<_> = self.workloads().filter(has_others).collect();
        let untried = |rows: &&&[Row]| !rows.iter().any(|row| self.tried(row, system));
        let name = match system {
            "pytorch_compile" => "PyTorch compile default".into(),
            other => spoken(other),
        };
        match (compared.iter().filter(untried).count(), compared.len()) {
            (0, _) => None,
            (without, all) if without == all => Some(name),
            (without, all) => Some(format!("{name} ({without} of {all} workloads)")),
        }
    }

    /// Whether `row` is of a system, or the system failed at its workload.
    fn tried(&self, row: &Row, system: &str) -> bool {
        let Row { model, preset, .. } = row;
        let key = [model, preset, &row.workload, &row.dtype, system];
        row.system.as_deref() == Some(system)
            || self.notes.iter().any(|note| failed(note) == Some(key))
    }
}

/// The fastest row of the levels, and that of the others.
fn both(rows: &[Row], clock: Clock) -> Option<(&Row, &Row)> {
    let of = |levels: bool| {
        rows.iter()
            .filter(move |row| row.system.is_none() == levels)
    };
    Some((fastest(of(true), clock)?, fastest(of(false), clock)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn row(model: &str, workload: &str, system: &str, ms: f64, device_ms: Option<f64>) -> Row {
        Row {
            model: model.into(),
            preset: "tiny".into(),
            workload: workload.into(),
            dtype: "bf16".into(),
            level: u8::from(system.is_empty()),
            system: (!system.is_empty()).then(|| system.into()),
            median_ms: ms,
            device_ms,
            ..Row::default()
        }
    }

    fn results() -> Results {
        let mut results = Results::new(Machine::default());
        results.rows = vec![
            row("lm", "prefill", "", 2., Some(1.5)),
            row("lm", "prefill", "pytorch_eager", 3., Some(1.)),
            row("lm", "prefill", "pytorch_graph", 2.5, None),
            row("lm", "prefill", "pytorch_compile", 4., Some(1.2)),
            row("gnn", "graphs128", "", 2., None),
            row("gnn", "graphs128", "pytorch_eager", 1., Some(0.5)),
            row("vit", "batch10", "", 2., None),
        ];
        let failed = "gnn tiny graphs128 bf16 pytorch_graph failed: no memory: of the device";
        results.notes.push(failed.into());
        results
    }

    #[test]
    fn each_clock_has_its_own_losses() {
        let results = results();
        let behind = |clock| {
            let pairs = results.behind(clock).into_iter();
            let titles = pairs.map(|(own, other)| (own.title(), other.variant()));
            titles.collect::<Vec<_>>()
        };
        let of = |title: &str| vec![(title.to_string(), "PyTorch eager".to_string())];
        assert_eq!(behind(Clock::Host), of("gnn tiny graphs128 bf16"));
        assert_eq!(behind(Clock::Device), of("lm tiny prefill bf16"));
    }

    #[test]
    fn a_failure_counts_as_tried() {
        let expected = [
            "PyTorch compile default (1 of 2 workloads)",
            "PyTorch compile reduce-overhead",
            "PyTorch compile max-autotune",
            "PyTorch compile max-autotune graph",
            "PyTorch compile max-autotune pdl",
            "PyG",
        ];
        assert_eq!(results().not_tried(), expected);
        let mut alone = results();
        alone.rows.retain(|row| row.system.is_none());
        assert!(alone.not_tried().is_empty(), "nothing else was measured");
        assert_eq!(failed("PyTorch 2, 2 threads"), None);
    }
}
