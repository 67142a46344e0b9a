//! Files that the crate `tokenizers` panics for, or takes all the memory for.

use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Run, without_note};
use crate::slashes::text;

/// Runs a language model with a changed `tokenizer.json`, in 2 GiB of address space.
fn run_with(change: impl FnOnce(&mut Value)) -> Run {
    let fixture = Fixture::golden("lm-tied-gqa");
    let path = fixture.path("tokenizer.json");
    let mut tokenizer = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut tokenizer);
    fixture.write("tokenizer.json", tokenizer.to_string());
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 2097152; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_workbook"))
        .args(["lm", "--prompt", "The level", "--max-tokens", "4"])
        .args(["--model", &fixture.path("")])
        .env("RUST_BACKTRACE", "1")
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: without_note(&text(output.stderr)),
    }
}

/// Asserts that a file with this part is refused.
fn refuses(key: &str, part: Value, reason: &str) {
    let run = run_with(|tokenizer| tokenizer[key] = part);
    run.refused(&["tokenizer.json: expected ", reason]);
    assert_eq!(run.stdout, "");
}

fn replace(pattern: &str, content: &str) -> Value {
    json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": content})
}

fn template(pieces: Value, tokens: Value) -> Value {
    json!({"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": tokens})
}

const A_PANIC: &str =
    "a Hugging Face tokenizer, found one that the crate `tokenizers` cannot run (";
const TOO_LONG: &str = "at most 4194304 bytes of the text, found up to ";

#[test]
fn a_tokenizer_that_leaves_no_token_is_refused() {
    let reason = "at least one token, found none for a text of 9 bytes";
    refuses("normalizer", replace(".", ""), reason);
}

#[test]
fn the_same_file_is_fine() {
    assert!(run_with(|_| ()).fine().starts_with("The level"));
    let metaspace =
        json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, replace(" {2,}", " ")]});
    run_with(|tokenizer| tokenizer["normalizer"] = metaspace).fine();
}

#[test]
fn panics() {
    let length = json!({"type": "FixedLength", "length": 0});
    refuses("pre_tokenizer", length, A_PANIC);
    refuses("normalizer", replace("", "xx"), A_PANIC);
    let unknown = json!([{"SpecialToken": {"id": "[NOPE]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]);
    refuses("post_processor", template(unknown, json!({})), A_PANIC);
    let run = run_with(|tokenizer| {
        tokenizer["model"]["continuing_subword_prefix"] = json!("\u{1f600}\u{1f600}\u{1f600}");
    });
    run.refused(&["tokenizer.json: expected ", A_PANIC]);
}

#[test]
fn a_charsmap_that_is_none() {
    for map in ["AAAA", "////fw==", "no base64"] {
        let part = json!({"type": "Precompiled", "precompiled_charsmap": map});
        let run = run_with(|tokenizer| tokenizer["normalizer"] = part);
        run.refused(&["tokenizer.json: `precompiled_charsmap`: expected base64 of a table"]);
    }
}

#[test]
fn chains_that_lengthen_a_text() {
    let twenty = replace(".", &"a".repeat(20));
    let normalizers = json!({"type": "Sequence", "normalizers": vec![&twenty; 12]});
    refuses("normalizer", normalizers, TOO_LONG);
    let bytes = json!({"type": "Sequence", "pretokenizers": vec![json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false}); 30]});
    refuses("pre_tokenizer", bytes, TOO_LONG);
    let sequence = json!({"Sequence": {"id": "A", "type_id": 0}});
    let twice = template(json!(vec![sequence; 2]), json!({}));
    let processors = json!({"type": "Sequence", "processors": vec![twice; 40]});
    refuses("post_processor", processors, TOO_LONG);
    let decoders = json!({"type": "Sequence", "decoders": vec![&twenty; 12]});
    let reason = "a decoder that makes a token at most 64 times as long, found ";
    refuses("decoder", decoders, reason);
}

/// The crate normalises these when it reads the file.
#[test]
fn an_added_token_that_the_normalizer_lengthens() {
    let run = run_with(|tokenizer| {
        let twenty = replace("e", &"e".repeat(20));
        tokenizer["normalizer"] = json!({"type": "Sequence", "normalizers": vec![twenty; 5]});
        tokenizer["added_tokens"][0]["content"] = json!("e");
        tokenizer["added_tokens"][0]["normalized"] = json!(true);
    });
    run.refused(&["tokenizer.json: expected ", TOO_LONG]);
}

/// Each of these takes more than 2 GiB, or minutes.
#[test]
fn vocabularies_and_patterns_that_take_all_memory() {
    let vocab: Vec<Value> = (0..60_000)
        .map(|i| json!([format!("{i:09}").repeat(100), -1.0]))
        .collect();
    let unigram = json!({"type": "Unigram", "unk_id": 0, "vocab": vocab});
    let reason =
        "bytes of all tokens of a Unigram `vocab`: expected at most 4194304, found 54000000";
    let run = run_with(|tokenizer| tokenizer["model"] = unigram);
    run.refused(&["tokenizer.json: ", reason]);
    let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let alternatives: Vec<String> = (1..7000).map(|n| "a".repeat(n)).collect();
    let many = json!({"type": "Sequence", "pretokenizers": vec![split(r"\w{200}"); 17]});
    for (part, reason) in [
        (
            split(&alternatives.join("|")),
            "bytes of all patterns: expected at most 16384, found 24",
        ),
        (many, "number of patterns: expected at most 16, found 17"),
    ] {
        let run = run_with(|tokenizer| tokenizer["pre_tokenizer"] = part);
        run.refused(&["tokenizer.json: ", reason]);
    }
}

/// The crate's engine of regular expressions gives up after a number of steps, or takes time in proportion to the text.
#[test]
fn patterns_that_backtrack_end() {
    let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    for pattern in [
        "(e+)+$",
        "(e|l|le|el)+$",
        r"(?:(\w+)\1)+b$",
        r"(?=(e*)*$)x|(\w|\w)*b",
    ] {
        run_with(|tokenizer| tokenizer["pre_tokenizer"] = split(pattern)).fine();
    }
}

#[test]
fn a_byte_order_mark_is_accepted() {
    let fixture = Fixture::golden("lm-tied-gqa");
    for name in ["tokenizer.json", "config.json"] {
        let text = std::fs::read_to_string(fixture.path(name)).unwrap();
        fixture.write(name, format!("\u{feff}{text}"));
    }
    fixture.run(&["--max-tokens", "2"]).fine();
}
