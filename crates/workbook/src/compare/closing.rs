//! The text below the tables: what the numbers mean on this machine, next commands, and further reading.

use anyhow::Result;
use candle_core::Device;
use kernels::dispatch::{Facts, is_tuned, tables, tune_command};
use levels::Name;
use results::{Results, Row};

use super::Spread;
use crate::doctor::simd;

/// Facts that the text depends on.
struct Here {
    facts: Facts,
    /// `AVX-512`, if the processor's vector registers are known.
    simd: Option<&'static str>,
    /// Whether level 5 has a table measured on this device.
    tuned: bool,
}

/// A speed-up of level 2 below this counts as no gain.
const LITTLE: f64 = 1.15;

/// A speed-up of level 2 below this is a loss.
const SLOWER: f64 = 0.97;

/// Width of the parts' names.
const NAME: usize = 10;

/// Formats three parts for a terminal of 80 columns.
///
/// # Errors
/// If the driver does not respond.
pub fn closing(results: &Results, device: &Device, own: Option<&Name>) -> Result<String> {
    let facts = Facts::of(device)?;
    let here = Here {
        facts: facts.clone(),
        simd: simd(),
        tuned: is_tuned(facts, tables(facts)),
    };
    let text = text(&results.rows, &here);
    Ok(own.map_or(text.clone(), |own| with_own(&text, own)))
}

/// Names the report of a level of the learner's own in place of a profile of level 1.
fn with_own(text: &str, own: &Name) -> String {
    let report = format!("exercises level report {own}");
    text.replace("profile --model lm --level 1", &report)
}

fn text(rows: &[Row], here: &Here) -> String {
    let (next, read_on) = if here.facts.is_gpu() {
        (
            [
                "cargo run --release --features cuda -- --preset readme --dtype bf16",
                "cargo run --release --features cuda -- profile --model lm --level 1",
            ],
            "\"CUDA graphs and decode\" says what a graph saves.",
        )
    } else {
        (
            [
                "cargo run --release -- profile --model lm --level 1",
                "cargo ex start",
            ],
            "\"Level 2\" says what fused ops save, and where.",
        )
    };
    let read_on = [
        "cargo run --release -p book -- serve",
        "shows the book. \"Start here\" says what every column means,",
        read_on,
    ];
    [
        part("Meaning", &meaning(rows, here)),
        part("Try next", &next.map(String::from)),
        part("Read on", &read_on.map(String::from)),
    ]
    .concat()
}

/// Formats a name with its lines next to it.
fn part(name: &str, lines: &[String]) -> String {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let line = |(name, line): (&str, &String)| format!("{name:NAME$}{line}\n");
    names.zip(lines).map(line).collect()
}

fn meaning(rows: &[Row], here: &Here) -> Vec<String> {
    let mut lines = if here.facts.is_gpu() {
        on_gpu(rows)
    } else {
        on_cpu(rows, here.simd)
    };
    if !here.tuned {
        let kind = if here.facts.is_gpu() { "GPU" } else { "CPU" };
        lines.push(format!("Level 5 is not tuned for this {kind}: run"));
        lines.push(tune_command(&here.facts).into());
    }
    lines
}

fn on_cpu(rows: &[Row], simd: Option<&str>) -> Vec<String> {
    let simd = simd.map_or(String::new(), |simd| format!(" with {simd}"));
    let mut lines = vec![format!(
        "On this CPU, levels 3 to 5 run Rust{simd}, not PTX or CUDA."
    )];
    lines.extend(noise(rows));
    let quiet = |two: &&Row| {
        noisy(two).is_none() && level_1(rows, two).is_none_or(|one| noisy(one).is_none())
    };
    let of_level_2: Vec<&Row> = level_2(rows).filter(quiet).collect();
    // A decode step has the smallest tensors. Only there is the number of tensors the reason.
    let decode = of_level_2.iter().find(|two| two.workload == "decode");
    let least = of_level_2
        .iter()
        .min_by(|a, b| a.speedup.total_cmp(&b.speedup));
    if let Some(two) = decode.filter(|two| two.speedup >= LITTLE) {
        lines.push(gain(two));
        lines.push(match level_1(rows, two) {
            Some(one) => format!(
                "its fused ops create {} tensors, not {},",
                two.tensors, one.tensors
            ),
            None => "its fused ops create fewer tensors".into(),
        });
        lines.push("and in a decode step they are so small that each costs about the same.".into());
    }
    if let Some(two) = least.filter(|two| two.speedup < LITTLE) {
        lines.push(gain(two));
        lines.push(unchanged(two).into());
    }
    if of_level_2.is_empty() && level_2(rows).next().is_some() {
        lines.push("Level 2 saves steps, not arithmetic. These rows are too noisy to".into());
        lines.push("show where that helps on this CPU.".into());
    }
    lines
}

