//! Checks that the pages of the exercises show the real output of `check`: `starter.txt` and `solution.txt` of each folder
//! hold it for the unchanged starter and for the solution. `CANDLEPOWER_UPDATE=1` rewrites them. Without NVRTC, those of
//! the exercises in CUDA are skipped.

use std::fs;

use classroom::page::{
    ALIAS, COMMAND, LEFT_OUT, MOST_LINES, SEED, SOLUTION_OUTPUT, STARTER_OUTPUT,
};
use classroom::{Exercise, Language};

use crate::nvrtc;
use crate::run::{Folder, exercises};

#[test]
fn pages_in_ptx_show_what_is_printed() {
    are_recorded(Language::Ptx);
}

#[test]
fn pages_in_cuda_show_what_is_printed() {
    are_recorded(Language::Cuda);
}

#[test]
fn pages_in_rust_show_what_is_printed() {
    are_recorded(Language::Rust);
}

fn are_recorded(language: Language) {
    for exercise in exercises().iter().filter(|e| e.language == language) {
        let Some(outputs) = outputs(exercise) else {
            return;
        };
        for (name, output) in [STARTER_OUTPUT, SOLUTION_OUTPUT].iter().zip(outputs) {
            is_recorded(exercise, name, &output);
        }
    }
}

/// Starts an exercise and checks it at once, and again once it is solved; `None` without NVRTC.
fn outputs(exercise: &Exercise) -> Option<[String; 2]> {
    let folder = Folder::new();
    folder.run(&["start", exercise.name()]).ended(0);
    let starter = output(&folder, exercise, 1)?;
    let solution = exercise.solution.as_deref().unwrap();
    fs::write(folder.file(exercise), solution).unwrap();
    Some([starter, output(&folder, exercise, 0)?])
}

/// The output of a check that ends with `code`, as a page shows it.
fn output(folder: &Folder, exercise: &Exercise, code: i32) -> Option<String> {
    let run = folder.run(&["check", exercise.name(), "--seed", &SEED.to_string()]);
    let what = format!("the output on the page of {}", exercise.id);
    (!nvrtc::is_missing(&run.stderr, &what)).then(|| shown(run.ended(code), exercise.language))
}

fn is_recorded(exercise: &Exercise, name: &str, output: &str) {
    let path = exercise.folder.join(name);
    if std::env::var_os("CANDLEPOWER_UPDATE").is_some() {
        fs::write(path, output).unwrap();
        return;
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        agree(&recorded, output),
        "{} is not what `check` prints: CANDLEPOWER_UPDATE=1 writes it again\n{recorded}\nprinted:\n{output}",
        path.display()
    );
}

/// An output with the alias and the paths that the repository has, without lines that vary, and cut to its first lines.
fn shown(output: &str, language: Language) -> String {
    let output = output.replace(COMMAND, ALIAS);
    let output = output.replace("my-exercises\\", "my-exercises/"); // on Windows
    let mut lines: Vec<&str> = output.lines().collect();
    for line in &mut lines {
        if varies(line, language) {
            *line = LEFT_OUT;
        }
    }
    lines.dedup_by(|line, before| *line == LEFT_OUT && *before == LEFT_OUT);
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES - 1);
        if lines.last() != Some(&LEFT_OUT) {
            lines.push(LEFT_OUT);
        }
    }
    lines.join("\n") + "\n"
}

/// Whether a line depends on the machine, on the learner's progress, or on an edit of another file.
fn varies(line: &str, language: Language) -> bool {
    let depends = match language {
        // The CPU's caches and the number of threads decide how much memory a matmul takes.
        Language::Rust => line.contains("bytes allocated"),
        // Each version of the compiler makes other instructions.
        Language::Cuda => line.contains("instructions executed by warps"),
        Language::Ptx => false,
    };
    let is_next = line.starts_with("Next: ") || line.contains(": skipped, because NVRTC");
    depends || is_next || line.starts_with("In a real kernel: ")
}

/// Whether two outputs are the same but for the last digits of numbers: not all CPUs round an `exp` alike.
fn agree(recorded: &str, printed: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split([' ', '\n']);
        words.map(str::to_owned).collect()
    };
    let (recorded, printed) = (words(recorded), words(printed));
    let number = |word: &str| {
        let digits = word.trim_end_matches([',', ';', ':', ')']);
        digits.parse::<f64>().ok()
    };
    let are_close = |(a, b): (&String, &String)| {
        let both = number(a).zip(number(b));
        a == b || both.is_some_and(|(a, b)| (a - b).abs() <= 1e-5 * a.abs())
    };
    recorded.len() == printed.len() && recorded.iter().zip(&printed).all(are_close)
}

#[test]
fn lines_that_vary_are_left_out() {
    let passed = format!(
        "a: passed\n  bytes allocated by it  7\nThe idea: one.\nIn a real kernel: a.ptx:38  ret;\n\
         9 b: skipped, because NVRTC is not installed\nNext: `{COMMAND} start 9` for 9 b.\n"
    );
    let expected = "a: passed\n…\nThe idea: one.\n…\n";
    assert_eq!(shown(&passed, Language::Rust), expected);
    let failed = format!("a: b\n(`{COMMAND} hint 9` gives a hint)\n");
    let expected = "a: b\n(`cargo ex hint 9` gives a hint)\n";
    assert_eq!(shown(&failed, Language::Ptx), expected);
    let counted = "  k: instructions executed by warps  7\n";
    assert_eq!(shown(counted, Language::Cuda), "…\n");
    assert_eq!(shown(counted, Language::Ptx), counted);
}

#[test]
fn a_long_output_keeps_its_first_lines() {
    let lines = |count: usize| "x\n".repeat(count);
    let cut = |count| shown(&lines(count), Language::Ptx);
    assert_eq!(cut(MOST_LINES), lines(MOST_LINES));
    assert_eq!(cut(MOST_LINES + 1), lines(MOST_LINES - 1) + "…\n");
}

#[test]
fn outputs_may_differ_in_last_digits_only() {
    let recorded = "y: expected 0.2817331, found NaN; 3 of 4\n  a  7\n";
    assert!(agree(recorded, &recorded.replace("331", "332")));
    for (from, to) in [
        ("0.28", "0.29"),
        ("3 of", "2 of"),
        ("  a", " a"),
        ("y", "z"),
    ] {
        assert!(!agree(recorded, &recorded.replace(from, to)), "{from}");
    }
}
