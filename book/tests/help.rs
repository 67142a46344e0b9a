//! `--help` of the program and of all its subcommands.

#[path = "../../tests/tests/words/help.rs"]
mod help;

#[test]
fn help_texts_use_plain_words() {
    help::check(help::of_program(env!("CARGO_BIN_EXE_book").as_ref()));
}
