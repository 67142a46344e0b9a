//! `--help` of the program for mutation tests.

#[path = "../../tests/tests/words/help.rs"]
mod help;

#[test]
fn help_texts_use_plain_words() {
    help::check(help::of_program(&help::example("mutate")));
}
