//! The registers of a `wgmma` that is in flight are nobody else's, on any path through Hopper's kernels.
//!
//! "PTX ISA", `wgmma.mma_async`: to touch its accumulators, or A where that lies in registers, before a
//! `wgmma.wait_group` has waited for it is undefined behaviour. These kernels are not simulated; their text is read.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Accumulators and A of each group, the oldest first; the last group is not committed yet.
type InFlight<'a> = Vec<BTreeSet<&'a str>>;

fn registers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '%');
    words.filter(|word| word.starts_with('%'))
}

/// Returns whether an instruction touches registers in flight, and updates which are.
fn step<'a>(line: &'a str, groups: &mut InFlight<'a>) -> bool {
    let (held, others) = if line.starts_with("wgmma.mma_async") {
        line.rsplit_once('}').expect("accumulators")
    } else {
        ("", line)
    };
    let is_held = |register| groups.iter().any(|group| group.contains(register));
    let touches = registers(others).any(is_held);
    groups.last_mut().expect("a group").extend(registers(held));
    if line.starts_with("wgmma.commit_group") {
        groups.push(BTreeSet::new());
    } else if let Some(left) = line.strip_prefix("wgmma.wait_group.sync.aligned ") {
        let left: usize = left.trim_end_matches(';').parse().expect("a number");
        groups.drain(..(groups.len() - 1).saturating_sub(left));
    }
    touches
}

/// The instructions of a kernel that touch what is in flight.
fn races(kernel: &str) -> BTreeSet<&str> {
    let lines: Vec<&str> = kernel.lines().map(str::trim).collect();
    let labels: HashMap<&str, usize> = (lines.iter().enumerate())
        .filter_map(|(at, line)| Some((line.strip_suffix(':')?, at)))
        .collect();
    let target = |name: &str| labels[name.trim_end_matches(';')];
    let (mut races, mut seen) = (BTreeSet::new(), HashSet::new());
    let mut paths: Vec<(usize, InFlight)> = vec![(0, vec![BTreeSet::new()])];
    while let Some((mut at, mut groups)) = paths.pop() {
        while at < lines.len() {
            let line = lines[at];
            if line.ends_with(':') && !seen.insert((at, groups.clone())) {
                break;
            }
            if step(line, &mut groups) {
                races.insert(line);
            }
            at = match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["ret;"] => break,
                [jump, to] if jump.starts_with("bra") => target(to),
                [_, jump, to] if jump.starts_with("bra") => {
                    paths.push((target(to), groups.clone()));
                    at + 1
                }
                _ => at + 1,
            };
        }
    }
    races
}

#[test]
fn registers_in_flight_are_left_alone() {
    let ops = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated");
    for (file, kernels) in [
        ("attention/level5/tile_wgmma.sm_90a.ptx", 2),
        ("encoder_pass/level5/pass.sm_90a.ptx", 1),
        ("graph_pass/level5/bf16.sm_90a.ptx", 1),
        ("graph_pass/level5/f32.sm_90a.ptx", 1),
        ("linear/level5/wgmma.sm_90a.ptx", 6),
    ] {
        let text = std::fs::read_to_string(ops.join(file)).expect("PTX");
        let mut found = 0;
        for kernel in text.split(".entry ").skip(1) {
            let name = kernel.split('(').next().unwrap_or_default();
            assert!(kernel.contains("wgmma.mma_async"), "{file}: {name}");
            assert_eq!(races(kernel), BTreeSet::new(), "{file}: {name}");
            found += 1;
        }
        assert_eq!(found, kernels, "{file}");
    }
}

/// A loop that waits for all but the newest group: what it touches at its head is in flight from its end.
const LOOP: &str = "
    mov.f32 %f1, 0f00000000;
    mov.f32 %f2, 0f00000000;
$loop:
    HEAD
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f2}, {%r1}, %rd2, 1, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    BOTH
    wgmma.wait_group.sync.aligned 1;
    NEWEST
    @%p1 bra $loop;
    wgmma.wait_group.sync.aligned 0;
    NONE
    ret;
";

#[test]
fn a_touch_in_flight_is_found() {
    let touch = [
        "add.f32 %f3, %f1, %f1;",
        "mov.f32 %f2, 0f00000000;",
        "mov.b32 %r1, 0;",
    ];
    for (place, raced) in [
        ("HEAD", [false, true, true]),
        ("BOTH", [true, true, true]),
        ("NEWEST", [false, true, true]),
        ("NONE", [false, false, false]),
    ] {
        for (touch, raced) in touch.into_iter().zip(raced) {
            let races = races(&LOOP.replace(place, touch)).len();
            assert_eq!(races, usize::from(raced), "{touch} at {place}");
        }
    }
}
