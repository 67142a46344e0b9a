//! `level handout`: the starter of a level for a class.

use std::fs;
use std::path::Path;

use anyhow::Result;
use classroom::handout::new_folder;

use super::milestones::Milestones;
use super::new;

/// Where students copy the crate: `my-exercises/levels/mine` of the workbook, from which this is the workspace.
const ROOT: &str = "../../..";

/// Name of the crate.
const NAME: &str = "mine";

/// Writes the starter, its milestones and a README into the new folder `to`.
pub fn handout(to: &Path, hints: bool) -> Result<bool> {
    let milestones = Milestones::read()?;
    new_folder(to, |whole| {
        new::write_files(NAME, &whole.join(NAME), ROOT, hints)?;
        // Git keeps no empty folder.
        fs::write(
            whole.join(NAME).join("kernels/README.md"),
            "Your kernels: files that end in `.ptx` or `.cu`.\n",
        )?;
        fs::write(whole.join("MILESTONES.md"), list(&milestones, hints))?;
        fs::write(whole.join("README.md"), read_me(hints))
    })?;
    let and = if hints { "" } else { ", without hints" };
    data::println!("{}: the starter of a level{and}", to.display());
    Ok(true)
}

fn read_me(hints: bool) -> String {
    let hint = if hints {
        "cargo ex level hint                # the next of three hints\n"
    } else {
        ""
    };
    format!(
        "# A level of your own\n\nCopy the folder `{NAME}` to `my-exercises/levels/{NAME}` in the folder of the workbook, and run there:\n\n\
         ```sh\ncargo ex level watch               # checks it each time you save; stop with Ctrl-C\n{hint}\
         cargo run --release -- --level {NAME}\ncargo ex level report              # one page: what is reached, and what is left\n```\n\n\
         It is level 1 now: every method of `src/ops.rs` calls level 1's. Replace one at a time, by candle's operations, by a \
         kernel in `kernels/`, or by Rust loops. The chapter *Build your own level* of the book explains how. \
         [MILESTONES.md](MILESTONES.md) lists what is checked. Hand in the folder `{NAME}`; `src` and `kernels` are graded.\n"
    )
}

fn list(milestones: &Milestones, hints: bool) -> String {
    let mut text = String::from("# Milestones\n");
    for method in &milestones.methods {
        text += &format!("\n## {}\n\n", method.name);
        for milestone in milestones.all().filter(|m| m.method == method.name) {
            text += &format!(
                "- **{}**: {} (exercise {}, chapter {})\n",
                milestone.kind, milestone.task, milestone.exercise, milestone.chapter
            );
        }
        if hints {
            text += "\nHints:\n\n";
            for (i, hint) in (1..).zip(&method.hints) {
                text += &format!("{i}. {hint}\n");
            }
        }
    }
    text
}
