//! `--prompt`.

use serde_json::json;

use crate::fixture::{Fixture, levels, read, run};

/// The text that the golden's tokenizer gives after the prompt.
fn continuation(fixture: &Fixture, more: &[&str]) -> String {
    let run = fixture.run(&[&["--prompt", "The level"], more].concat());
    let text = run.fine().strip_prefix("The level").unwrap();
    text.strip_suffix('\n').unwrap().to_string()
}

/// Streamed text equals the tokens of `--generate`.
#[test]
fn text_is_that_of_the_tokens() {
    let fixture = Fixture::golden("lm-tied-gqa");
    fixture.set("config.json", "eos_token_id", json!(null));
    let prompt: &[i64] = &[52, 257, 295]; // "The level", as text.json has it
    fixture.edit("case.safetensors", |tensors| {
        let ids = crate::fixture::Stored::integers(&[1, 3], prompt);
        tensors.insert("input_ids".into(), ids);
    });
    fixture.answer(&["--generate", "20"]).fine();
    let tokens = read(&fixture.path("answer.safetensors"))["tokens"].to_integers();
    let tokens: Vec<u32> = tokens.iter().map(|&t| t as u32).collect();
    let tokenizer = tokenizers::Tokenizer::from_file(fixture.path("tokenizer.json")).unwrap();
    let expected = tokenizer.decode(&tokens, true).unwrap();
    for level in &levels() {
        let text = continuation(&fixture, &["--max-tokens", "20", "--level", level]);
        let found = format!("The level{text}");
        // An incomplete character at the end becomes U+FFFD.
        assert_eq!(found, expected);
    }
}

#[test]
fn a_seed_means_a_text() {
    let fixture = Fixture::golden("lm-tied-gqa");
    let draw = |seed| {
        continuation(
            &fixture,
            &["--top-k", "50", "--top-p", "0.9", "--seed", seed],
        )
    };
    assert_eq!(draw("1"), draw("1"));
    assert_ne!(draw("1"), draw("2"));
}

#[test]
fn one_token_to_draw_from_is_greedy() {
    let fixture = Fixture::golden("lm-tied-gqa");
    let greedy = continuation(&fixture, &["--max-tokens", "9"]);
    let drawn = continuation(&fixture, &["--max-tokens", "9", "--top-k", "1"]);
    assert_eq!(greedy, drawn);
}

#[test]
fn the_end_of_text_ends_it() {
    let fixture = Fixture::golden("lm-tied-gqa");
    fixture.set(
        "config.json",
        "eos_token_id",
        json!((0..300).collect::<Vec<_>>()),
    );
    assert_eq!(continuation(&fixture, &[]), "");
}

/// `generation_config.json` has precedence over `config.json`, as in transformers.
#[test]
fn the_ends_of_text_of_a_generation_config_end_it() {
    const KEY: &str = "eos_token_id";
    let all = json!((0..303).collect::<Vec<_>>());
    let fixture = Fixture::golden("lm-llama3");
    let continued = || !continuation(&fixture, &["--max-tokens", "4"]).is_empty();
    assert!(continued());
    fixture.set("config.json", KEY, all.clone());
    assert!(continued());
    fixture.set("generation_config.json", KEY, json!(null));
    assert!(!continued());
    fixture.set("config.json", KEY, json!(null));
    fixture.set("generation_config.json", KEY, all);
    assert!(!continued());
    fixture.set("generation_config.json", KEY, json!(["end"]));
    fixture
        .run(&[])
        .refused(&["generation_config.json: `eos_token_id`", "found [\"end\"]"]);
}

#[test]
fn the_context_ends_it() {
    let fixture = Fixture::golden("lm-tied-gqa");
    fixture.set("config.json", "eos_token_id", json!(null));
    let run = fixture.run(&["--prompt", "The level", "--max-tokens", "1000"]);
    run.fine();
    assert!(
        run.stderr.contains("the context of 64 tokens is full"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_preset_reads_bytes_and_prints_numbers() {
    let run = run(&[
        "lm",
        "--model",
        "readme",
        "--prompt",
        "Hi",
        "--max-tokens",
        "3",
    ]);
    let numbers = run.fine().strip_prefix("Hi ").unwrap();
    let tokens: Vec<u32> = numbers
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(tokens.len(), 3);
    assert!(run.stderr.contains("prefill 2 tokens at"), "{}", run.stderr);
}

/// A traced run has a warm-up pass, which packs the weights.
#[test]
fn packing_is_part_of_a_first_pass_alone() {
    let fixture = Fixture::golden("lm-tied-gqa");
    for (more, packs) in [(&[][..], true), (&["--trace"], false)] {
        let run = fixture.run(&[&["--prompt", "The", "--max-tokens", "2"], more].concat());
        run.fine();
        assert_eq!(
            run.stderr.contains("includes packing"),
            packs,
            "{}",
            run.stderr
        );
    }
}
