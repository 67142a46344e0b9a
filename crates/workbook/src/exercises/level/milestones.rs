//! Milestones: what a level of one's own has to reach, method by method.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::child::{Counts, Times};

const TEXT: &str = include_str!("milestones.toml");

/// Maximum traffic, relative to the minimum.
const MOST_TRAFFIC: f64 = 1.2;
/// Traffic below which kernels cannot have read all operands: another part of the method does, which is not counted.
const LEAST_TRAFFIC: f64 = 0.95;
/// Minimum speed-up that counts as faster: less is noise.
const FASTER: f64 = 1.03;

/// The milestones as data.
#[derive(Debug, Deserialize)]
pub struct Milestones {
    #[serde(rename = "kind")]
    pub kinds: Vec<Kind>,
    #[serde(rename = "method")]
    pub methods: Vec<Method>,
}

/// A kind of milestone.
#[derive(Debug, Deserialize)]
pub struct Kind {
    pub name: String,
    task: String,
    exercise: String,
    chapter: String,
    hints: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
}

/// A method, and help to get its result right.
#[derive(Debug, Deserialize)]
pub struct Method {
    pub name: String,
    exercise: String,
    chapter: String,
    pub hints: Vec<String>,
}

/// A milestone, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Milestone<'m> {
    pub method: &'m str,
    pub kind: &'m str,
    pub task: String,
    pub hints: &'m [String],
    pub exercise: &'m str,
    pub chapter: &'m str,
}

impl Milestone<'_> {
    /// `norm_qkv steps`
    pub fn key(&self) -> String {
        format!("{} {}", self.method, self.kind)
    }
}

impl Milestones {
    /// Reads the file that is built in.
    pub fn read() -> Result<Self> {
        toml::from_str(TEXT).context("milestones.toml")
    }

    /// All milestones, kind by kind.
    pub fn all(&self) -> impl Iterator<Item = Milestone<'_>> {
        let of_kind = |kind| {
            self.methods
                .iter()
                .filter_map(move |method| of(kind, method))
        };
        self.kinds.iter().flat_map(of_kind)
    }
}

fn of<'m>(kind: &'m Kind, method: &'m Method) -> Option<Milestone<'m>> {
    if kind.except.contains(&method.name) {
        return None;
    }
    let (hints, exercise, chapter) = if kind.hints.is_empty() {
        (&method.hints, &method.exercise, &method.chapter)
    } else {
        (&kind.hints, &kind.exercise, &kind.chapter)
    };
    Some(Milestone {
        method: &method.name,
        kind: &kind.name,
        task: kind.task.replace("{method}", &method.name),
        hints,
        exercise,
        chapter,
    })
}

/// Whether a milestone is reached, and the figures that say so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub passed: bool,
    pub line: String,
    /// Whether it needs a GPU, which this machine lacks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_gpu: bool,
}

/// States by [`Milestone::key`].
pub type Progress = BTreeMap<String, State>;

fn state(passed: bool, line: String) -> State {
    State {
        passed,
        line,
        needs_gpu: false,
    }
}

/// `steps`: compared with level 1.
pub fn steps(own: Counts, level1: Counts) -> State {
    let (own, level1) = (own.steps(), level1.steps());
    state(
        own < level1,
        format!("expected fewer than level 1's {level1} steps, found {own}"),
    )
}

/// `traffic`: compared with the minimum bytes.
pub fn traffic(own: Counts, minimum: u64) -> State {
    if own.launches == 0 {
        let line =
            "expected a kernel in PTX or CUDA C++, whose bytes the simulator counts, found none";
        return state(false, line.into());
    }
    let ratio = own.bytes as f64 / minimum as f64;
    if ratio < LEAST_TRAFFIC {
        let line = format!(
            "expected kernels that read all operands, found {ratio:.2} times the minimum of {minimum} bytes ({} bytes): \
             what candle's operations or Rust code move is not counted",
            own.bytes
        );
        return state(false, line);
    }
    let line = format!(
        "expected at most {MOST_TRAFFIC} times the minimum of {minimum} bytes, found {ratio:.2} times ({} bytes)",
        own.bytes
    );
    state(ratio <= MOST_TRAFFIC, line)
}

/// `faster1` and so on: compared with a level that was timed.
pub fn faster(times: &Times, level: u8) -> State {
    let Some(own_ms) = times.own_ms else {
        let line = "expected Rust code, which this CPU can time, found a kernel, which needs a GPU";
        return State {
            needs_gpu: true,
            ..state(false, line.into())
        };
    };
    let level_ms = times.levels.get(&level).copied().unwrap_or(f64::NAN);
    let line = format!(
        "expected at least {FASTER} times the speed of level {level} ({level_ms:.3} ms), found {:.2} times ({own_ms:.3} ms)",
        level_ms / own_ms
    );
    state(level_ms / own_ms >= FASTER, line)
}

/// The level of `faster2`.
pub fn compared(kind: &str) -> Option<u8> {
    kind.strip_prefix("faster")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::root;

    #[test]
    fn every_method_has_its_milestones() -> Result<()> {
        let milestones = Milestones::read()?;
        let names: Vec<&str> = milestones
            .methods
            .iter()
            .map(|method| &*method.name)
            .collect();
        assert_eq!(names, levels::OPS);
        let kinds: Vec<&str> = milestones.kinds.iter().map(|kind| &*kind.name).collect();
        assert_eq!(
            kinds,
            [
                "correct", "steps", "faster1", "traffic", "faster2", "faster3"
            ]
        );
        let root = root()?;
        let exercises = classroom::exercise::all(&root.join("exercises"))?;
        for milestone in milestones.all() {
            let key = milestone.key();
            assert_eq!(milestone.hints.len(), 3, "{key}");
            assert!(
                milestone.task.starts_with(milestone.method) && !milestone.task.contains('\n'),
                "{key}"
            );
            assert!(
                exercises.iter().any(|e| e.id == milestone.exercise),
                "{key}: {}",
                milestone.exercise
            );
            assert!(
                root.join("book/chapters").join(milestone.chapter).is_file(),
                "{key}"
            );
        }
        Ok(())
    }

    #[test]
    fn figures_decide() {
        let counts = |launches, bytes| Counts {
            launches,
            tensors: 1,
            bytes,
            ..Counts::default()
        };
        assert!(traffic(counts(1, 1200), 1000).passed);
        let over = traffic(counts(1, 1300), 1000);
        let line =
            "expected at most 1.2 times the minimum of 1000 bytes, found 1.30 times (1300 bytes)";
        assert_eq!(
            over,
            State {
                passed: false,
                line: line.into(),
                needs_gpu: false
            }
        );
        assert!(!traffic(counts(0, 0), 1000).passed);
        let part = traffic(counts(1, 600), 1000);
        assert!(
            !part.passed && part.line.contains("found 0.60 times"),
            "{part:?}"
        );
        let times = |own_ms| Times {
            own_ms,
            levels: [(2, 2.)].into(),
        };
        assert!(faster(&times(Some(1.)), 2).passed && !faster(&times(Some(1.99)), 2).passed);
        assert!(!faster(&times(Some(f64::NAN)), 2).passed && !faster(&times(None), 2).passed);
        assert!(!faster(&times(Some(1.)), 3).passed, "level 3 was not timed");
    }
}
