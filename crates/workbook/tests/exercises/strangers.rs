//! Malicious or misplaced submissions.

use std::fs;

use classroom::Exercise;
use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::nvrtc::skip::skip;
use crate::run::{Folder, changed, named};

/// The solution of swiglu with a line inserted before its last one.
fn with_line(line: &str) -> (Exercise, String) {
    let exercise = named("swiglu");
    let last = "    gate.silu()? * up\n";
    let text = changed(&exercise, last, &format!("    {line}\n{last}"));
    (exercise, text)
}

/// Submits swiglu with an extra line and grades it; options come last.
fn graded(folder: &Folder, line: &str, options: &[&str]) -> String {
    let (exercise, text) = with_line(line);
    folder.write(&format!("eve/{}", exercise.file()), &text);
    let args = [&["grade", "eve", "--only", "swiglu"], options].concat();
    folder.run(&args).stdout
}

/// Output cannot control the console or break the XML.
#[test]
fn control_characters_are_replaced() {
    let folder = Folder::new();
    let line = r#"panic!("a\u{1b}[2Jb\u{fffe}c\u{0}d\u{9b}e");"#;
    let stdout = graded(&folder, line, &["--junit", "g.xml", "--json", "g.json"]);
    let said = "panicked: a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e";
    assert!(stdout.contains(said), "{stdout:?}");
    let is_unfit = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}');
    for text in [stdout, folder.read("g.xml"), folder.read("g.json")] {
        assert!(!text.contains(is_unfit), "{text:?}");
    }
    assert!(folder.read("g.xml").contains(said));
}

/// The same for a learner's console.
#[test]
fn printed_output_steers_nothing() {
    let folder = Folder::new();
    let (exercise, text) = with_line(r#"println!("a\u{1b}[2Jb");"#);
    folder.run(&["start", "swiglu"]).ended(0);
    fs::write(folder.file(&exercise), text).unwrap();
    let run = folder.run(&["check"]);
    assert!(
        run.ended(0).contains("    a\u{fffd}[2Jb\n"),
        "{}",
        run.stdout
    );
}

/// A solution on the machine cannot be included by its path.
#[test]
fn other_files_are_not_brought_in() {
    let folder = Folder::new();
    let own = named("swiglu").folder.join("solution.rs");
    let own = own.canonicalize().unwrap();
    let own = own.display();
    for (line, word) in [
        (format!("#[path = {own:?}] mod other;"), "mod"),
        (format!("include!({own:?});"), "include"),
        (
            "#[unsafe(link_section = \".init_array\")] static S: fn() = f;".to_owned(),
            "link_section",
        ),
    ] {
        let stdout = graded(&folder, &line, &[]);
        let region = "eve 02-swiglu: text: eve/02-swiglu.rs:";
        assert!(
            stdout.contains(region) && stdout.contains(&format!("found the word `{word}`\n")),
            "{stdout}"
        );
    }
}

/// Nor does a handout.
#[test]
fn a_title_steers_nothing() {
    let folder = Folder::new();
    folder.run(&["handout", "out", "--session", "1"]).ended(0);
    let spec = folder.path("out/1-candle/02-swiglu/exercise.toml");
    let text = fs::read_to_string(&spec).unwrap();
    let steering = text.replacen("title = \"", "title = \"\\u001b[2J", 1);
    assert_ne!(text, steering);
    fs::write(spec, steering).unwrap();
    for args in [&["list"][..], &["start", "swiglu"]] {
        let run = folder.run(&[&["--exercises", "out"], args].concat());
        let stdout = run.ended(0);
        assert!(
            stdout.contains("\\u{1b}[2J") && !stdout.contains('\u{1b}'),
            "{stdout:?}"
        );
    }
}

/// rustc reads the libraries for every submission.
#[cfg(target_os = "linux")]
#[test]
fn a_class_that_submissions_can_read_is_refused() {
    let libraries = std::env::current_exe().unwrap();
    let class = tempfile::tempdir_in(libraries.parent().unwrap()).unwrap();
    let swiglu = named("swiglu");
    fs::write(class.path().join(swiglu.file()), swiglu.solution.unwrap()).unwrap();
    let (folder, class) = (Folder::new(), class.path().display().to_string());
    let run = folder.run(&["grade", &class, "--only", "swiglu", "--unsandboxed"]);
    if let Err(reason) = sandbox::available() {
        return skip("a class that submissions can read", &reason.to_string());
    }
    run.ended(2);
    let begin = format!("error: {class}: expected a folder that no submission can read, ");
    let end = format!(
        "found it in {}, which each",
        libraries.parent().unwrap().display()
    );
    assert!(
        run.stderr.starts_with(&begin) && run.stderr.contains(&end),
        "{}",
        run.stderr
    );
}

/// Links to files or folders are reported and count as not handed in.
#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("class/ada/07-guard.ptx", &named("guard").solution.unwrap());
    folder.write("class/bob/note.txt", "");
    let link = |to: &str, name: &str| symlink(to, folder.path(name)).unwrap();
    link("../ada/07-guard.ptx", "class/bob/07-guard.ptx");
    link("nowhere.ptx", "class/bob/08-columns.ptx");
    link("../ada", "class/bob/my-exercises");
    link("ada", "class/cyd");
    let args = [
        "grade", "class", "--only", "guard", "--only", "columns", "--json", "g.json",
    ];
    let run = folder.run(&args);
    let stdout = run.ended(1);
    for name in [
        "bob/07-guard.ptx",
        "bob/08-columns.ptx",
        "bob/my-exercises",
        "cyd",
    ] {
        let line = format!("class/{name}: not graded: it is a link, and links are not followed\n");
        assert!(stdout.contains(&line), "{name}: {stdout}");
    }
    assert!(stdout.ends_with("\n1 of 4 passed\n"), "{stdout}");
    let all: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    for (number, file) in [(2, "07-guard.ptx"), (3, "08-columns.ptx")] {
        let grade = &all["grades"][number];
        assert_eq!(
            (&grade["student"], &grade["by"]),
            (&"bob".into(), &"missing".into())
        );
        let line = grade["line"].as_str().unwrap();
        assert!(
            line.ends_with(&format!(
                "found only class/bob/{file} (it is a link, and links are not followed)"
            )),
            "{line}"
        );
    }
}

