//! Mistakes on a command line in one line, in the form of all other bad input: ``NAME: expected …, found … (see `--help`)``.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use data::BadInput;

/// Returns clap's error as one line, without `error: `. It begins with the option, the argument or the command.
pub fn mistake(error: &Error) -> String {
    let Some(bad) = bad_input(error) else {
        return as_clap_says(&error.to_string());
    };
    let similar = similar(error).map(|name| format!("similar: {name}; "));
    format!("{bad} ({}see `--help`)", similar.unwrap_or_default())
}

/// Adds to an error about missing options the option that requires them, and to one about an option after an extra `--` that
/// it follows one; [`mistake`] then says so. clap's error has neither. `command` is the whole program.
pub fn with_requirer(mut error: Error, command: &Command) -> Error {
    if let Some((requirer, missing)) = requirer(&error, command) {
        error.insert(ContextKind::PriorArg, ContextValue::String(requirer));
        error.insert(ContextKind::InvalidArg, ContextValue::Strings(missing));
    }
    if follows_dashes(&error, command) {
        error.insert(ContextKind::TrailingArg, ContextValue::Bool(true));
    }
    error
}

/// Whether clap does not know an option that the command has: after `--`, all are arguments.
fn follows_dashes(error: &Error, command: &Command) -> bool {
    let is_known = || {
        let arg = text(error, ContextKind::InvalidArg)?.strip_prefix("--")?;
        let option = arg.split('=').next();
        let usage = usage(error)?;
        let words: Vec<&str> = usage.split_whitespace().collect();
        let mut args = named(&words, command).get_arguments();
        Some(args.any(|arg| arg.get_long() == option))
    };
    error.kind() == ErrorKind::UnknownArgument && is_known() == Some(true)
}

/// The subcommand of `command` that these words of a usage name.
fn named<'c>(words: &[&str], mut command: &'c Command) -> &'c Command {
    for word in words {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    command
}

/// The given option that requires a missing one, and all missing ones that it requires. `None` if something is missing that
/// the command needs in any case.
fn requirer(error: &Error, command: &Command) -> Option<(String, Vec<String>)> {
    let missing = missing(error)?;
    let usage = usage(error)?;
    let words: Vec<&str> = usage.split_whitespace().collect();
    let command = named(&words, command);
    let given = command.get_arguments().filter_map(|arg| {
        let option = format!("--{}", arg.get_long()?);
        // The usage has the given options and the missing ones.
        let is_missing = missing.iter().any(|arg| name(arg) == option);
        let is_given = words.contains(&option.as_str()) && !is_missing;
        is_given.then(|| (required_by(&option, arg, command), option))
    });
    let given: Vec<(Vec<String>, String)> = given
        .filter(|(required, _)| missing.iter().any(|arg| required.contains(arg)))
        .collect();
    let is_required = |arg: &String| given.iter().any(|(required, _)| required.contains(arg));
    if !missing.iter().all(is_required) {
        return None;
    }
    // `--a` may require `--b`, which requires `--c`: the error for `--b` without `--c` names `--b`.
    let (required, option) = given.into_iter().min_by_key(|(all, _)| all.len())?;
    let missing = missing.into_iter().filter(|arg| required.contains(arg));
    Some((option, missing.collect()))
}

/// The arguments that an option requires: those that clap misses when a command line has this option alone. (clap does not
/// publish them.)
fn required_by(option: &str, arg: &Arg, command: &Command) -> Vec<String> {
    let alone = command.clone().subcommand_required(false).mut_args(|arg| {
        let arg = arg.required(false);
        if arg.get_action().takes_values() {
            arg.value_parser(ValueParser::string())
        } else {
            arg
        }
    });
    let value = arg.get_action().takes_values().then_some("value");
    let line = ["program", option].into_iter().chain(value);
    let read = alone.try_get_matches_from(line);
    read.err().as_ref().and_then(missing).unwrap_or_default()
}

/// The arguments that clap misses.
fn missing(error: &Error) -> Option<Vec<String>> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let all = listed(error, ContextKind::InvalidArg)?;
    Some(all.into_iter().map(str::to_owned).collect())
}

/// The form for each kind of error. `None` for a kind that no program here has, and for a text without a context.
fn bad_input(error: &Error) -> Option<BadInput> {
    let arg = text(error, ContextKind::InvalidArg);
    let name = arg.map(name);
    let value = text(error, ContextKind::InvalidValue);
    let others = || listed(error, ContextKind::PriorArg).map(name_of_all);
    Some(match error.kind() {
        ErrorKind::InvalidValue => {
            let values = listed(error, ContextKind::ValidValue).filter(|all| !all.is_empty());
            let expected = match values {
                Some(all) => joined(&all, "or"),
                None => placeholder(arg?),
            };
            BadInput::new(name?, expected, found(value?))
        }
        ErrorKind::ValueValidation => BadInput::new(name?, expected(error), found(value?)),
        ErrorKind::TooManyValues => BadInput::new(name?, "no value", found(value?)),
        ErrorKind::UnknownArgument if error.get(ContextKind::TrailingArg).is_some() => {
            let found = format!("{} after one", found(arg?));
            BadInput::new(command(error)?, "no `--` before its options", found)
        }
        ErrorKind::UnknownArgument => {
            let expected = if arg?.starts_with('-') {
                "one of its options"
            } else {
                "no further argument"
            };
            BadInput::new(command(error)?, expected, found(arg?))
        }
        ErrorKind::InvalidSubcommand => {
            let value = text(error, ContextKind::InvalidSubcommand)?;
            BadInput::new(command(error)?, "one of its commands", found(value))
        }
        // clap's list of them has those that the help hides.
        ErrorKind::MissingSubcommand => {
            BadInput::new(command(error)?, "one of its commands", "none")
        }
        ErrorKind::MissingRequiredArgument => {
            let all: Vec<String> = missing(error)?.iter().map(|arg| plain(arg)).collect();
            let all = joined(&all, "and");
            match text(error, ContextKind::PriorArg) {
                Some(requirer) => BadInput::new(requirer, all + " as well", "none"),
                None => BadInput::new(command(error)?, all, "none"),
            }
        }
        ErrorKind::ArgumentConflict => match (name, text(error, ContextKind::InvalidSubcommand)) {
            (Some(name), _) if text(error, ContextKind::PriorArg) == arg => {
                BadInput::new(name, "it once", "it more than once")
            }
            (Some(name), _) => {
                let others = others().unwrap_or_else(|| "the other options".into());
                BadInput::new(name, format!("it without {others}"), "them together")
            }
            (None, subcommand) => {
                let others = others().unwrap_or_else(|| "options".into());
                let found = format!("{others} before it");
                BadInput::new(subcommand?, "all options after the command", found)
            }
        },
        ErrorKind::InvalidUtf8 => BadInput::new(command(error)?, "text in UTF-8", "other bytes"),
        _ => return None,
    })
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// One text or several.
fn listed(error: &Error, kind: ContextKind) -> Option<Vec<&str>> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(vec![text]),
        ContextValue::Strings(texts) => Some(texts.iter().map(String::as_str).collect()),
        _ => None,
    }
}

