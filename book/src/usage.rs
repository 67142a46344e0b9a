//! How a command line that cannot be is refused: in one line, as all programs here refuse bad input.

use crate::out;
use std::process::ExitCode;

/// Prints what clap says of the command line; `--help` is an error to clap alone.
pub fn report(usage: &clap::Error) -> ExitCode {
    if !usage.use_stderr() {
        // Nobody is left to tell when this fails.
        let _ = usage.print();
        return ExitCode::SUCCESS;
    }
    out::error(command_line::mistake(usage));
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Args;
    use clap::Parser;

    #[test]
    fn a_mistake_is_one_line_that_names_it() {
        for (args, expected) in [
            (
                &["bild"][..],
                "book: expected one of its commands, found \"bild\" (similar: build; see `--help`)",
            ),
            (
                &["build", "--fast"],
                "build: expected one of its options, found --fast",
            ),
            (
                &["serve", "--port", "x"],
                "--port: expected a whole number, found \"x\"",
            ),
            (
                &["serve", "--port", "-1"],
                "--port: expected a whole number from 0 to 65535, found -1",
            ),
            (
                &["measure", "supports"],
                "measure supports: expected RENDERER, found none",
            ),
            (&[], "book: expected one of its commands, found none"),
        ] {
            let args = ["book"].iter().chain(args);
            let Err(error) = Args::try_parse_from(args) else {
                panic!("expected a mistake: {expected}")
            };
            assert!(error.use_stderr(), "{error}");
            let line = out::one_line(&command_line::mistake(&error));
            assert!(line.contains(expected), "{line}");
            assert!(!line.contains("Usage"), "{line}");
            assert!(!line.starts_with("error"), "{line}");
        }
    }

    #[test]
    fn help_is_no_mistake() {
        let Err(help) = Args::try_parse_from(["book", "--help"]) else {
            panic!("expected the help")
        };
        assert!(!help.use_stderr() && help.to_string().contains("\n\nUsage:"));
    }
}
