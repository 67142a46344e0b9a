//! Registries of kernels, and the choice among them.

use std::fmt;

use trace::Span;

use super::tables::tables;
use super::{Facts, Problem, Rule, Table, memo};
use crate::error::unsupported;
use crate::without::{Idea, allows};

// ANCHOR: entry
/// A kernel that can be picked; `F` is what runs it. (The entry of a *launch* is the name of a kernel in PTX.)
#[derive(Debug)]
pub struct Entry<F> {
    /// `matmul_f32_level5_32x32_k64`
    pub name: &'static str,
    /// Whether it can compute a problem on a device. A few refuse sizes, too, for which they are never the fastest.
    pub can: fn(&Problem, &Facts) -> bool,
    /// Runs it.
    pub run: F,
}
// ANCHOR_END: entry

impl<F> Entry<F> {
    /// Whether it can run, and belongs to no idea that this thread [leaves out](crate::without).
    pub(crate) fn may_run(&self, problem: &Problem, facts: &Facts) -> bool {
        allows(self.name) && (self.can)(problem, facts)
    }
}

/// The kernels of an operation. Without a measurement, the first one that can run is picked.
#[derive(Debug)]
pub struct Registry<F: 'static> {
    /// Entries, tried from the first on.
    pub entries: &'static [Entry<F>],
}

/// The reason for picking an entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why<'a> {
    /// The first matching rule names it; the table was measured on the device of this name.
    Measured(&'a Rule, &'a str),
    /// No rule matches; it is the first one that can run.
    First,
    /// A fixed rule, with its reason. The tables are measured one kernel at a time, which says little about a chain.
    Fixed(&'static str),
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Measured(rule, device) => write!(f, "measured on {device}: {rule}"),
            Self::First => write!(f, "no measurement; the first that can"),
            Self::Fixed(reason) => write!(f, "{reason}"),
        }
    }
}

impl<F> fmt::Display for Picked<'_, F> {
    /// `candle: no measurement; the first that can`
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.entry.name, self.why)
    }
}

/// A picked entry, with the reason.
#[derive(Debug)]
pub struct Picked<'a, F: 'static> {
    /// The entry to run.
    pub entry: &'static Entry<F>,
    /// The reason.
    pub why: Why<'a>,
}

impl<F> Picked<'_, F> {
    /// Opens the trace's span of the entry, with the reason.
    #[inline]
    pub fn span(&self) -> Span {
        trace::span_because(self.entry.name, || self.why.to_string())
    }
}

impl<F> Registry<F> {
    /// Picks from the device's [`tables`] as [`pick_from`](Self::pick_from) does; each thread looks a problem
    /// up once.
    ///
    /// # Errors
    /// If no entry can run.
    #[inline]
    pub fn pick(
        &self,
        problem: &Problem,
        facts: &'static Facts,
    ) -> candle_core::Result<Picked<'static, F>> {
        let known = memo::recall(problem, facts, || self.find(problem, facts));
        let (why, index) = known.ok_or_else(|| no_kernel(problem))?;
        let entry = &self.entries[index];
        Ok(Picked { entry, why })
    }

    /// Returns the index of [`pick_from`](Self::pick_from)'s pick.
    #[cold]
    fn find(&self, problem: &Problem, facts: &Facts) -> Option<(Why<'static>, usize)> {
        let tables = if Idea::Dispatch.is_left_out() {
            &[]
        } else {
            tables(facts)
        };
        let picked = self.pick_from(problem, facts, tables)?;
        let same = |e: &Entry<F>| e.name == picked.entry.name;
        Some((picked.why, self.entries.iter().position(same)?))
    }

    /// Picks the entry of the first rule, table by table, that matches and whose kernel can run; otherwise
    /// the first entry that can run. `None` if there is none.
    pub fn pick_from<'a>(
        &self,
        problem: &Problem,
        facts: &Facts,
        tables: impl IntoIterator<Item = &'a Table>,
    ) -> Option<Picked<'a, F>> {
        for table in tables {
            for rule in table.rules.iter().filter(|rule| rule.holds(problem)) {
                let named = |e: &&Entry<F>| e.name == rule.kernel && e.may_run(problem, facts);
                if let Some(entry) = self.entries.iter().find(named) {
                    let why = Why::Measured(rule, table.measured_on());
                    return Some(Picked { entry, why });
                }
            }
        }
        let entry = self.able(problem, facts).next()?;
        let why = Why::First;
        Some(Picked { entry, why })
    }

    /// Iterates over the entries that can run, in order.
    pub fn able<'a>(
        &self,
        problem: &'a Problem,
        facts: &'a Facts,
    ) -> impl Iterator<Item = &'static Entry<F>> + use<'a, F> {
        let entries: &'static [Entry<F>] = self.entries;
        entries.iter().filter(move |e| e.may_run(problem, facts))
    }

    /// Returns the entry of this name.
    pub fn named(&self, name: &str) -> Option<&'static Entry<F>> {
        self.entries.iter().find(|e| e.name == name)
    }
}

