//! Ends of programs: an error is one line on stderr and an exit code. After the line about a level of a learner's own that
//! does not compile, the text of the compiler's errors follows.

mod driver;

use std::cell::Cell;
use std::error::Error as StdError;
use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use candle_core::Error as Candle;
use data::BadInput;

use crate::own::NotCompiled;

/// Exit code for bad input: an invalid file, tensor or option.
pub const BAD_INPUT: u8 = 2;
/// Exit code for all other failures.
pub const FAILURE: u8 = 1;

/// Runs a program's `main`: sets the number of threads, and turns an error into one line on stderr and exit
/// code 2 for bad input or 1 for anything else. A pipe closed by its reader is no error.
pub fn run(program: impl FnOnce() -> anyhow::Result<()> + Send) -> ExitCode {
    end_with_the_reader();
    let program = || {
        program()?;
        crate::note::at_the_end();
        Ok(())
    };
    match crate::threads::run(program).flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(error),
    }
}

thread_local! {
    /// Whether a panic of this thread is [`caught`].
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function of a third party on untrusted input. A panic becomes its message, and prints nothing.
///
/// # Errors
/// The panic's message.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    IS_CAUGHT.set(before);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("a panic without a message").to_owned()
    })
}

/// Whether the code of a learner is in this program, and may panic.
static HAS_OWN: AtomicBool = AtomicBool::new(false);

/// Whether the panics of all threads are [`caught_everywhere`].
static ARE_CAUGHT: AtomicBool = AtomicBool::new(false);

/// The line about the first panic that was caught.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Makes each panic from here on one line on stderr, with exit code 1.
pub fn has_own() {
    HAS_OWN.store(true, Ordering::Relaxed);
}

/// Runs code of a learner, also on other threads. A panic becomes one line with its place, and prints nothing.
///
/// # Errors
/// That line.
pub fn caught_everywhere<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    let first = || FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
    first();
    let before = ARE_CAUGHT.swap(true, Ordering::Relaxed);
    let result = caught(f);
    ARE_CAUGHT.store(before, Ordering::Relaxed);
    result.map_err(|said| first().unwrap_or(said))
}

/// `PLACE: panicked: WHY`; the place is below the current folder, if it is in there.
fn panicked(panic: &PanicHookInfo) -> String {
    let why = panic
        .payload_as_str()
        .unwrap_or("a panic without a message");
    let place = panic.location().map(ToString::to_string);
    let place = place.unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    let short = place.strip_prefix(&format!("{}/", here.display()));
    one_line(&format!("{}: panicked: {why}", short.unwrap_or(&place)))
}

/// Ends the program quietly when the reader of a pipe has closed it, as `| head` does; `println!` would
/// panic.
fn end_with_the_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if ARE_CAUGHT.load(Ordering::Relaxed) {
            let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| panicked(panic));
            return;
        }
        if IS_CAUGHT.get() {
            return;
        }
        let said = panic.payload_as_str().unwrap_or_default();
        if !said.starts_with("failed printing to stdout") {
            if HAS_OWN.load(Ordering::Relaxed) {
                complain(with_check(panicked(panic)), FAILURE);
                std::process::exit(i32::from(FAILURE));
            }
            report(panic);
        } else if is_about_a_closed_pipe(said) {
            std::process::exit(0);
        } else {
            let _ = writeln!(std::io::stderr(), "error: {}", unprinted(said));
            std::process::exit(i32::from(BAD_INPUT));
        }
    }));
}

/// `cannot write `stdout`: …`, the words of a file that cannot be written.
fn unprinted(said: &str) -> BadInput {
    let why = said.split_once(": ").map_or(said, |(_, why)| why);
    BadInput::unwritable("stdout".as_ref(), &std::io::Error::other(why))
}

