//! Levels of a learner: `--level mine` and `--swap norm_qkv=mine`.
//!
//! A learner's level is a crate outside of this workspace. A program that is asked for one compiles it against the libraries
//! that the program itself is made of, links both to a second program, and runs that in its place.

mod artifacts;
mod build;
mod errors;
mod folder;

use std::process::{Command, ExitStatus};

use anyhow::Result;
use levels::Name;

pub use artifacts::{Artifacts, Program, cargo};
pub use build::{Built, build, limits};
pub use errors::NotCompiled;
pub use folder::{FOLDER, HINTS, MEASURED, OwnLevel, PROGRESS};
pub use levels::register;

use crate::progress::Waiting;

/// The levels that the value of `--swap` names; parts that are no level are left to [`levels::Swap`].
pub fn names_in(swap: Option<&str>) -> Vec<Name> {
    let parts = swap.unwrap_or_default().split(',');
    let name = |part: &str| part.split_once('=')?.1.trim().parse().ok();
    parts.filter_map(name).collect()
}

/// The command that tests the learner's levels in this program, if there are any.
pub fn check_command() -> Option<String> {
    let name = levels::names().into_iter().next()?;
    Some(format!("`cargo ex level check {name}`"))
}

/// Runs `program`, which is this one, again with the learner's levels among `names`, with the same options; does not return
/// then. Returns if all of them are registered.
///
/// # Errors
/// A level does not exist or does not compile.
pub fn run_with(program: Program, names: &[Name]) -> Result<()> {
    level_kit::set_compiler(crate::nvrtc::for_levels);
    let mut wanted: Vec<OwnLevel> = vec![];
    for name in names {
        let Some(own) = name.own() else { continue };
        if levels::registered(own).is_none() && wanted.iter().all(|level| level.name() != own) {
            wanted.push(OwnLevel::find(name)?);
        }
    }
    if wanted.is_empty() {
        if names.iter().any(|name| name.own().is_some()) {
            crate::exit::has_own();
        }
        return Ok(());
    }
    let built = {
        let _waiting = Waiting::new(format!("building {}", names_of(&wanted)));
        build(&Artifacts::of(program)?, &wanted)??
    };
    let mut command = Command::new(&built.program);
    command.args(std::env::args_os().skip(1));
    let status = replace(command)?;
    std::process::exit(status.code().unwrap_or(1))
}

fn names_of(levels: &[OwnLevel]) -> String {
    let names: Vec<&str> = levels.iter().map(OwnLevel::name).collect();
    names.join(", ")
}

/// Runs a program in place of this one. Returns its status where a process cannot be replaced.
#[cfg(unix)]
fn replace(mut command: Command) -> std::io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}

#[cfg(not(unix))]
fn replace(mut command: Command) -> std::io::Result<ExitStatus> {
    command.status()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_found_in_a_swap() {
        let names = names_in(Some(
            "linear=2, norm_qkv = mine,attention,linear=,embedding=class/ada",
        ));
        let names: Vec<String> = names.iter().map(Name::to_string).collect();
        assert_eq!(names, ["2", "mine", "class/ada"]);
        assert!(names_in(None).is_empty());
    }
}
