//! `--help` of the command and of all its subcommands.

#[path = "../../../../tests/tests/words/help.rs"]
mod texts;

#[test]
fn help_texts_use_plain_words() {
    texts::check(texts::of_program(env!("CARGO_BIN_EXE_workbook").as_ref()));
}
