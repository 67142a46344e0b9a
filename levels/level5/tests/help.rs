//! `--help` of the examples. Those of the models are the same at every level.

#[path = "../../../tests/tests/words/help.rs"]
mod help;

#[test]
fn help_texts_use_plain_words() {
    for name in ["lm", "vit", "gnn", "tune", "realtime", "system_info"] {
        help::check(help::of_program(&help::example(name)));
    }
}
