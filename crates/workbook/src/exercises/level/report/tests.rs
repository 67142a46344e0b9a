use std::collections::BTreeMap;

use results::{Results, Row};

use super::super::child::{Counts, Times};
use super::*;

fn row(level: u8, system: Option<&str>, speedup: f64) -> Row {
    Row {
        model: "lm".into(),
        preset: "tiny".into(),
        workload: "decode".into(),
        level,
        system: system.map(str::to_owned),
        dtype: "f32".into(),
        median_ms: 2. / speedup,
        low_ms: 2. / speedup,
        high_ms: 2. / speedup,
        speedup,
        samples: 3,
        ..Row::default()
    }
}

fn method(name: &str, counts: Counts, own_ms: Option<f64>) -> Method {
    Method {
        name: name.into(),
        replaced: true,
        counts: Some(counts),
        level1_steps: 9,
        minimum_bytes: 1000,
        flops: 50_000_000,
        bytes: 1_000_000,
        times: Some(Times {
            own_ms,
            levels: BTreeMap::from([(1, 4.), (2, 2.)]),
            noise: BTreeMap::from([(2, 1.8)]),
            ..Times::default()
        }),
        ..Method::default()
    }
}

fn example() -> Report {
    let machine = Machine {
        name: "A <CPU>".into(),
        commit: "abc".into(),
        date: "2026-11-21".into(),
        ..Machine::default()
    };
    let mut results = Results::new(machine.clone());
    results.rows = vec![
        row(1, None, 1.),
        row(2, None, 1.25),
        Row {
            low_ms: 1.,
            high_ms: 2.,
            ..row(0, Some("mine"), 1.5)
        },
    ];
    let kernel = Counts {
        launches: 1,
        tensors: 2,
        bytes: 1100,
        flops: 550,
        warps: 7,
    };
    let twin = Counts {
        tensors: 3,
        ..Counts::default()
    };
    let milestone = |kind: &str, passed, line: &str| Reached {
        method: "attention".into(),
        kind: kind.into(),
        task: format!("attention {kind}"),
        passed,
        line: line.into(),
        needs_gpu: kind == "faster1",
        noisy: kind == "steps",
    };
    Report {
        schema: 1,
        level: "mine".into(),
        machine,
        whole: Whole {
            results,
            bytes_per_s: 20e9,
            flops_per_s: 200e9,
            left_out: vec!["gnn: mine: graph: a <panic>".into()],
        },
        methods: vec![
            method("attention", twin, Some(1.)),
            Method {
                instead: Some("it is a kernel, which a CPU only simulates".into()),
                ..method("norm_linear", kernel, None)
            },
            Method {
                wrong: Some("src/ops.rs:40: linear: <panicked>".into()),
                ..Method {
                    name: "linear".into(),
                    ..Method::default()
                }
            },
        ],
        milestones: vec![
            milestone("correct", Some(true), ""),
            milestone("steps", Some(false), "found 3 < 4"),
            milestone("traffic", None, ""),
            milestone("faster1", None, "found a kernel, which needs a GPU"),
        ],
    }
}

#[test]
fn a_page_is_one_file_with_charts_tables_and_what_is_left() -> Result<()> {
    let page = page::page(&example())?;
    for part in [
        "<h1>The level <code>mine</code></h1>",
        "1 of 4 milestones reached, and 0 that the starter has; left: 2, and 1 that need a GPU. 2 methods are replaced: <code>attention</code>, <code>norm_linear</code>.",
        "<th>level 2</th><th>mine</th>",
        "<td>~1.33 (1.50×)</td>",
        "<td class=\"mark missed\">–~</td>",
        "<td>attention</td><td>3 / 9</td><td>–</td><td>1.00</td><td>4.00×</td><td>~2.00×</td><td>–</td>",
        "<td>norm_linear</td><td>2 / 9</td><td>1.10×</td><td>–</td><td>–</td>",
        "level 1's norm_linear here: it is a kernel",
        "src/ops.rs:40: linear: &lt;panicked&gt;",
        "Not compared: gnn: mine: graph: a &lt;panic&gt;",
        "Roofline of mine on A &lt;CPU&gt;",
        "Your kernels below the roof of an H200",
        "<h2>Left: 2, and 1 that need a GPU</h2>",
        "found 3 &lt; 4",
        "A &lt;CPU&gt;, 0 threads",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<svg").count(), 3);
    // A CPU cannot measure it, so that it is not left.
    assert!(page.contains("<td class=\"mark\">·</td></tr>") && !page.contains("needs a GPU<"));
    let text = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http", "url(", "<script", "<link", "<img"] {
        assert!(!text.contains(outside), "{outside}");
    }
    Ok(())
}

#[test]
fn kernels_without_flops_have_a_sentence_in_place_of_a_roofline() -> Result<()> {
    let mut report = example();
    let sentence = "No roofline of a GPU: the simulator counted no FLOPs in your kernels.";
    assert!(!page::page(&report)?.contains(sentence));
    let counts = report.methods.iter_mut().filter_map(|m| m.counts.as_mut());
    counts.for_each(|counts| counts.flops = 0);
    assert!(page::page(&report)?.contains(sentence));
    Ok(())
}

#[test]
fn a_milestone_that_needs_a_gpu_is_not_missed() -> Result<()> {
    let milestones = super::super::milestones::Milestones::read()?;
    let state = super::super::milestones::needs_gpu();
    let all = reached(&milestones, &[("linear faster1".to_owned(), state)].into());
    let found = all.iter().find(|m| m.needs_gpu);
    assert!(found.is_some_and(|m| m.kind == "faster1" && m.passed.is_none()));
    Ok(())
}

#[test]
fn kernels_that_leave_a_part_to_other_code_have_no_traffic() {
    let mut report = example();
    let method = report.methods.iter_mut().find(|m| m.name == "norm_linear");
    method.unwrap().part = true;
    let text = text::text(&report);
    assert!(text.contains("norm_linear  2 / 9     part"), "{text}");
    assert!(!text.contains("1.10×"), "{text}");
}

#[test]
fn a_terminal_has_the_same_figures() {
    let text = text::text(&example());
    for part in [
        "ms (speed-up)        level 1       level 2           mine",
        "lm tiny decode  2.00 (1.00×)  1.60 (1.25×)  ~1.33 (1.50×)",
        "  1.00   4.00×  ~2.00×",
        "~: a noisy time; the slow runs took more than 1.5× as long",
        "norm_linear  2 / 9    1.10×",
        "\nNot compared: gnn: mine: graph: a <panic>\n",
        "1 of 4 milestones reached, and 0 that the starter has; left: 2, and 1 that need a GPU\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn a_level_without_a_method_of_its_own_has_no_roofline() -> Result<()> {
    let mut report = example();
    report.methods.iter_mut().for_each(|m| m.replaced = false);
    assert!(drawn::roofline(&report)?.is_none() && drawn::simulated(&report)?.is_none());
    let page = page::page(&report)?;
    assert!(
        page.contains("No method is replaced yet.") && page.contains("All methods run level 1’s.")
    );
    assert_eq!(page.matches("<svg").count(), 1);
    Ok(())
}

#[test]
fn the_json_has_machine_date_and_all_figures() -> Result<()> {
    let json = serde_json::to_value(example())?;
    assert_eq!(json["machine"]["date"], "2026-11-21");
    assert_eq!(json["methods"][0]["times"]["levels"]["1"], 4.);
    assert_eq!(json["whole"]["results"]["rows"][2]["system"], "mine");
    assert_eq!(json["milestones"][2]["passed"], serde_json::Value::Null);
    Ok(())
}
