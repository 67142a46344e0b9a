//! `--input` and `--output` against the goldens.

use crate::fixture::{Fixture, read};

/// Runs a golden at both levels and compares the logits.
fn logits_agree(golden: &str) {
    for level in ["1", "2"] {
        let fixture = Fixture::golden(golden);
        fixture.answer(&["--level", level]).fine();
        let expected = &read(&fixture.path("case.safetensors"))["logits"];
        let found = &read(&fixture.path("answer.safetensors"))["logits"];
        assert_eq!(found.shape, expected.shape);
        let (expected, found) = (expected.to_floats(), found.to_floats());
        let largest = expected.iter().fold(0f32, |m, x| m.max(x.abs()));
        let pairs = expected.iter().zip(&found);
        let error = pairs.fold(0f32, |m, (e, f)| m.max((e - f).abs()));
        assert!(
            error <= 1e-5 * largest,
            "{golden}, level {level}: {error} of {largest}"
        );
    }
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

/// The prompt and exactly N tokens more, in every row, past end-of-text.
#[test]
fn greedy_tokens() {
    for golden in ["lm-tied-gqa", "lm-untied-full", "lm-theta", "lm-mqa"] {
        for level in ["1", "2"] {
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

#[test]
fn kernels_are_listed_with_their_level() {
    let fixture = Fixture::golden("gnn-plain");
    let run = fixture.answer(&["--level", "1", "--trace"]);
    let lines: Vec<&str> = run.fine().lines().collect();
    assert!(lines[0].starts_with("kernel"));
    assert!(
        lines
            .iter()
            .any(|l| l.starts_with("edge_attention_level1 ")),
        "{lines:?}"
    );
    assert!(!run.stdout.contains("_level2"));
}
