//! Checks what programs print for `--help` against the terms of `docs/STYLE.md`.
//!
//! A program can be run by the tests of its own package alone, so those include this file with `#[path]`. Each uses
//! another part of it.
#![allow(dead_code)]

#[path = "terms.rs"]
mod terms;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use terms::Terms;

/// A command that prints help, and its text.
type Help = (String, String);

/// Checks the help texts of a program.
///
/// # Panics
/// When a text uses a term that the style guide replaces, or there is no style guide.
pub fn check(texts: Vec<Help>) {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("docs/STYLE.md"))
        .find(|guide| guide.is_file())
        .expect("docs/STYLE.md");
    let terms = Terms::read(&fs::read_to_string(guide).unwrap());
    let mut faults = vec![];
    for (command, text) in texts {
        // A term may stand on two lines of the text.
        let text: Vec<&str> = text.split_whitespace().collect();
        let found = terms.found_in(&text.join(" "));
        faults.extend(found.into_iter().map(|fault| format!("{command}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The long and the short help of a program and all its subcommands.
pub fn of_program(program: &Path) -> Vec<Help> {
    texts(program, &[])
}

fn texts(program: &Path, subcommand: &[&str]) -> Vec<Help> {
    let name = program.file_stem().unwrap().to_string_lossy();
    let [long, short] = ["--help", "-h"].map(|option| {
        let output = Command::new(program)
            .args(subcommand)
            .arg(option)
            .output()
            .unwrap_or_else(|e| panic!("cannot run {}: {e}", program.display()));
        assert!(output.status.success(), "{name} {subcommand:?} {option}");
        let words = [&[&*name], subcommand, &[option]].concat();
        (words.join(" "), String::from_utf8(output.stdout).unwrap())
    });
    assert!(long.1.contains("Usage: "), "{long:?}");
    let below: Vec<String> = subcommands(&long.1).map(str::to_string).collect();
    let mut all = vec![long, short];
    for name in &below {
        all.extend(texts(program, &[subcommand, &[name.as_str()]].concat()));
    }
    all
}

/// The same of a command of clap's that has been built, where the program cannot be run.
pub fn of_command(name: &str, command: &mut clap::Command) -> Vec<Help> {
    let long = command.render_long_help().to_string();
    let short = command.render_help().to_string();
    let mut all = vec![
        (format!("{name} --help"), long),
        (format!("{name} -h"), short),
    ];
    for below in command.get_subcommands_mut() {
        if below.get_name() != "help" {
            let name = format!("{name} {}", below.get_name());
            all.extend(of_command(&name, below));
        }
    }
    all
}

/// The names below `Commands:`; clap lists `help`, too, whose text is clap's own.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // A description that is continued is indented further than a name.
    let names = list
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
}

/// The program of an example of the package under test, which `cargo test -p PACKAGE` builds.
///
/// # Panics
/// When it is not built.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = profile.join("examples").join(file);
    assert!(
        path.is_file(),
        "{} is not built: run `cargo test -p {}`",
        path.display(),
        env!("CARGO_PKG_NAME")
    );
    path
}

#[test]
fn subcommands_are_found() {
    let help = "Usage: a\n\nCommands:\n  one   Does one thing\n        and more\n  two\n  help  Print\n\nOptions:\n  -h\n";
    assert_eq!(subcommands(help).collect::<Vec<_>>(), ["one", "two"]);
}