/// Names what takes most of the time of a workload and is the same at levels 1 and 2.
fn unchanged(two: &Row) -> &'static str {
    match (two.title().starts_with("gnn"), two.speedup < SLOWER) {
        (true, false) => "there sums over edges take most of the time, and they stay the same.",
        (true, true) => "sums over edges stay the same there, and the rest takes longer.",
        (false, false) => "there the matmuls take most of the time, and they stay the same.",
        (false, true) => "the matmuls stay the same there, and the rest takes longer.",
    }
}

fn on_gpu(rows: &[Row]) -> Vec<String> {
    let mut lines = vec!["Small models on a GPU spend their time on kernel launches.".into()];
    let mut of_level_2 = level_2(rows);
    let first = of_level_2.clone().next();
    if let Some(two) = of_level_2.find(|row| row.workload == "prefill").or(first) {
        let launches = match (
            level_1(rows, two).and_then(|one| one.launches),
            two.launches,
        ) {
            (Some(one), Some(two)) => format!("it launches {two} kernels, level 1 {one}."),
            _ => "its fused ops launch fewer kernels.".into(),
        };
        lines.push(gain(two));
        lines.push(launches);
    }
    lines.push("A CUDA graph (5 graph) launches the whole pass at once.".into());
    lines
}

/// Describes the speed-up of a row of level 2, as the start of a sentence.
fn gain(two: &Row) -> String {
    format!("Level 2 is {:.2}× in {}:", two.speedup, two.title())
}

/// Returns the ratio of the 90% to the 10% quantile of a row if it is too large for comparisons.
pub fn noisy(row: &Row) -> Option<f64> {
    let spread = Spread {
        low: row.low_ms,
        median: row.median_ms,
        high: row.high_ms,
    };
    spread.noise()
}

/// Describes noisy rows: their number, and the worst one by name.
fn noise(rows: &[Row]) -> Vec<String> {
    let all: Vec<(f64, &Row)> = rows
        .iter()
        .filter_map(|row| Some((noisy(row)?, row)))
        .collect();
    let Some((spread, row)) = all.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return vec![];
    };
    vec![
        format!(
            "Too noisy to compare: {} of {} rows, marked ~.",
            all.len(),
            rows.len()
        ),
        format!("The worst, {} at {}:", row.title(), row.variant()),
        format!("its slow runs took {spread:.1}× as long as its fast runs."),
        "Close other programs and repeat.".into(),
    ]
}

/// Returns level 1 of the same workload.
fn level_1<'a>(rows: &'a [Row], two: &Row) -> Option<&'a Row> {
    let same = |row: &&Row| row.level == 1 && !row.cuda_graph && row.title() == two.title();
    rows.iter().find(same)
}

