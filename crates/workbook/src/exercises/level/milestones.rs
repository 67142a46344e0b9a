//! Milestones: what a level of one's own has to reach, method by method.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::check::Right;
use super::child::{Counts, Times};

const TEXT: &str = include_str!("milestones.toml");

/// Maximum traffic, relative to the minimum.
const MOST_TRAFFIC: f64 = 1.2;
/// Levels whose time a milestone compares with.
pub const TIMED: &[u8] = &[1, 2, 3, 4, 5];
/// Minimum speed-up that counts as faster: less is noise.
const FASTER: f64 = 1.03;

/// The milestones as data.
#[derive(Debug, Deserialize)]
pub struct Milestones {
    /// Methods in the order of the chapter's plan; those that it does not name come last.
    plan: Vec<String>,
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
    /// The exercise of methods for which that of the kind is no help.
    #[serde(default)]
    exercises: BTreeMap<String, String>,
    /// The first hint of methods for which that of the kind is no help.
    #[serde(default)]
    first: BTreeMap<String, String>,
    /// The last hint where no kernel is launched, if that in `hints` is about kernels.
    without_kernel: Option<String>,
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
    pub hints: Vec<&'m String>,
    pub without_kernel: Option<&'m String>,
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

    /// A method's place in the chapter's plan.
    pub fn place(&self, method: &str) -> usize {
        let place = self.plan.iter().position(|planned| planned == method);
        place.unwrap_or(self.plan.len())
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
        let exercise = kind.exercises.get(&method.name);
        (
            &kind.hints,
            exercise.unwrap_or(&kind.exercise),
            &kind.chapter,
        )
    };
    let mut hints: Vec<&String> = hints.iter().collect();
    if let (Some(hint), Some(first)) = (hints.first_mut(), kind.first.get(&method.name)) {
        *hint = first;
    }
    Some(Milestone {
        method: &method.name,
        kind: &kind.name,
        task: kind.task.replace("{method}", &method.name),
        hints,
        without_kernel: kind.without_kernel.as_ref(),
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
    /// Whether the times that it compares are noisy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub noisy: bool,
}

impl State {
    /// This measurement, where the one before said `before`: a milestone is neither reached nor lost by a noisy time.
    pub fn after(self, before: Option<&Self>) -> Self {
        let was_reached = before.is_some_and(|before| before.passed);
        if !self.noisy || !was_reached {
            return self;
        }
        Self {
            passed: true,
            line: self.line + "; reached on an earlier run",
            ..self
        }
    }
}

/// States by [`Milestone::key`].
pub type Progress = BTreeMap<String, State>;

fn state(passed: bool, line: String) -> State {
    State {
        passed,
        line,
        ..State::default()
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
pub fn traffic(right: &Right, minimum: u64) -> State {
    let own = right.counts;
    if let Some(left) = &right.left {
        let line = format!("expected {left}: only what kernels load and store is counted");
        return state(false, line);
    }
    if own.launches == 0 {
        let line =
            "expected a kernel in PTX or CUDA C++, whose bytes the simulator counts, found none";
        return state(false, line.into());
    }
    let ratio = own.bytes as f64 / minimum as f64;
    let line = format!(
        "expected at most {MOST_TRAFFIC} times the minimum of {minimum} bytes, found {ratio:.2} times ({} bytes)",
        own.bytes
    );
    state(ratio <= MOST_TRAFFIC, line)
}

/// `faster1` and so on of a kernel on a CPU.
pub fn needs_gpu() -> State {
    let line = "expected Rust code, which this CPU can time, found a kernel, which needs a GPU";
    State {
        needs_gpu: true,
        ..state(false, line.into())
    }
}

/// `faster1` and so on: compared with a level that was timed.
pub fn faster(times: &Times, level: u8) -> State {
    let Some(own_ms) = times.own_ms else {
        return needs_gpu();
    };
    let level_ms = times.levels.get(&level).copied().unwrap_or(f64::NAN);
    let mut line = format!(
        "expected at least {FASTER} times the speed of level {level} ({level_ms:.3} ms), found {:.2} times ({own_ms:.3} ms)",
        level_ms / own_ms
    );
    let noise = times.noise.get(&level);
    if let Some(noise) = noise {
        line += &format!("; ~: the slow runs took {noise:.1}× as long as the fast runs");
    }
    State {
        noisy: noise.is_some(),
        // A noisy time decides nothing.
        ..state(noise.is_none() && level_ms / own_ms >= FASTER, line)
    }
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
        let chapter = std::fs::read_to_string(root()?.join("book/chapters/own-level.md"))?;
        let (_, plan) = chapter.split_once("\n## A plan\n").unwrap_or_default();
        let (plan, _) = plan.split_once("\n## ").unwrap_or_default();
        let at = |method: &String| plan.find(&format!("`{method}`")).context(method.clone());
        let places = milestones.plan.iter().map(at).collect::<Result<Vec<_>>>()?;
        assert!(places.is_sorted(), "the chapter's plan has another order");
        let kinds: Vec<&str> = milestones.kinds.iter().map(|kind| &*kind.name).collect();
        assert_eq!(
            kinds,
            [
                "correct", "steps", "faster1", "traffic", "faster2", "faster3", "faster4",
                "faster5"
            ]
        );
        let timed: Vec<u8> = kinds.iter().filter_map(|kind| compared(kind)).collect();
        assert_eq!(timed, TIMED);
        let root = root()?;
        let exercises = classroom::exercise::all(&root.join("exercises"))?;
        for milestone in milestones.all() {
            let key = milestone.key();
            assert_eq!(milestone.hints.len(), 3, "{key}");
            assert!(
                milestone.task.starts_with("make ") && !milestone.task.contains('\n'),
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

    /// The title of each exercise names what its milestones need.
    #[test]
    fn the_exercises_are_about_their_milestones() -> Result<()> {
        let subjects = [
            ("correct", "guard"),
            ("steps", "fused"),
            ("faster1", "benchmark"),
            ("traffic", "coalescing"),
            ("faster2", "register tile"),
            ("faster3", "loads, all in flight"),
            ("faster4", "registers"),
            ("faster5", "dispatch"),
            ("embedding", "addresses"),
            ("patch_embed", "matmul"),
            ("linear", "matmul"),
            ("norm_linear", "layer norm"),
            ("norm_qkv", "matmul for q, k and v"),
            ("norm_qkv_skip", "matmul for q, k and v"),
            ("causal_attention", "causal"),
            ("attention", "softmax"),
            ("edge_attention", "softmax"),
            ("linear_residual", "residual"),
            ("norm_swiglu", "swiglu"),
            ("norm_gelu", "norm"),
            ("segment_mean", "coalesced loads"),
            ("next_token", "first maximum"),
        ];
        let Milestones { kinds, methods, .. } = Milestones::read()?;
        let kinds = kinds.iter().map(|kind| (&kind.name, &kind.exercise));
        let methods = methods.iter().map(|it| (&it.name, &it.exercise));
        let exercises = classroom::exercise::all(&root()?.join("exercises"))?;
        let named: Vec<_> = kinds.chain(methods).collect();
        assert_eq!(named.len(), subjects.len());
        let milestones = Milestones::read()?;
        let mut steps = milestones.all().filter(|m| m.kind == "steps");
        let mut of = |method: &'static str| steps.find(|m| m.method == method).context(method);
        let embedding = of("embedding")?;
        assert_eq!(embedding.exercise, "07-guard");
        assert!(
            embedding.hints[0].contains("kernel"),
            "{:?}",
            embedding.hints
        );
        assert_eq!(of("norm_qkv")?.exercise, "06-one-product");
        assert_eq!(of("norm_qkv_skip")?.exercise, "06-one-product");
        assert_eq!(of("norm_gelu")?.exercise, "05-fused-softmax");
        for ((name, id), (expected, subject)) in named.into_iter().zip(subjects) {
            assert_eq!(name, expected);
            let found = exercises.iter().find(|exercise| exercise.id == *id);
            let title = &found.with_context(|| id.clone())?.spec.title;
            assert!(title.to_lowercase().contains(subject), "{name}: {title}");
        }
        Ok(())
    }

    #[test]
    fn figures_decide() {
        let counted = |launches, bytes, left: Option<&str>| Right {
            counts: Counts {
                launches,
                tensors: 1,
                bytes,
                ..Counts::default()
            },
            left: left.map(str::to_owned),
            ..Right::default()
        };
        assert!(traffic(&counted(1, 1200, None), 1000).passed);
        let over = traffic(&counted(1, 1300, None), 1000);
        let line =
            "expected at most 1.2 times the minimum of 1000 bytes, found 1.30 times (1300 bytes)";
        assert_eq!(
            over,
            State {
                passed: false,
                line: line.into(),
                ..State::default()
            }
        );
        assert!(!traffic(&counted(0, 0, None), 1000).passed);
        let line = "expected w, found none: only what kernels load and store is counted";
        for launches in [0, 1] {
            let part = traffic(&counted(launches, 1000, Some("w, found none")), 1000);
            assert!(!part.passed && part.line == line, "{part:?}");
        }
        let times = |own_ms| Times {
            own_ms,
            levels: [(2, 2.)].into(),
            ..Times::default()
        };
        assert!(faster(&times(Some(1.)), 2).passed && !faster(&times(Some(1.99)), 2).passed);
        assert!(!faster(&times(Some(f64::NAN)), 2).passed && !faster(&times(None), 2).passed);
        assert!(!faster(&times(Some(1.)), 3).passed, "level 3 was not timed");
    }

    #[test]
    fn a_milestone_is_not_lost_to_noise() {
        let times = |own_ms, noise: &[(u8, f64)]| Times {
            own_ms: Some(own_ms),
            levels: [(2, 2.)].into(),
            noise: noise.iter().copied().collect(),
            ..Times::default()
        };
        let reached = faster(&times(1., &[]), 2);
        assert!(reached.passed && !reached.noisy);
        let noisy = faster(&times(3., &[(2, 1.8)]), 2);
        let end =
            "found 0.67 times (3.000 ms); ~: the slow runs took 1.8× as long as the fast runs";
        assert!(!noisy.passed && noisy.line.ends_with(end), "{noisy:?}");
        let kept = noisy.clone().after(Some(&reached));
        let end = format!("{end}; reached on an earlier run");
        assert!(
            kept.passed && kept.noisy && kept.line.ends_with(&end),
            "{kept:?}"
        );
        assert!(!noisy.clone().after(None).passed);
        let fast = faster(&times(1., &[(2, 1.8)]), 2);
        assert!(
            !fast.clone().after(None).passed,
            "a noisy time reaches nothing"
        );
        assert!(fast.after(Some(&reached)).passed);
        assert!(!noisy.clone().after(Some(&noisy)).passed);
        let slow = faster(&times(3., &[(1, 1.8)]), 2);
        assert!(
            !slow.after(Some(&kept)).passed,
            "a measurement without noise counts"
        );
    }
}
