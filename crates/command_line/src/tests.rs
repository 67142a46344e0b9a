//! Each kind of mistake.

use clap::{CommandFactory, Parser, ValueEnum};

use super::*;

#[derive(Debug, Parser)]
#[command(
    name = "workbook",
    args_conflicts_with_subcommands = true,
    arg_required_else_help = false
)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, value_name = "N")]
    samples: Option<u32>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Lm {
        #[arg(long, value_name = "DIR|PRESET")]
        model: Option<String>,
        #[arg(long, value_enum)]
        dtype: Option<Dtype>,
        #[arg(long, value_parser = device)]
        device: Option<String>,
        #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=100))]
        samples: Option<u32>,
        #[arg(long)]
        temperature: Option<f64>,
        #[arg(long, requires = "output", conflicts_with = "prompt")]
        input: Option<String>,
        #[arg(long, value_name = "FILE")]
        output: Option<String>,
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        #[arg(long)]
        trace: bool,
        /// Requires `--input`, which requires `--output`.
        #[arg(long, requires = "input")]
        generate: Option<u32>,
        #[arg(long, requires = "trace")]
        all: bool,
    },
    Explain {
        #[arg(value_name = "OP")]
        op: String,
        #[arg(long, requires = "output")]
        colour: bool,
        #[arg(long, value_name = "FILE")]
        output: Option<String>,
    },
    Occupancy {
        #[arg(value_name = "KERNEL|FILE")]
        kernel: Option<String>,
        #[arg(long, requires = "kernel", num_args = 1..)]
        entry: Vec<String>,
    },
    #[command(arg_required_else_help = false)]
    Exercises {
        #[command(subcommand)]
        command: Exercises,
    },
}

#[derive(Debug, clap::Subcommand)]
enum Exercises {
    List,
    Check { name: Option<String> },
}

#[derive(Debug, Clone, ValueEnum)]
enum Dtype {
    F32,
    Bf16,
}

fn device(text: &str) -> Result<String, String> {
    match text {
        "cpu" => Ok(text.into()),
        _ => Err(format!("expected cpu or cuda:N, found {text:?}")),
    }
}

fn of(args: &str) -> String {
    let words = ["workbook"].into_iter().chain(args.split(' '));
    let error = Options::try_parse_from(words.map(|word| word.trim_matches('\''))).unwrap_err();
    mistake(&with_requirer(error, &Options::command()))
}

#[test]
fn a_wrong_value_stands_after_the_expected_ones() {
    for (args, line) in [
        (
            "lm --dtype f64",
            "--dtype: expected f32 or bf16, found \"f64\"",
        ),
        (
            "lm --dtype f33",
            "--dtype: expected f32 or bf16, found \"f33\"",
        ),
        (
            "lm --device gpu",
            "--device: expected cpu or cuda:N, found \"gpu\"",
        ),
        (
            "lm --samples 0",
            "--samples: expected a whole number from 1 to 100, found 0",
        ),
        (
            "lm --samples -1",
            "--samples: expected a whole number from 1 to 100, found -1",
        ),
        (
            "lm --samples 1e3",
            "--samples: expected a whole number, found 1e3",
        ),
        (
            "lm --samples many",
            "--samples: expected a whole number, found \"many\"",
        ),
        (
            "lm --samples 99999999999999999999",
            "--samples: expected a smaller whole number, found 99999999999999999999",
        ),
        (
            "lm --temperature warm",
            "--temperature: expected a number, found \"warm\"",
        ),
        ("lm --trace=5", "--trace: expected no value, found 5"),
        ("lm --dtype", "--dtype: expected f32 or bf16, found none"),
        (
            "lm --model",
            "--model: expected a value (DIR|PRESET), found none",
        ),
        (
            "lm --temperature",
            "--temperature: expected a value, found none",
        ),
        (
            "lm --model --trace",
            "--model: expected a value (DIR|PRESET), found none",
        ),
    ] {
        assert_eq!(of(args), format!("{line} (see `--help`)"), "{args}");
    }
}

