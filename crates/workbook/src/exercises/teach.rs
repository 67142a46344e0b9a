//! Commands for teachers.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, exit};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use classroom::check::{self, process};
use classroom::class::{Class, Student};
use classroom::grade::{Grade, Grades, Verdict};
use classroom::handout::Hints;
use classroom::{Exercise, Failure, Language, Part, exercise, handout as handouts, printable};
use cli::own::Program;
use cli::progress::Progress;
use data::{BadInput, say};

use super::outputs::Outputs;
use super::tools::Checker;
use super::{GradeArgs, LIMIT, Place};

/// Time for a program to start and read the exercises on a busy machine.
const TO_START: Duration = Duration::from_secs(5);

/// Address space that NVRTC, the simulator and this program share: a check needs a tenth.
const TO_COMPILE_CUDA: u64 = 4 << 30;

/// Writes the exercises of a session, those in `only`, or all, without their solutions.
pub fn handout(
    all: &[Exercise],
    to: &Path,
    session: Option<u8>,
    only: &[String],
    hints: bool,
) -> Result<bool> {
    let mut exercises = chosen(all, session, only)?;
    exercises.sort_by(|a, b| a.id.cmp(&b.id));
    exercises.dedup_by(|a, b| a.id == b.id);
    let is_other = |e: &&Exercise| exercises.iter().all(|one| one.id != e.id);
    let others: Vec<String> = all.iter().filter(is_other).map(Exercise::file).collect();
    let (hints, and) = if hints {
        (Hints::Shown, "")
    } else {
        (Hints::Hidden, " and hints")
    };
    let lacking = record_costs(&mut exercises)?;
    handouts::write(&exercises, &others, to, hints)?;
    let (to, count) = (to.display(), exercises.len());
    if let [(first, bad), ..] = &lacking[..] {
        let ids: Vec<&str> = lacking.iter().map(|(id, _)| &**id).collect();
        let ids = ids.join(", ");
        data::println!("{ids}: a pass will show no counters to compare with. For {first}: {bad}");
    }
    let exercises = match count {
        1 => "exercise without its solution",
        _ => "exercises without their solutions",
    };
    data::println!("{to}: {count} {exercises}{and}");
    Ok(true)
}

/// Counts the wrong solutions that passes are compared with, because a handout has none. Returns the exercises that need
/// NVRTC for it and have none.
fn record_costs(exercises: &mut [Exercise]) -> Result<Vec<(String, BadInput)>> {
    let checker = Checker::new(LIMIT);
    let mut lacking = vec![];
    let is_compared = |e: &&mut Exercise| e.spec.before.is_some() && e.solution.is_some();
    for exercise in exercises.iter_mut().filter(is_compared) {
        match checker.costs_before(exercise)? {
            Ok(costs) => exercise.costs_before = costs,
            Err(bad) => lacking.push((exercise.id.clone(), bad)),
        }
    }
    Ok(lacking)
}

/// Returns the exercises of a session or those in `only`; all without both.
fn chosen(all: &[Exercise], session: Option<u8>, only: &[String]) -> Result<Vec<Exercise>> {
    if !only.is_empty() {
        let named = only.iter().map(|name| self::only(all, name, session));
        return Ok(named.collect::<Result<_, _>>()?);
    }
    let mut exercises = all.to_vec();
    exercises.retain(|e| session.is_none_or(|session| e.spec.session == session));
    match session {
        Some(session) if exercises.is_empty() => {
            let last = all.iter().map(|e| e.spec.session).max().unwrap_or(0);
            Err(BadInput::new("--session", format!("1 to {last}"), session).into())
        }
        _ => Ok(exercises),
    }
}

/// Returns the exercises to grade.
fn wanted(all: &[Exercise], args: &GradeArgs) -> Result<Vec<Exercise>> {
    let mut wanted = chosen(all, args.session, &args.only)?;
    wanted.retain(|e| e.spec.graded || !args.graded);
    if wanted.is_empty() {
        Err(BadInput::new("--graded", "a graded task among the exercises", "none").into())
    } else {
        Ok(wanted)
    }
}

/// Returns the exercise of `--only`, which must be in `--session`.
fn only(all: &[Exercise], name: &str, session: Option<u8>) -> Result<Exercise, BadInput> {
    let exercise = exercise::find(all, name)?;
    match session {
        Some(session) if exercise.spec.session != session => {
            let found = format!(
                "one of session {}; leave out `--session`",
                exercise.spec.session
            );
            let expected = format!("an exercise of session {session}, as `--session` says");
            Err(BadInput::new(format!("--only {name}"), expected, found))
        }
        _ => Ok(exercise.clone()),
    }
}

