//! Invalid options and files.

use std::fs;

use serde_json::json;

use crate::fixture::{Fixture, root, run};

#[test]
fn models_that_are_not_there() {
    for (kind, names) in [
        ("lm", "tiny, readme, smollm-135m, llama-1b"),
        ("vit", "tiny, s16, b16"),
        ("gnn", "tiny, base"),
    ] {
        let expected = format!("a folder, hf:ORG/NAME, or one of {names}, found \"nothing-here\"");
        run(&[kind, "--model", "nothing-here"]).refused(&["--model", &expected]);
    }
    let fixture = Fixture::golden("gnn-plain");
    let file = fixture.path("config.json");
    run(&["gnn", "--model", &file]).refused(&["--model", "found the file", &file]);
    fs::remove_file(fixture.path("model.safetensors")).unwrap();
    fixture
        .run(&[])
        .unreadable(&fixture.path("model.safetensors"));
}

#[test]
fn tables_that_cannot_take_the_rules_of_an_operation() {
    let fixture = Fixture::golden("gnn-plain");
    let missing = fixture.path("table.json");
    let tune = |more: &[&str]| run(&[&["tune", "--device", "cpu", "--op"], more].concat());
    tune(&["rms_norm", "--json", &missing]).refused(&[&missing, "expected a table", "no file"]);
    let other = root().join("kernels/src/dispatch/tables/h200.json");
    let other = other.to_string_lossy();
    tune(&["rms_norm", "--json", &other]).refused(&[&other, "found one of NVIDIA H200"]);
    tune(&["causal_attention"]).refused(&["causal_attention", "layer_norm"]);
    tune(&["softmax"]).refused(&["softmax", "layer_norm"]);
}

