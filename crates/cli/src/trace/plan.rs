//! The launches of a pass that a level computes as a whole.

use models::trace::{Event, Launched};

use super::table::launches;
use models::trace::table::aligned;

/// Formats the launches of a pass in order, and the size of each; `None` unless `events` have one that a level computes as
/// a whole. Of a prompt and its decode steps, it is the last step.
pub fn plan(events: &[Event]) -> Option<String> {
    let is = |name| move |event: &Event| event.kernel.starts_with(name);
    let step = events.iter().rposition(is("decoder_pass"));
    let whole = ["encoder_pass", "graph_pass"].map(|name| events.iter().position(is(name)));
    let start = step.or(whole[0].or(whole[1]).map(|_| 0))?;
    let events = &events[start..];
    let all: Vec<&Launched> = events.iter().flat_map(|event| &event.launches).collect();
    let names: Vec<&str> = all.iter().map(|launch| launch.kernel.as_ref()).collect();
    let mut sizes: Vec<(Launched, usize)> = vec![];
    for launch in all {
        match sizes.iter_mut().find(|(known, _)| known == launch) {
            Some((_, count)) => *count += 1,
            None => sizes.push((launch.clone(), 1)),
        }
    }
    let count = data::counted(names.len(), "kernel");
    let pass = if step.is_some() {
        "decode step"
    } else {
        "pass"
    };
    Some(format!(
        "Without --trace, a {pass} is {count}: {}\n{}",
        folded(&names),
        aligned(&launches(&sizes, 1))
    ))
}

/// Longest sequence whose repetitions are counted.
const PERIOD: usize = 8;

/// `a, 6 × (b, c), d` for names in order.
fn folded(mut names: &[&str]) -> String {
    let mut parts = vec![];
    while let Some(first) = names.first() {
        let times = |period: usize| {
            let same = |of: &&[&str]| **of == names[..period];
            names.chunks(period).take_while(same).count()
        };
        let longest = PERIOD.min(names.len());
        let periods = (1..=longest).map(|period| (period, times(period)));
        // The shortest one that covers the most names.
        let repeated = periods.filter(|(_, times)| *times > 1);
        let best = repeated.max_by_key(|(period, times)| (period * times, PERIOD - period));
        let (period, times) = best.unwrap_or((1, 1));
        parts.push(match (period, times) {
            (1, 1) => (*first).to_owned(),
            (1, times) => format!("{times} × {first}"),
            (_, times) => format!("{times} × ({})", names[..period].join(", ")),
        });
        names = &names[period * times..];
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn event(kernel: &'static str, launches: &[&'static str]) -> Event {
        let launched = |kernel: &&'static str| Launched {
            kernel: (*kernel).into(),
            grid: [8, 1, 1],
            block: [256, 1, 1],
            smem: 1024,
            registers: None,
        };
        Event {
            kernel,
            depth: 0,
            tensors: 0,
            needs: None,
            time: Duration::ZERO,
            launches: launches.iter().map(launched).collect(),
            why: None,
        }
    }

    #[test]
    fn a_plan_is_of_the_last_decode_step() {
        let prompt = event("norm_qkv_level5", &["prompt"]);
        assert!(plan(std::slice::from_ref(&prompt)).is_none());
        let step = || {
            [
                event("decoder_pass_level5", &["attend", "mlp", "attend", "mlp"]),
                event("norm_linear_level4", &["head"]),
            ]
        };
        let events: Vec<Event> = [prompt].into_iter().chain(step()).chain(step()).collect();
        let expected = "\
Without --trace, a decode step is 5 kernels: 2 × (attend, mlp), head
  attend  2  grid 8  block 256  1024 B shared
  mlp     2  grid 8  block 256  1024 B shared
  head    1  grid 8  block 256  1024 B shared
";
        assert_eq!(plan(&events).unwrap(), expected);
    }

    #[test]
    fn a_plan_of_other_models_is_of_the_whole_pass() {
        let events = [
            event("patch_embed_level4", &["patches"]),
            event("encoder_pass_level5", &["blocks"]),
        ];
        let found = plan(&events).unwrap();
        let expected = "Without --trace, a pass is 2 kernels: patches, blocks\n";
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn repeated_launches_are_counted() {
        for (names, expected) in [
            ("a", "a"),
            ("a b a", "a, b, a"),
            ("a a a b", "3 × a, b"),
            ("s a b a b a b e", "s, 3 × (a, b), e"),
            ("a a b a a b", "2 × (a, a, b)"),
            (
                "a b c d e f g h i a b c d e f g h i",
                "a, b, c, d, e, f, g, h, i, a, b, c, d, e, f, g, h, i",
            ),
            ("", ""),
        ] {
            let names: Vec<&str> = names.split_whitespace().collect();
            assert_eq!(folded(&names), expected);
        }
    }
}
