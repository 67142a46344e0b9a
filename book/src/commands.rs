//! `book commands`: runs the commands of the pages.

use crate::out;
use crate::place;
use crate::render;
use crate::shell::{self, Block, Mark};
use crate::skip::kept;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

/// The lines of output that are shown of a command that fails.
const SHOWN: usize = 30;

/// Runs every command of the README, the chapters and the exercises whose text contains `filter`, each once,
/// from the root of the repository. Not those that are marked, nor those that `.ci/run` has in a step of its own.
///
/// # Errors
/// When a file cannot be read or no shell started.
pub fn run(root: &Path, filter: &str) -> Result<ExitCode> {
    let repository = root.join("..").canonicalize()?;
    let steps = fs::read_to_string(repository.join(".ci/run"))?;
    let mut seen: BTreeSet<String> = steps.lines().map(|line| line.trim().to_string()).collect();
    let mut failed = 0;
    for file in shell::files(root, &render::load(root)?)? {
        for block in shell::blocks(&file)? {
            if let Some(Mark::NotRun(why)) = &block.marked {
                data::note(kept(&place::at(&block.file, block.line), why));
            }
            failed += usize::from(!run_block(&repository, &block, filter, &mut seen)?);
        }
    }
    out::say(format_args!("{failed} failed"));
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns whether each command ended with the expected exit code. A block marked as not run always passes.
fn run_block(
    repository: &Path,
    block: &Block,
    filter: &str,
    seen: &mut BTreeSet<String>,
) -> Result<bool> {
    if let Some(Mark::NotRun(_)) = block.marked {
        return Ok(true);
    }
    let at = place::at(&block.file, block.line);
    let commands = block.commands();
    for (i, command) in commands.iter().enumerate() {
        let is_last = i + 1 == commands.len();
        let expected = match block.marked {
            Some(Mark::Exits(code)) if is_last => code,
            _ => 0,
        };
        if !command.contains(filter) || !seen.insert(command.clone()) {
            continue;
        }
        data::note(format_args!("running `{command}` …"));
        let start = Instant::now();
        let output = shell_output(repository, command)?;
        let took = start.elapsed().as_secs();
        if output.status.code() != Some(expected) {
            out::say(format_args!(
                "{at}: `{command}`: expected exit code {expected}, found {}",
                output.status
            ));
            out::say(tail(&output));
            return Ok(false);
        }
        out::say(format_args!("{at}: {command}: {took} s"));
    }
    Ok(true)
}

fn shell_output(folder: &Path, command: &str) -> Result<Output> {
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", command])
        .current_dir(folder);
    bash.output()
        .with_context(|| format!("`{command}`: expected bash"))
}

fn tail(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str, marked: Option<Mark>) -> Block {
        let file = crate::root().join("book.toml");
        let text = text.to_string();
        Block {
            file,
            line: 1,
            text,
            marked,
        }
    }

    #[test]
    #[cfg_attr(windows, ignore = "it needs bash")]
    fn a_command_has_to_end_as_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let ok = |text: &str, marked| {
            run_block(
                folder.path(),
                &block(text, marked),
                "",
                &mut BTreeSet::new(),
            )
            .unwrap()
        };
        assert!(ok("true", None) && !ok("false", None) && !ok("true\nfalse", None));
        assert!(ok("false", Some(Mark::Exits(1))) && !ok("true", Some(Mark::Exits(1))));
        assert!(
            !ok("false\nfalse", Some(Mark::Exits(1))),
            "only the last may fail"
        );
        assert!(ok("false", Some(Mark::NotRun("why".into()))));
    }

    #[test]
    #[cfg_attr(windows, ignore = "it needs bash")]
    fn a_command_runs_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..2 {
            run_block(
                folder.path(),
                &block("echo x >> log", None),
                "echo",
                &mut seen,
            )
            .unwrap();
        }
        assert_eq!(
            fs::read_to_string(folder.path().join("log")).unwrap(),
            "x\n"
        );
    }
}