/// Level 2 in each workload.
fn level_2(rows: &[Row]) -> impl Iterator<Item = &Row> + Clone {
    rows.iter().filter(|row| row.level == 2 && !row.cuda_graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::drawn::tests::example;

    fn here(facts: Facts, simd: Option<&'static str>, tuned: bool) -> Here {
        Here { facts, simd, tuned }
    }

    fn cpu() -> Facts {
        Facts::cpu("a CPU", 2)
    }

    /// A prefill and a decode at levels 1 and 2.
    fn rows(speedup: f64) -> Vec<Row> {
        let mut rows = example().rows;
        let mut prefill = rows.clone();
        for row in &mut prefill {
            row.workload = "prefill".into();
        }
        prefill[0].launches = Some(321);
        prefill[1].launches = Some(117);
        prefill[1].speedup = speedup;
        rows.extend(prefill);
        rows
    }

    #[test]
    fn the_text_says_where_level_2_gains_and_where_not() {
        let text = text(&rows(0.98), &here(cpu(), Some("AVX-512"), false));
        for part in [
            "levels 3 to 5 run Rust with AVX-512, not PTX or CUDA.",
            "Level 2 is 1.26× in lm tiny decode:",
            "its fused ops create 150 tensors, not 321,",
            "Level 2 is 0.98× in lm tiny prefill:",
            "the matmuls take most of the time, and they stay the same.",
            "Level 5 is not tuned for this CPU: run\n          cargo run --release -- tune\n",
            "\nTry next  cargo run",
            "\nRead on   cargo run --release -p book",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }

    #[test]
    fn the_text_depends_on_machine_and_numbers() {
        let plain = text(&rows(1.4), &here(cpu(), None, true));
        assert!(plain.contains("run Rust, not PTX"), "{plain}");
        assert!(
            plain.contains("1.26×") && !plain.contains("the matmuls"),
            "{plain}"
        );
        assert!(!plain.contains("tune"), "{plain}");
        let own = with_own(&plain, &"mine".parse().unwrap());
        let next = "\nTry next  cargo run --release -- exercises level report mine\n";
        assert!(own.contains(next), "{own}");

        let gpu = text(&rows(2.6), &here(Facts::any_gpu((8, 6), 40), None, false));
        for part in [
            "it launches 117 kernels, level 1 321.",
            "not tuned for this GPU",
            "--features cuda -- tune",
        ] {
            assert!(gpu.contains(part), "{part:?} in {gpu}");
        }
        assert!(!gpu.contains("Rust"), "{gpu}");
    }

    #[test]
    fn noisy_rows_are_named_and_explain_nothing() {
        let mut rows = rows(0.57);
        rows[0].high_ms = 2.1 * rows[0].low_ms; // level 1 of the decode
        let elsewhere = text(&rows, &here(cpu(), None, true));
        let first = "Too noisy to compare: 1 of 4 rows, marked ~.";
        assert!(elsewhere.contains(first), "{elsewhere}");
        assert!(
            elsewhere.contains("The worst, lm tiny decode at level 1:"),
            "{elsewhere}"
        );
        assert!(elsewhere.contains("took 2.1× as long"), "{elsewhere}");
        assert!(!elsewhere.contains("1.26"), "{elsewhere}");
        assert!(
            elsewhere.contains("0.57"),
            "the prefill is quiet: {elsewhere}"
        );

        rows[2].high_ms = 3.1 * rows[2].low_ms; // level 1 of the prefill
        let here = text(&rows, &here(cpu(), None, true));
        assert!(
            here.contains("The worst, lm tiny prefill at level 1:"),
            "{here}"
        );
        assert!(!here.contains("0.57"), "{here}");
        // Without a quiet row, it says so, once.
        let general = "show where that helps on this CPU.";
        assert_eq!(here.matches(general).count(), 1, "{here}");
        assert!(!elsewhere.contains(general), "{elsewhere}");
    }

    #[test]
    fn the_text_fits_80_columns_and_names_existing_chapters() -> Result<()> {
        let contents = crate::compare::root()?.join("book/chapters/SUMMARY.md");
        let contents = std::fs::read_to_string(contents)?;
        for facts in [cpu(), Facts::any_gpu((8, 6), 40)] {
            for (speedup, model) in [(0.98, "lm"), (0.98, "gnn"), (1.4, "lm")] {
                let mut rows = rows(speedup);
                rows.iter_mut().for_each(|row| row.model = model.into());
                let text = text(&rows, &here(facts.clone(), Some("AVX-512"), false));
                for line in text.lines() {
                    assert!(line.chars().count() <= 80, "{line}");
                }
                let mut chapters = text.split('"').skip(1).step_by(2);
                assert_eq!(chapters.clone().count(), 2, "{text}");
                let title = |chapter| format!("- [{chapter}");
                assert!(chapters.all(|it| contents.contains(&title(it))), "{text}");
            }
        }
        Ok(())
    }
}