/// Grades every submission in a separate process; returns whether all passed.
pub fn grade(exercises: &[Exercise], place: &Place, args: &GradeArgs) -> Result<bool> {
    let others = place.exercises.as_deref().map(handouts::others);
    let others = others.transpose()?.unwrap_or_default();
    let class = Class::read(&args.submissions, exercises, &others)?;
    let outputs = Outputs::new(args, &class)?;
    let wanted = wanted(exercises, args)?;
    safe(&wanted, args)?;
    // 32 bits, because some JSON readers have no larger integers.
    let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
    if handouts::is_one(&args.submissions) {
        class.has_some(&args.submissions)?;
    }
    let is_rust = |e: &Exercise| e.language == Language::Rust && class.has(e);
    // Without it, each check says why.
    let libraries = if wanted.iter().any(is_rust) {
        check::libraries(&Program::Workbook.cargo()).ok()
    } else {
        None
    };
    check::keeps_out(&args.submissions, libraries.as_deref().unwrap_or_default())?;
    class.not_graded.iter().try_for_each(say)?;
    class.has_some(&args.submissions)?;
    say(format_args!(
        "seed {seed} (`--seed {seed}` repeats the grading with the same random numbers)"
    ))?;
    let known = libraries.and_then(|all| serde_json::to_string(&all).ok());
    let known = known.as_deref();
    let check = |exercise: &Exercise, file: &Path| {
        in_a_process(exercise, file, place, args.limit, seed, known)
    };
    let progress = Progress::new("checking submissions", class.students.len() * wanted.len());
    let mut all = Grades {
        complete: false,
        grades: vec![],
        not_graded: class.not_graded.clone(),
    };
    for student in &class.students {
        let begin = all.grades.len();
        for exercise in &wanted {
            let grade = student.grade(exercise, seed, check);
            let was_checked = !grade.is_missing();
            let shown = show(&grade);
            all.grades.push(grade);
            // A program that is ended here loses one check at most.
            if was_checked {
                outputs.keep(&all)?;
                progress.suspend(|| say(shown))?;
            }
            progress.step();
        }
        let line = of_student(student, &wanted, &all.grades[begin..]);
        progress.suspend(|| say(format_args!("{}: {line}", student.name)))?;
    }
    drop(progress);
    all.complete = true;
    outputs.write(&all)?;
    if class.students.len() > 1 {
        let lines = wanted.iter().map(|e| of_exercise(e, &all.grades));
        lines.into_iter().try_for_each(say)?;
    }
    say(passed(&all.grades))?;
    if args.has_all() && all.grades.iter().any(Grade::is_missing) {
        say("(`--session N`, `--graded` or `--only EXERCISE` grades only what was set)")?;
    }
    Ok(all.grades.iter().all(|grade| grade.verdict.passed))
}

