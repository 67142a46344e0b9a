//! `--input` and `--output`, compared with the goldens.

use crate::fixture::{Fixture, levels, read};

/// Runs a golden at every level and compares the logits.
fn logits_agree(golden: &str) {
    for level in &levels() {
        agrees(golden, &["--level", level]);
    }
}

/// Runs a golden, compares the logits, and returns its output.
pub fn agrees(golden: &str, more: &[&str]) -> String {
    let fixture = Fixture::golden(golden);
    let stdout = fixture.answer(more).fine().to_string();
    let expected = &read(&fixture.path("case.safetensors"))["logits"];
    let found = &read(&fixture.path("answer.safetensors"))["logits"];
    assert_eq!(found.shape, expected.shape);
    let (expected, found) = (expected.to_floats(), found.to_floats());
    let largest = expected.iter().fold(0f32, |m, x| m.max(x.abs()));
    let pairs = expected.iter().zip(&found);
    let error = pairs.fold(0f32, |m, (e, f)| m.max((e - f).abs()));
    assert!(
        error <= 1e-5 * largest,
        "{golden} {more:?}: {error} of {largest}"
    );
    stdout
}

#[test]
fn language_models() {
    for golden in ["lm-tied-gqa", "lm-untied-full", "lm-theta", "lm-mqa"] {
        logits_agree(golden);
    }
}

#[test]
fn vision_transformers() {
    for golden in ["vit-patch4", "vit-patch8"] {
        logits_agree(golden);
    }
}

#[test]
fn graph_transformers() {
    for golden in ["gnn-plain", "gnn-awkward", "gnn-noedges"] {
        logits_agree(golden);
    }
}

/// The prompt and exactly N more tokens in every row, past the end of text.
#[test]
fn greedy_tokens() {
    for golden in ["lm-tied-gqa", "lm-untied-full", "lm-theta", "lm-mqa"] {
        for level in &levels() {
            let fixture = Fixture::golden(golden);
            fixture
                .answer(&["--level", level, "--generate", "12"])
                .fine();
            let case = read(&fixture.path("case.safetensors"));
            let answer = read(&fixture.path("answer.safetensors"));
            let (prompt, tokens) = (&case["input_ids"], &answer["tokens"]);
            let (rows, length) = (prompt.shape[0], prompt.shape[1]);
            assert_eq!(tokens.shape, [rows, length + 12]);
            let expected = case["tokens"].to_integers();
            assert_eq!(
                tokens.to_integers()[..length + 12],
                expected,
                "{golden} {level}"
            );
            assert!(answer.contains_key("logits"));
        }
    }
}

#[test]
fn no_tokens_more_is_the_prompt() {
    let fixture = Fixture::golden("lm-mqa");
    fixture.answer(&["--generate", "0"]).fine();
    let prompt = read(&fixture.path("case.safetensors"))["input_ids"].to_integers();
    let answer = read(&fixture.path("answer.safetensors"));
    assert_eq!(answer["tokens"].to_integers(), prompt);
}

#[test]
fn the_context_may_be_filled() {
    let fixture = Fixture::golden("lm-mqa"); // 64 positions, 8 tokens a row
    fixture.answer(&["--generate", "57"]).fine();
    let answer = read(&fixture.path("answer.safetensors"));
    assert_eq!(answer["tokens"].shape, [3, 65]);
}

#[test]
fn bf16_is_near() {
    let fixture = Fixture::golden("vit-patch4");
    fixture.answer(&["--dtype", "bf16"]).fine();
    let expected = read(&fixture.path("case.safetensors"))["logits"].to_floats();
    let found = read(&fixture.path("answer.safetensors"))["logits"].to_floats();
    let largest = expected.iter().fold(0f32, |m, x| m.max(x.abs()));
    let pairs = || expected.iter().zip(&found);
    let error = pairs().fold(0f32, |m, (e, f)| m.max((e - f).abs()));
    assert!(
        error > 0. && error <= 5e-2 * largest,
        "{error} of {largest}"
    );
}

/// Columns of an op, or of a kernel below it, in the table of `--trace`.
fn columns<'a>(table: &'a str, kernel: &str) -> Vec<&'a str> {
    let is_it = |line: &&str| line.trim_start().starts_with(kernel);
    let line = table.lines().find(is_it);
    let line = line.unwrap_or_else(|| panic!("no line of {kernel}: {table}"));
    line.split_whitespace().skip(1).collect()
}

#[test]
fn kernels_are_listed_with_their_level() {
    let table = agrees("gnn-plain", &["--level", "1", "--trace"]);
    assert!(table.starts_with("op "), "{table}");
    assert!(!table.contains("_level2"), "{table}");
    assert!(table.contains("synchronised"), "{table}");
    let titles = [
        "calls", "tensors", "bytes", "FLOPs", "ms", "share", "GB/s", "GFLOP/s", "runs", "as",
    ];
    assert_eq!(columns(&table, "op "), titles);
    // Amounts have an SI prefix: `1.23 M`.
    assert!(
        columns(&table, "edge_attention ").len() >= titles.len() - 2,
        "{table}"
    );
    assert_eq!(
        columns(&table, "edge_attention_level1 ").last(),
        Some(&"candle")
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 120),
        "{table}"
    );
}

/// The unrecorded first pass adds no calls and no tokens.
#[test]
fn a_trace_counts_what_was_asked_for() {
    let calls = |table: &str, kernel: &str| columns(table, kernel)[0].to_string();
    let table = agrees("vit-patch4", &["--level", "1", "--trace"]);
    assert_eq!(calls(&table, "patch_embed "), "1");

    let fixture = Fixture::golden("lm-mqa");
    let trace = |more: &[&str]| {
        let run = fixture.run(&[&["--level", "1", "--trace"], more].concat());
        run.fine().to_string()
    };
    let input = fixture.path("case.safetensors");
    let output = fixture.path("answer.safetensors");
    let table = trace(&["--input", &input, "--output", &output, "--generate", "4"]);
    assert_eq!(calls(&table, "embedding "), "4");
    assert_eq!(read(&output)["tokens"].shape, [3, 12]);
    assert_eq!(calls(&table, "next_token "), "12"); // three rows
}

#[test]
fn ops_are_swapped_one_by_one() {
    let swap = "causal_attention=2,norm_linear=2";
    let table = agrees("lm-mqa", &["--level", "1", "--swap", swap, "--trace"]);
    for kernel in [
        "rope_append_level2 ",
        "causal_attention_level2 ",
        "rms_norm_level2 ",
    ] {
        columns(&table, kernel);
    }
    columns(&table, "linear_swiglu_level1 ");
    assert_eq!(table.matches("_level2").count(), 3, "{table}");

    agrees("vit-patch4", &["--swap", "attention=1"]);
    let fixture = Fixture::golden("gnn-plain");
    let run = fixture.run(&["--level", "2", "--swap", "norm_gelu=1"]);
    assert!(
        run.stderr.starts_with("level 2 with norm_gelu=1, "),
        "{}",
        run.stderr
    );
}