/// A submission writes nothing into the teacher's folder.
#[test]
fn it_runs_in_a_folder_of_its_own() {
    let folder = Folder::new();
    let line = "let written = std::fs::write(\"eve.txt\", \"\"); println!(\"{written:?}\");";
    let stdout = graded(&folder, line, &[]);
    assert!(stdout.ends_with("1 of 1 passed\n"), "{stdout}");
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1);
    assert!(!folder.path("eve.txt").exists() && !std::path::Path::new("eve.txt").exists());
}

/// Counts processes in /proc.
#[cfg(target_os = "linux")]
mod processes {
    use std::process::Stdio;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Killing `grade` ends all processes it has started.
    #[test]
    fn graded_programs_end_with_grade() {
        let folder = Folder::new();
        let (exercise, text) = with_line("loop {}");
        folder.write(&format!("eve/{}", exercise.file()), &text);
        // An argument of `grade`, of its child, and of the check's program.
        let seed = (1_u64 << 40 | u64::from(rand::random::<u32>())).to_string();
        let args = [
            "grade", "eve", "--only", "swiglu", "--limit", "300", "--seed",
        ];
        let mut command = folder.command(&[&args[..], &[&seed]].concat());
        let mut grade = command.stdout(Stdio::null()).spawn().unwrap();
        until(|| running(&seed) == 3);
        grade.kill().unwrap();
        grade.wait().unwrap();
        until(|| running(&seed) == 0);
    }

    /// Number of processes with this argument.
    fn running(argument: &str) -> usize {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let has_it = processes.filter(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0)
                .any(|one| one == argument.as_bytes())
        });
        has_it.count()
    }

    /// Waits for a condition that soon holds.
    fn until(holds: impl Fn() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A machine without a sandbox, as many containers are.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod without_a_sandbox {
    use std::thread;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

    use super::*;
    use crate::run::{Run, finish};

    /// Runs the command where a filter refuses Landlock, as that of a container may.
    fn run(folder: &Folder, args: &[&str]) -> Run {
        let arch = if cfg!(target_arch = "x86_64") {
            TargetArch::x86_64
        } else {
            TargetArch::aarch64
        };
        let calls = [(libc::SYS_landlock_create_ruleset, vec![])].into();
        let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        // It holds for the thread, and for what the thread starts.
        let run = || {
            seccompiler::apply_filter(&filter).unwrap();
            finish(&mut folder.command(args))
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap())
    }

    #[test]
    fn grade_refuses_and_check_warns() {
        let folder = Folder::new();
        let exercise = named("swiglu");
        let solution = exercise.solution.clone().unwrap();
        folder.write(&format!("eve/{}", exercise.file()), &solution);
        let only = ["grade", "eve", "--only", "swiglu"];
        run(&folder, &only).refused(&[
            "grade: expected a sandbox for submissions in Rust, or `--unsandboxed`",
            "found no sandbox: ",
        ]);
        let warning = "warning: no sandbox: ";
        let graded = run(&folder, &[&only[..], &["--unsandboxed"]].concat());
        assert_eq!(graded.code, Some(0), "{}", graded.stderr);
        assert_eq!(
            graded.stderr.matches(warning).count(),
            1,
            "{}",
            graded.stderr
        );
        folder.write(&format!("my-exercises/{}", exercise.file()), &solution);
        let checked = run(&folder, &["check", "swiglu"]);
        assert_eq!(checked.code, Some(0), "{}", checked.stderr);
        assert_eq!(
            checked.stderr.matches(warning).count(),
            1,
            "{}",
            checked.stderr
        );
        // Kernels run in the simulator, which needs none.
        folder.write("eve/07-guard.ptx", &named("guard").solution.unwrap());
        run(&folder, &["grade", "eve", "--only", "guard"]).ended(0);
    }
}