/// Refuses to run submissions in Rust without a sandbox, unless the teacher says so.
fn safe(wanted: &[Exercise], args: &GradeArgs) -> Result<(), BadInput> {
    let runs = wanted.iter().any(|e| e.language == Language::Rust);
    match sandbox::available() {
        Err(reason) if runs && !args.unsandboxed => {
            let expected = "a sandbox for submissions in Rust, or `--unsandboxed`, with which they can read and write your \
                            files and fake what they cost";
            Err(BadInput::new("grade", expected, reason))
        }
        Err(_) if runs => {
            // Once; what each check says about it is not shown.
            sandbox::warn_once();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `ada 07-guard: passed`, or the reason.
fn show(grade: &Grade) -> String {
    let Verdict { passed, by, line } = &grade.verdict;
    let verdict = if *passed {
        "passed".to_owned()
    } else {
        format!(
            "{}: {}",
            by.as_deref().unwrap_or_default(),
            line.as_deref().unwrap_or_default()
        )
    };
    format!("{} {}: {verdict}", grade.student, grade.exercise)
}

/// `3 of 6 passed`
fn passed(grades: &[Grade]) -> String {
    let passed = grades.iter().filter(|grade| grade.verdict.passed);
    format!("{} of {} passed", passed.count(), grades.len())
}

/// `3 of 6 passed; missing: 07-guard (found guard.ptx), 01-causality`; grades are in the order of
/// `exercises`.
fn of_student(student: &Student, exercises: &[Exercise], grades: &[Grade]) -> String {
    let both = exercises.iter().zip(grades);
    let missing = both.filter(|(_, grade)| grade.is_missing());
    let missing: Vec<String> = missing.map(|(e, _)| of_missing(student, e)).collect();
    if missing.is_empty() {
        passed(grades)
    } else {
        format!("{}; missing: {}", passed(grades), missing.join(", "))
    }
}

/// `07-guard (found guard.ptx)`
fn of_missing(student: &Student, exercise: &Exercise) -> String {
    let name = |file: &Path| file.file_name().unwrap_or_default().display().to_string();
    let near = student.near(exercise).map(name);
    let near = near.map(|name| format!(" (found {})", printable(&name)));
    exercise.id.clone() + &near.unwrap_or_default()
}

/// `07-guard: 2 passed, 1 failed, 3 missing`
fn of_exercise(exercise: &Exercise, grades: &[Grade]) -> String {
    let of_it: Vec<&Grade> = grades
        .iter()
        .filter(|grade| grade.exercise == exercise.id)
        .collect();
    let count = |is_one: fn(&Grade) -> bool| of_it.iter().filter(|grade| is_one(grade)).count();
    let passed = count(|grade| grade.verdict.passed);
    let missing = count(Grade::is_missing);
    let unchecked = count(|grade| grade.verdict.is_unchecked());
    let failed = of_it.len() - passed - missing - unchecked;
    let unchecked = match unchecked {
        0 => String::new(),
        n => format!(", {n} unchecked"),
    };
    let id = &exercise.id;
    format!("{id}: {passed} passed, {failed} failed, {missing} missing{unchecked}")
}

/// Checks a submission in a separate process, which returns whatever the submission does.
fn in_a_process(
    exercise: &Exercise,
    file: &Path,
    place: &Place,
    limit: f32,
    seed: u64,
    known: Option<&str>,
) -> Verdict {
    let checker = Checker::new(Duration::from_secs_f32(limit));
    let longest = checker.longest(exercise) + TO_START;
    let run = || -> Result<Verdict> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("exercises");
        if let Some(exercises) = &place.exercises {
            // `=` and `--`, because a path may begin with `-`.
            let mut option = std::ffi::OsString::from("--exercises=");
            option.push(exercises);
            command.arg(option);
        }
        command
            .args(["verdict", "--limit", &limit.to_string()])
            .args(["--seed", &seed.to_string()])
            .args(["--", &exercise.id])
            .arg(file);
        command.envs(known.map(|known| (check::KNOWN, known)));
        // No backtrace becomes part of a result.
        command.envs([("RUST_BACKTRACE", "0"), ("RUST_LIB_BACKTRACE", "0")]);
        let ended = process::run(command, longest, "")?;
        let Some(status) = ended.status else {
            let longest = longest.as_secs();
            let what =
                format!("expected compilation and check to end within {longest} s, found no end");
            return Ok(Err::<(), _>(Failure::new(Part::Time, file.display(), what)).into());
        };
        let last = ended.stdout.lines().last().unwrap_or_default();
        Ok(serde_json::from_str(last).unwrap_or_else(|_| {
            let what = format!(
                "the check ended without a verdict ({status}); it printed: {:?}",
                ended.stderr.trim()
            );
            Err::<(), _>(Failure::new(Part::Crash, file.display(), what)).into()
        }))
    };
    run().unwrap_or_else(|error| Verdict::unchecked(&format!("{error:#}")))
}

/// Checks one submission and prints the verdict. Stops when the input ends, because then nobody waits for the
/// verdict.
pub fn verdict(
    exercises: &[Exercise],
    name: &str,
    file: &Path,
    limit: Duration,
    seed: u64,
) -> Result<bool> {
    thread::spawn(until_nobody_waits);
    let exercise = exercise::find(exercises, name)?;
    if exercise.language == Language::Cuda {
        // Allocators reserve 64 MiB per thread, and align them.
        let threads = candle_core::utils::get_num_threads() as u64;
        sandbox::limit_own_memory(TO_COMPILE_CUDA + (threads << 27))?;
    }
    let outcome = Checker::new(limit).check(exercise, file, seed, None);
    data::println!("{}", serde_json::to_string(&Verdict::from(outcome))?);
    Ok(true)
}

/// `grade` keeps the input open while it runs; without it, this process and its children end.
fn until_nobody_waits() {
    let _ = io::stdin().read(&mut [0]);
    exit(1)
}