#[cold]
fn no_kernel(problem: &Problem) -> candle_core::Error {
    let name = problem.op.to_string();
    unsupported(&name, "a kernel for it on this device", problem, 2)
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;
    use crate::dispatch::{Feature, Layout, Op, Range};

    const KERNELS: Registry<u32> = Registry {
        entries: &[
            Entry {
                name: "hopper",
                can: |_, facts| facts.has(Feature::Wgmma),
                run: 1,
            },
            Entry {
                name: "small",
                can: |p, facts| facts.is_gpu() && p.m.max(p.n) <= 32,
                run: 2,
            },
            Entry {
                name: "bf16",
                can: |p, facts| p.dtype == DType::BF16 && facts.at_least((8, 0)),
                run: 3,
            },
            Entry {
                name: "any",
                can: |_, facts| facts.is_gpu(),
                run: 4,
            },
        ],
    };

    fn gpu(capability: (u32, u32)) -> Facts {
        Facts::any_gpu(capability, 40)
    }

    fn problem(m: usize, dtype: DType) -> Problem {
        Problem {
            op: Op::Matmul,
            batch: 1,
            m,
            n: 8,
            k: 8,
            dtype,
            layout: [Layout::Rows; 2],
        }
    }

    fn rule(m: Range, kernel: &str) -> Rule {
        let (batch, n, k) = (Range(0, 9), Range(0, 99), Range(0, usize::MAX));
        Rule {
            op: Op::Matmul,
            dtype: "f32".into(),
            batch,
            m,
            n,
            k,
            kernel: kernel.into(),
            us: 1.,
            next: String::new(),
            next_us: 0.,
            untuned: "any".into(),
            untuned_us: 1.,
        }
    }

    fn table(rules: Vec<Rule>) -> Table {
        Table {
            schema: 1,
            device: "a GPU".into(),
            measured_on: None,
            driver: None,
            version: "1.2".into(),
            date: "2026-11-21".into(),
            rules,
        }
    }

    #[test]
    fn the_first_entry_that_can_run_is_picked_on_every_gpu() {
        for (capability, m, dtype, name) in [
            ((7, 0), 8, DType::F32, "small"),
            ((7, 5), 64, DType::BF16, "any"),
            ((8, 0), 64, DType::BF16, "bf16"),
            ((8, 9), 32, DType::F32, "small"),
            ((9, 0), 8, DType::F32, "hopper"),
            ((10, 0), 64, DType::BF16, "bf16"),
            ((12, 0), 64, DType::F32, "any"),
        ] {
            let problem = problem(m, dtype);
            let picked = KERNELS
                .pick_from(&problem, &gpu(capability), [])
                .expect("one");
            assert_eq!(picked.entry.name, name, "{capability:?} {problem}");
            assert_eq!(picked.why, Why::First);
        }
        let cpu = Facts::cpu("a CPU", 2);
        assert!(
            KERNELS
                .pick_from(&problem(8, DType::F32), &cpu, [])
                .is_none()
        );
    }

    #[test]
    fn the_first_matching_rule_wins() {
        let measured = table(vec![rule(Range(1, 16), "any"), rule(Range(1, 64), "small")]);
        let generic = table(vec![rule(Range(0, usize::MAX), "any")]);
        let turing = gpu((7, 5));
        for (m, name, of) in [(8, "any", 0), (17, "small", 1)] {
            let problem = problem(m, DType::F32);
            let picked = KERNELS
                .pick_from(&problem, &turing, [&measured, &generic])
                .expect("one");
            assert_eq!(picked.entry.name, name);
            assert_eq!(picked.why, Why::Measured(&measured.rules[of], "a GPU"));
        }
        // `small` cannot run here, so the next table decides.
        let problem = problem(60, DType::F32);
        let picked = KERNELS
            .pick_from(&problem, &turing, [&measured, &generic])
            .expect("one");
        assert_eq!(picked.entry.name, "any");
        assert_eq!(picked.why, Why::Measured(&generic.rules[0], "a GPU"));
    }

    #[test]
    fn a_rule_of_an_unknown_kernel_is_skipped() {
        let table = table(vec![rule(Range(0, 99), "of another version")]);
        let problem = problem(8, DType::F32);
        let picked = KERNELS
            .pick_from(&problem, &gpu((7, 5)), [&table])
            .expect("one");
        assert_eq!((picked.entry.name, picked.why), ("small", Why::First));
    }

    #[test]
    fn a_table_survives_writing_and_reading() -> Result<(), Box<dyn std::error::Error>> {
        for rules in [
            vec![],
            vec![
                rule(Range(1, 16), "any"),
                rule(Range(17, usize::MAX), "small"),
            ],
        ] {
            let table = table(rules);
            assert_eq!(Table::parse(&table.text()?)?, table);
        }
        Ok(())
    }

    #[test]
    fn a_damaged_table_is_a_one_line_error() {
        for text in ["", "{", "[]", r#"{"schema": 1}"#] {
            let error = Table::parse(text).expect_err(text);
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let text = table(vec![]).text().expect("finite");
        let error = Table::parse(&text.replace("\"schema\": 1", "\"schema\": 2"));
        assert_eq!(error, Err("schema: expected 1, found 2".into()));
    }
}