#[test]
fn a_misspelt_name_is_answered_with_a_similar_one() {
    for (args, line) in [
        (
            "lm --modle x",
            "lm: expected one of its options, found --modle (similar: --model; see `--help`)",
        ),
        (
            "lm --zzz",
            "lm: expected one of its options, found --zzz (see `--help`)",
        ),
        (
            "lm -q",
            "lm: expected one of its options, found -q (see `--help`)",
        ),
        (
            "explain linear gelu",
            "explain: expected no further argument, found \"gelu\" (see `--help`)",
        ),
        (
            "explian",
            "workbook: expected one of its commands, found \"explian\" (similar: explain; see `--help`)",
        ),
        (
            "exercises chek",
            "exercises: expected one of its commands, found \"chek\" (similar: check; see `--help`)",
        ),
        (
            "--temperature 3 lm",
            "workbook: expected one of its options, found --temperature (similar: lm --temperature; see `--help`)",
        ),
    ] {
        assert_eq!(of(args), line, "{args}");
    }
}

#[test]
fn an_option_after_two_dashes_is_told_so() {
    for (args, option) in [
        ("lm -- --trace", "--trace"),
        ("lm --trace -- --prompt=a", "--prompt=a"),
    ] {
        let line = format!(
            "lm: expected no `--` before its options, found {option} after one (see `--help`)"
        );
        assert_eq!(of(args), line, "{args}");
    }
    let unknown = "lm: expected one of its options, found --zzz (see `--help`)";
    assert_eq!(of("lm -- --zzz"), unknown);
}

#[test]
fn a_missing_argument_is_named_with_its_command() {
    for (args, line) in [
        ("explain", "explain: expected OP, found none"),
        (
            "explain --colour",
            "explain: expected --output FILE and OP, found none",
        ),
        (
            "exercises",
            "exercises: expected one of its commands, found none",
        ),
    ] {
        assert_eq!(of(args), format!("{line} (see `--help`)"), "{args}");
    }
}

#[test]
fn a_missing_option_is_named_with_the_option_that_requires_it() {
    for (args, line) in [
        ("lm --input x", "--input: expected --output FILE as well"),
        (
            "lm --samples 3 --dtype f32 --input x --prompt=",
            "--input: expected it without --prompt",
        ),
        (
            "lm --samples 3 --dtype f32 --input=x",
            "--input: expected --output FILE as well",
        ),
        (
            "lm --generate 3 --input x",
            "--input: expected --output FILE as well",
        ),
        ("lm --all --dtype f32", "--all: expected --trace as well"),
        (
            "lm --input x --all",
            "--input: expected --output FILE as well",
        ),
        (
            "explain --colour gelu",
            "--colour: expected --output FILE as well",
        ),
        (
            "occupancy --entry x",
            "--entry: expected KERNEL|FILE as well",
        ),
    ] {
        let said = of(args);
        assert!(
            said.starts_with(&format!("{line}, found ")),
            "{args}: {said}"
        );
        assert!(said.ends_with(" (see `--help`)"), "{args}: {said}");
    }
    let both = of("lm --generate 3 --trace");
    assert!(both.starts_with("--generate: expected "), "{both}");
    assert!(
        both.contains("--input INPUT") && both.contains("--output FILE"),
        "{both}"
    );
}

#[test]
fn options_that_exclude_each_other_are_both_named() {
    for (args, line) in [
        (
            "lm --input x --output y --prompt z",
            "--input: expected it without --prompt, found them together",
        ),
        (
            "lm --model x --model y",
            "--model: expected it once, found it more than once",
        ),
        (
            "--samples 3 lm",
            "lm: expected all options after the command, found --samples before it",
        ),
    ] {
        assert_eq!(of(args), format!("{line} (see `--help`)"), "{args}");
    }
}

#[test]
fn a_text_of_a_programs_own_stays() {
    let error = Error::raw(
        ErrorKind::UnknownArgument,
        "--level: expected none, found 3\n",
    );
    assert_eq!(mistake(&error), "--level: expected none, found 3");
}
