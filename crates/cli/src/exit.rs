//! How a program ends: one line on stderr, and a code.

use std::error::Error as StdError;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use candle_core::Error as Candle;
use data::BadInput;

/// For bad input: a file, a tensor or an option that is not what it has to be.
pub const BAD_INPUT: u8 = 2;
/// For every other failure.
pub const FAILURE: u8 = 1;

/// Runs a program's `main`: sets the number of threads, and turns an error into one line on stderr
/// and exit code 2 for bad input or 1 for anything else. A reader that closes the pipe is no error.
pub fn run(program: impl FnOnce() -> anyhow::Result<()> + Send) -> ExitCode {
    end_with_the_reader();
    match crate::threads::run(program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(error),
    }
}

/// `println!` panics when nothing can be printed. Where the reader of a pipe is gone, as behind `| head`, the program just ends.
fn end_with_the_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        match said.starts_with("failed printing to stdout") {
            false => report(panic),
            true if is_about_a_closed_pipe(said) => std::process::exit(0),
            true => {
                eprintln!("error: {said}");
                std::process::exit(i32::from(FAILURE));
            }
        }
    }));
}

/// The second is Windows' number for the same.
fn is_about_a_closed_pipe(said: &str) -> bool {
    let closed = ["Broken pipe", "os error 232"];
    closed.iter().any(|closed| said.contains(closed))
}

fn report(error: anyhow::Error) -> ExitCode {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        return report_usage(usage);
    }
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    match error.chain().find_map(bad_input) {
        Some(bad) => complain(bad, BAD_INPUT),
        None => complain(plain(&error), FAILURE),
    }
}

/// `--help` and `--version` are errors to clap, but not to anyone else.
fn report_usage(usage: &clap::Error) -> ExitCode {
    if !usage.use_stderr() {
        // Nobody is left to tell when this fails.
        let _ = usage.print();
        return ExitCode::SUCCESS;
    }
    complain(data::usage(&usage.to_string()), BAD_INPUT)
}

fn complain(message: impl std::fmt::Display, code: u8) -> ExitCode {
    let line = one_line(&message.to_string());
    let _ = writeln!(std::io::stderr(), "error: {line}");
    ExitCode::from(code)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_broken_pipe(cause: &(dyn StdError + 'static)) -> bool {
    let io = cause.downcast_ref::<std::io::Error>();
    io.is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
}

/// The complaint about input in `cause`, however deep candle has wrapped it.
fn bad_input<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a BadInput> {
    if let Some(models::Error::Input(bad)) = cause.downcast_ref() {
        return Some(bad);
    }
    let of_models = || match cause.downcast_ref() {
        Some(models::Error::Candle(error)) => Some(error),
        _ => None,
    };
    match cause.downcast_ref::<Candle>().or_else(of_models) {
        Some(error) => match innermost(error) {
            Candle::WrappedContext { wrapped, .. } => wrapped.downcast_ref(),
            _ => None,
        },
        None => cause.downcast_ref(),
    }
}

/// candle's error without its backtrace and the contexts around it.
fn innermost(error: &Candle) -> &Candle {
    match error {
        Candle::WithBacktrace { inner, .. } | Candle::Context { inner, .. } => innermost(inner),
        other => other,
    }
}

/// The message, without the backtrace that candle prints behind it.
fn plain(error: &anyhow::Error) -> String {
    let of_models = || match error.downcast_ref() {
        Some(models::Error::Candle(error)) => Some(error),
        _ => None,
    };
    match error.downcast_ref::<Candle>().or_else(of_models) {
        Some(error) => innermost(error).to_string(),
        None => format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn find(error: &anyhow::Error) -> Option<String> {
        error
            .chain()
            .find_map(bad_input)
            .map(|bad| bad.what.clone())
    }

    #[test]
    fn bad_input_is_found_wherever_it_is() {
        let bad = || BadInput::new("file", "a", "b");
        let wrapped = || models::bad_input("file", "a", "b");
        for error in [
            anyhow::Error::from(bad()),
            models::Error::Input(bad()).into(),
            models::Error::Candle(wrapped()).into(),
            wrapped().into(),
            wrapped().bt().context("loading").bt().into(),
        ] {
            assert_eq!(find(&error).as_deref(), Some("file"), "{error:?}");
            assert_eq!(find(&error.context("outer")).as_deref(), Some("file"));
        }
        assert_eq!(find(&Candle::msg("other").into()), None);
    }

    #[test]
    fn a_backtrace_is_left_out() {
        let backtrace = std::backtrace::Backtrace::force_capture();
        let error = Candle::WithBacktrace {
            inner: Box::new(Candle::msg("two\nlines")),
            backtrace: Box::new(backtrace),
        };
        assert_eq!(one_line(&plain(&error.into())), "two lines");
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let closed = std::io::Error::from(ErrorKind::BrokenPipe);
        let error = Err::<(), _>(closed).context("writing").unwrap_err();
        assert_eq!(report(error), ExitCode::SUCCESS);
    }
}
