//! The program for mutation tests: its help, a heading, and its errors for bad input.

#[path = "../../tests/tests/words/help.rs"]
mod help;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Adds 1 to each number.
const KERNEL: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 x)
{
.reg .b32 %i, %y;
.reg .b64 %x, %at;
ld.param.u64 %x, [x];
mov.u32 %i, %tid.x;
mul.wide.u32 %at, %i, 4;
add.u64 %at, %x, %at;
ld.global.u32 %y, [%at];
add.u32 %y, %y, 1;
st.global.u32 [%at], %y;
ret;
}
";

fn mutate(folder: &Path, args: &[&str]) -> Output {
    let mut program = Command::new(help::example("mutate"));
    program.current_dir(folder).args(args).output().unwrap()
}

/// Asserts that the program refused its input with this line.
fn refused(folder: &Path, args: &[&str], line: &str) {
    let output = mutate(folder, args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("error: {line}\n"), "{args:?}");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
}

#[test]
fn help_texts_use_plain_words() {
    help::check(help::of_program(&help::example("mutate")));
}

#[test]
fn one_of_a_thing_has_no_plural() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a.ptx"), KERNEL).unwrap();
    fs::write(folder.join("a.cases"), "--arg u32:32:iota\n").unwrap();
    let output = mutate(folder, &["a.ptx", "--sample", "1"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("a.ptx: 1 kernel, 1 case, 1 of "), "{said}");
    let heading = said.lines().next().unwrap();
    assert!(heading.contains(" mutants: "), "{said}");
}

#[test]
fn bad_input_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    refused(folder, &["a.ptx"], "cannot read `a.ptx`: no such file");
    fs::write(folder.join("a.ptx"), KERNEL).unwrap();
    refused(
        folder,
        &["a.ptx"],
        "a.cases: expected a file with the launches of a.ptx, or `--cases FILE`, found no such file",
    );
    let cases = ["a.ptx", "--cases", "b"];
    refused(folder, &cases, "cannot read `b`: no such file");
    refused(
        folder,
        &["a.ptx", "--json", "none/a.json", "--commit", "x"],
        "none/a.json: expected a file in an existing folder, found no such folder",
    );
    refused(
        folder,
        &["a.ptx", "--json", "./a.ptx", "--commit", "x"],
        "./a.ptx: expected another file than the inputs, found one of them",
    );
    assert_eq!(fs::read_to_string(folder.join("a.ptx")).unwrap(), KERNEL);
    refused(
        folder,
        &["a.ptx", "--smaple", "3"],
        "mutate: expected one of its options, found --smaple (similar: --sample; see `--help`)",
    );
    refused(
        folder,
        &[],
        "mutate: expected FILES, found none (see `--help`)",
    );
}