#[test]
fn outputs_that_cannot_be() {
    for golden in ["lm-mqa", "vit-patch4", "gnn-plain"] {
        let fixture = Fixture::golden(golden);
        let input = fixture.path("case.safetensors");
        let missing = fixture.path("no/such/folder/answer");
        fixture
            .run(&["--input", &input, "--output", &missing])
            .refused(&[&missing, "no such folder"]);
        let folder = fixture.path("");
        fixture
            .run(&["--input", &input, "--output", &folder])
            .refused(&[&folder, "found a folder"]);
        fixture
            .run(&["--input", &input, "--output", &input])
            .refused(&[&input, "expected another file than the inputs"]);
        let weights = fixture.path("model.safetensors");
        fixture
            .run(&["--input", &input, "--output", &weights])
            .refused(&["expected another file than the inputs"]);
        // A shard may have any name.
        let index = fixture.path("model.safetensors.index.json");
        std::fs::write(&index, r#"{"weight_map": {"a": "rest.bin"}}"#).unwrap();
        let shard = fixture.path("rest.bin");
        fixture
            .run(&["--input", &input, "--output", &shard])
            .refused(&["expected another file than the inputs"]);
        std::fs::remove_file(index).unwrap();
        let [output, chart] = ["q.svg", "./q.svg"].map(|name| fixture.path(name));
        let both = ["--input", &input, "--output", &output, "--roofline", &chart];
        fixture.run(&both).refused(&["found the same twice"]);
    }
}

/// The output is checked before any computation.
#[test]
fn an_output_into_nowhere_is_found_first() {
    run(&[
        "lm",
        "--model",
        "none",
        "--input",
        "none",
        "--output",
        "/no/such/folder/answer",
    ])
    .refused(&["/no/such/folder/answer"]);
}

#[test]
fn prompts() {
    let fixture = Fixture::golden("lm-tied-gqa");
    fixture
        .run(&["--prompt", ""])
        .refused(&["--prompt: expected at least one token, found none"]);
    let long = "word ".repeat(100);
    fixture.run(&["--prompt", &long]).refused(&[
        "--prompt: expected at most 64 tokens",
        "context",
        "shorten the prompt",
    ]);
    let graph = ["--prompt", "The", "--device", "cpu", "--cuda-graph", "on"];
    fixture
        .run(&graph)
        .refused(&["--cuda-graph on: expected a GPU", "found cpu"]);
    let without = [
        "lm",
        "--level",
        "4",
        "--prompt",
        "The",
        "--without",
        "overlap",
    ];
    run(&without)
        .refused(&["--without: expected level 5, whose ideas it leaves out, found level 4"]);
    let unknown = ["lm", "--prompt", "The", "--without", "speed"];
    run(&unknown).refused(&["--without", "speed", "expected one of dispatch, cuda-graph"]);
    run(&["ablation", "--device", "cpu"]).refused(&["--device: expected a GPU", "found a CPU"]);
    run(&["lm", "--model", "readme", "--prompt", ""]).refused(&["--prompt"]);
}

#[test]
fn tokenizers() {
    let fixture = Fixture::golden("lm-tied-gqa");
    let file = fixture.path("tokenizer.json");
    fixture.write("tokenizer.json", "{}");
    fixture
        .run(&["--prompt", "The"])
        .refused(&[&file, "a Hugging Face tokenizer"]);
    fs::remove_file(&file).unwrap();
    fixture
        .run(&["--prompt", "The"])
        .refused(&[&file, "no such file"]);
}

#[test]
fn a_tokenizer_of_another_model() {
    let fixture = Fixture::golden("lm-mqa"); // 97 tokens
    let other = Fixture::golden("lm-tied-gqa"); // 300
    fs::copy(other.path("tokenizer.json"), fixture.path("tokenizer.json")).unwrap();
    let parts = ["tokenizer.json", "tokens below 97"];
    fixture.run(&["--prompt", "The level"]).refused(&parts);
}

#[test]
fn sampling() {
    let fixture = Fixture::golden("lm-tied-gqa");
    for (option, value) in [
        ("--temperature", "-1"),
        ("--temperature", "NaN"),
        ("--temperature", "inf"),
        ("--top-p", "0"),
        ("--top-p", "1.5"),
        ("--top-k", "0"),
    ] {
        let option_and_value = format!("{option}={value}");
        let args = [&option_and_value, "--prompt", "The"];
        fixture
            .run(&args)
            .refused(&[option, &format!("found {value}")]);
    }
}

/// A negative number is an invalid value, not an unknown option.
#[test]
fn numbers_below_0() {
    let kernel = root().join("kernels/src/softmax/level3.ptx");
    let sim = |option| vec!["sim", kernel.to_str().unwrap(), option];
    for (args, number, expected) in [
        (vec!["--samples"], "-1", "from 1 to 100000"),
        (vec!["compare", "--samples"], "-1", "from 1 to 100000"),
        (
            vec!["compare", "--peers", "false", "--peer-limit"],
            "-3",
            "from 1 to 3600",
        ),
        (vec!["ops", "--samples"], "-1", "from 1 to 100000"),
        (vec!["small", "--samples"], "-1", "from 1 to 100000"),
        (vec!["sweep", "--samples"], "-1", "from 1 to 100000"),
        (vec!["profile", "--samples"], "-1", "from 1 to 100000"),
        (
            vec!["profile", "--level"],
            "-1",
            "expected level 1, 2, 3, 4, 5 or the name of your own",
        ),
        (
            vec!["gnn", "--level"],
            "-1",
            "expected level 1, 2, 3, 4, 5 or the name of your own",
        ),
        (vec!["vit", "--seed"], "-1", "a whole number from 0"),
        (vec!["lm", "--max-tokens"], "-5", "a whole number from 0"),
        (vec!["lm", "--top-k"], "-5", "a whole number from 0"),
        (
            vec!["lm", "--prompt", "a", "--temperature"],
            "-0.5",
            "expected",
        ),
        (
            vec!["lm", "--prompt", "a", "--top-p"],
            "-1",
            "expected a number above 0",
        ),
        (sim("--smem"), "-1", "from 0 to "),
        (sim("--seed"), "-1", "a whole number from 0"),
        (sim("--fuel"), "-1", "a whole number from 0"),
        (sim("--grid"), "-1", "expected"),
        (sim("--cluster"), "-1", "expected"),
        (
            vec!["exercises", "check", "--seed"],
            "-1",
            "a whole number from 0",
        ),
        (
            vec!["exercises", "grade", ".", "--limit"],
            "-1",
            "from 0.001 to 3600",
        ),
        (
            vec!["exercises", "grade", ".", "--session"],
            "-1",
            "from 0 to 255",
        ),
    ] {
        let option = args[args.len() - 1];
        run(&[&args[..], &[number]].concat()).refused(&[option, number, expected]);
    }
}

/// Who leaves out the option learns which.
#[test]
fn a_text_needs_its_option() {
    let said =
        "lm: expected the text in quotes after an option: `--prompt \"TEXT\"`, found \"Hello\"";
    run(&["lm", "Hello"]).refused(&[said]);
}

#[test]
fn levels_and_devices() {
    run(&["lm", "--level", "9"]).refused(&["--level", "expected level 1", "found 9"]);
    run(&["gnn", "--device", "gpu"])
        .refused(&["--device: expected auto, cpu, cuda, cuda:N or sim, found \"gpu\""]);
    if !cfg!(feature = "cuda") {
        let parts = ["--device cuda:1", "`--features cuda`"];
        run(&["gnn", "--device", "cuda:1"]).refused(&parts);
    }
}

#[test]
fn swaps() {
    for (kind, runs, other) in [
        ("lm", models::lm::OPS, "attention"),
        ("vit", models::vit::OPS, "causal_attention"),
        ("gnn", models::gnn::OPS, "attention"),
    ] {
        let swap = |spec: &str| run(&[kind, "--swap", spec]);
        swap("").refused(&["--swap: expected OP=LEVEL", "found \"\""]);
        swap("linear").refused(&["--swap: expected OP=LEVEL", "\"linear\""]);
        let (last, others) = runs.split_last().unwrap();
        let runs = format!("{} or {last}", others.join(", "));
        let expected = format!("expected an op that this model runs ({runs})");
        for op in ["matmul", other] {
            swap(&format!("{op}=1")).refused(&[&expected, &format!("found \"{op}\"")]);
        }
        let residual = "--swap linear_residual: expected level 1";
        swap("linear_residual=0").refused(&[residual, "found \"0\""]);
        swap("norm_linear=1,norm_linear=2")
            .refused(&["--swap: expected norm_linear once, found it twice"]);
    }
}

#[test]
fn a_profile_swaps_only_what_its_model_runs() {
    let args = [
        "profile",
        "--model",
        "gnn",
        "--device",
        "cpu",
        "--swap",
        "attention=2",
    ];
    let expected = "--swap: expected an op that this model runs (linear, norm_linear, ";
    run(&args).refused(&[expected, "found \"attention\""]);
}

/// `compare` and `sweep` take the models that both options select.
#[test]
fn models_without_a_preset() {
    for command in ["compare", "sweep"] {
        run(&[
            command, "--device", "cpu", "--preset", "s16", "--model", "lm",
        ])
        .refused(&["--model: expected vit, with --preset s16, found lm"]);
        run(&[command, "--model", "llm"]).refused(&["--model", "lm, vit or gnn"]);
    }
}

#[test]
fn options_that_go_together() {
    let input = "--input: expected --output FILE.safetensors as well, found none (see `--help`)";
    run(&["vit", "--input", "x", "--level", "3"]).refused(&[input]);
    run(&["vit", "--output", "x"])
        .refused(&["--output: expected --input FILE.safetensors as well"]);
    run(&["lm", "--generate", "3", "--input", "x"]).refused(&[input]);
    run(&["lm", "--generate", "3", "--seed", "1"]).refused(&["--generate: expected ", "--input"]);
    run(&["lm", "--peak", "9"]).refused(&["--peak: expected --roofline FILE.svg|FILE.png as well"]);
    run(&["tune", "--any", "--device", "cpu"]).refused(&["--any: expected --json FILE as well"]);
    run(&["ops", "--peer-processes", "2"]).refused(&["--peer-processes: expected --peers PYTHON"]);
    run(&["--peer-modes", "eager"]).refused(&["--peer-modes: expected --peers PYTHON as well"]);
    run(&["occupancy", "--entry", "x"]).refused(&["--entry: expected KERNEL|FILE as well"]);
    let sim = ["sim", "kernels/src/gelu/level3.ptx", "--trace-warp", "1"];
    run(&sim).refused(&["--trace-warp: expected --trace FILE as well"]);
    run(&["lm", "--prompt", "x", "--input", "x", "--output", "y"]).refused(&["--prompt"]);
    run(&["gnn", "--graph", "x", "--edges", "y"]).refused(&["--graph", "--edges"]);
    run(&["lm", "--dtype", "f64"]).refused(&["--dtype: expected f32 or bf16, found \"f64\""]);
}

/// The parser of the options answers in one line, which names the command or the option and what it takes.
#[test]
fn commands_and_options_that_are_not_there() {
    for (args, said) in [
        (
            &["explian"][..],
            "workbook: expected one of its commands, found \"explian\" (similar: explain; see `--help`)",
        ),
        (
            &["gnn", "--levle", "3"],
            "gnn: expected one of its options, found --levle (similar: --level; see `--help`)",
        ),
        (
            &["gnn", "--fast"],
            "gnn: expected one of its options, found --fast (see `--help`)",
        ),
        (
            &["doctor", "now"],
            "doctor: expected no further argument, found \"now\" (see `--help`)",
        ),
        (
            &["vit", "--level"],
            "--level: expected a value (N|NAME), found none (see `--help`)",
        ),
        (
            &["vit", "--trace=yes"],
            "--trace: expected no value, found \"yes\" (see `--help`)",
        ),
        (
            &["vit", "--level", "3", "--level", "4"],
            "--level: expected it once, found it more than once (see `--help`)",
        ),
        (
            &["--samples", "3", "lm"],
            "lm: expected all options after the command, found --samples before it (see `--help`)",
        ),
        (
            &["exercises", "level"],
            "exercises level: expected one of its commands, found none",
        ),
        (
            &["exercises", "grade"],
            "exercises grade: expected DIR, found none (see `--help`)",
        ),
        (
            &["explain"],
            "explain: expected rms_norm, linear or attention, found none",
        ),
    ] {
        run(args).refused(&[&format!("error: {said}")]);
    }
}

/// A number beyond the type of its option.
#[test]
fn numbers_that_are_too_large() {
    run(&["occupancy", "--threads", "4294967296"])
        .refused(&["--threads: expected at most 4294967295, found 4294967296"]);
    run(&["lm", "--seed", "18446744073709551616"])
        .refused(&["--seed: expected at most 18446744073709551615, found "]);
    let samples = ["ops", "--samples", "99999999999999999999"];
    run(&samples).refused(&["--samples: expected a smaller whole number, found 9"]);
}

#[test]
fn an_unknown_op_is_answered_with_the_known_ones() {
    let run = run(&["ops", "liner"]);
    run.refused(&[
        "FILTER: expected part of one of these names: linear, linear_residual,",
        "found \"liner\"",
    ]);
    assert!(
        run.stdout.is_empty(),
        "nothing was measured: {}",
        run.stdout
    );
}

#[test]
fn a_model_of_another_kind() {
    let fixture = Fixture::golden("vit-patch4");
    run(&["lm", "--model", &fixture.path("")]).refused(&["config.json: `architectures`"]);
    fixture.set(
        "config.json",
        "architectures",
        json!("ViTForImageClassification"),
    );
    fixture.run(&[]).refused(&["config.json: `architectures`"]);
}