/// The second number is Windows' error code for a closed pipe.
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
    if let Some(refused) = error.downcast_ref::<NotCompiled>() {
        let code = complain(refused, BAD_INPUT);
        if !refused.text.is_empty() {
            data::note(&refused.text);
        }
        return code;
    }
    match error.chain().find_map(bad_input) {
        Some(bad) => complain(bad, BAD_INPUT),
        None => complain(with_check(driver::explained(plain(&error))), FAILURE),
    }
}

/// Names the command that tests the learner's levels, if there are any.
fn with_check(line: String) -> String {
    match crate::own::check_command() {
        Some(check) => format!("{line} ({check} tests the methods)"),
        None => line,
    }
}

/// clap reports `--help` and `--version` as errors, but they succeed.
fn report_usage(usage: &clap::Error) -> ExitCode {
    if !usage.use_stderr() {
        let printed = usage.print().and_then(|()| std::io::stdout().flush());
        return match printed {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                complain(BadInput::unwritable("stdout".as_ref(), &e), BAD_INPUT)
            }
            _ => ExitCode::SUCCESS,
        };
    }
    complain(command_line::mistake(usage), BAD_INPUT)
}

fn complain(message: impl std::fmt::Display, code: u8) -> ExitCode {
    let line = one_line(&message.to_string());
    let _ = writeln!(std::io::stderr(), "error: {line}");
    ExitCode::from(code)
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    data::plain_line(&words.join(" ")).into_owned()
}

fn is_broken_pipe(cause: &(dyn StdError + 'static)) -> bool {
    let io = match cause.downcast_ref().map(innermost) {
        Some(Candle::Io(io)) => Some(io),
        _ => cause.downcast_ref::<std::io::Error>(),
    };
    io.is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
}

/// Returns the [`BadInput`] in `cause`, however deeply candle has wrapped it.
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

/// Returns candle's error without its backtrace and contexts.
fn innermost(error: &Candle) -> &Candle {
    match error {
        Candle::WithBacktrace { inner, .. } | Candle::Context { inner, .. } => innermost(inner),
        other => other,
    }
}

/// Returns the message without candle's backtrace.
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
    fn wrapped_bad_input_is_found() {
        let bad = || BadInput::new("file", "a", "b");
        let wrapped = || models::bad_input("file", "a", "b");
        for error in [
            anyhow::Error::from(bad()),
            models::Error::Input(bad()).into(),
            models::Error::Candle(wrapped()).into(),
            wrapped().into(),
            charts::Error::Write(bad()).into(),
            wrapped().bt().context("loading").bt().into(),
        ] {
            assert_eq!(find(&error).as_deref(), Some("file"), "{error:?}");
            assert_eq!(find(&error.context("outer")).as_deref(), Some("file"));
        }
        assert_eq!(find(&Candle::msg("other").into()), None);
    }

    #[test]
    fn a_backtrace_is_removed() {
        let backtrace = std::backtrace::Backtrace::force_capture();
        let error = Candle::WithBacktrace {
            inner: Box::new(Candle::msg("two\nlines")),
            backtrace: Box::new(backtrace),
        };
        assert_eq!(one_line(&plain(&error.into())), "two lines");
        assert_eq!(one_line("a\u{1b}[2J\nb"), "a\\u{1b}[2J b");
    }

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(caught(|| 3), Ok(3));
        assert_eq!(caught(|| [0; 3][3 + "".len()]), {
            Err("index out of bounds: the len is 3 but the index is 3".to_owned())
        });
        assert_eq!(caught(|| panic!("no")), Err::<(), _>("no".to_owned()));
        assert!(!IS_CAUGHT.get());
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let closed = || std::io::Error::from(ErrorKind::BrokenPipe);
        let error = Err::<(), _>(closed()).context("writing").unwrap_err();
        assert_eq!(report(error), ExitCode::SUCCESS);
        let wrapped = Candle::from(closed()).bt();
        assert_eq!(report(wrapped.into()), ExitCode::SUCCESS);
    }
}
