//! `--help` of the training program.

#[path = "../../../tests/tests/words/help.rs"]
mod help;

#[test]
fn help_texts_use_plain_words() {
    help::check(&help::example("train"));
}