/// `--model` of `--model <DIR>`, `OP` of `<OP>`
fn name(arg: &str) -> String {
    plain(arg.split(' ').next().unwrap_or_default())
}

fn name_of_all(args: Vec<&str>) -> String {
    let names: Vec<String> = args.into_iter().map(name).collect();
    joined(&names, "and")
}

/// `--model DIR` of `--model <DIR>...`
fn plain(arg: &str) -> String {
    arg.trim_end_matches("...")
        .replace(['<', '>', '[', ']'], "")
}

/// The value that `--model <DIR>` stands for. clap's default is the option's own name, which says nothing.
fn placeholder(arg: &str) -> String {
    let arg = plain(arg);
    let (option, value) = arg.split_once(' ').unwrap_or(("", &arg));
    let option = option.trim_start_matches('-').replace('-', "_");
    if value.eq_ignore_ascii_case(&option) {
        "a value".to_owned()
    } else {
        format!("a value ({value})")
    }
}

/// `a, b or c`
fn joined<T: AsRef<str>>(all: &[T], word: &str) -> String {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match &all[..] {
        [others @ .., last] if !others.is_empty() => {
            format!("{} {word} {last}", others.join(", "))
        }
        all => all.concat(),
    }
}

/// A number or an option as it was typed, other texts in quotes.
fn found(text: &str) -> String {
    let is_option = text.starts_with('-') && !text.contains(char::is_whitespace);
    match text {
        "" => "none".to_owned(),
        _ if is_option || text.parse::<f64>().is_ok() => text.to_owned(),
        _ => format!("{text:?}"),
    }
}

/// The value that a parser expected, in its own words where it has some.
fn expected(error: &Error) -> String {
    let source = error.source();
    let said = source.map(ToString::to_string).unwrap_or_default();
    if let Some(bad) = source.and_then(|source| source.downcast_ref::<ParseIntError>()) {
        return match bad.kind() {
            IntErrorKind::PosOverflow => "a smaller whole number",
            IntErrorKind::NegOverflow => "a larger whole number",
            _ => "a whole number",
        }
        .into();
    }
    if source.is_some_and(|source| source.is::<ParseFloatError>()) {
        return "a number".into();
    }
    let is_in = said.split_once(" is not in ");
    if let Some((least, most)) = is_in.and_then(|(_, range)| range.split_once("..=")) {
        return format!("a whole number from {least} to {most}");
    }
    match said.split_once("expected ") {
        Some((_, expected)) => expected.split(", found ").next().unwrap_or(expected).into(),
        None => format!("another value ({said})"),
    }
}

fn usage(error: &Error) -> Option<String> {
    match error.get(ContextKind::Usage)? {
        ContextValue::StyledStr(usage) => Some(usage.to_string()),
        _ => None,
    }
}

/// `exercises check` of `Usage: workbook exercises check [OPTIONS]`; the program's own name where no command follows it.
fn command(error: &Error) -> Option<String> {
    let usage = usage(error)?;
    let words = usage.trim_start_matches("Usage:").split_whitespace();
    let words: Vec<&str> = words
        .take_while(|word| !word.starts_with(['[', '<', '-']))
        .collect();
    match &words[..] {
        [program] => Some((*program).to_owned()),
        [_, command @ ..] => Some(command.join(" ")),
        [] => None,
    }
}

/// The option, command or value that a misspelt one may have been meant to be; values stand in the line anyway.
fn similar(error: &Error) -> Option<String> {
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let known = kinds.iter().find_map(|kind| listed(error, *kind)?.pop());
    known.map(str::to_owned).or_else(|| {
        let Some(ContextValue::StyledStrs(said)) = error.get(ContextKind::Suggested) else {
            return None;
        };
        // `'lm --max-tokens' exists`: an option of a subcommand.
        let mut said = said.iter().map(ToString::to_string);
        said.find_map(|text| {
            let name = text.strip_suffix(" exists")?.trim_matches('\'');
            Some(name.to_owned())
        })
    })
}

/// Returns clap's own words without the usage and the hint at `--help`.
fn as_clap_says(text: &str) -> String {
    let tails = ["\n\nUsage:", "\n\nFor more information"];
    let end = tails.iter().filter_map(|tail| text.find(tail)).min();
    let text = text[..end.unwrap_or(text.len())].trim_start_matches("error: ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
