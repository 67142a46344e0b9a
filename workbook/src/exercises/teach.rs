//! What a teacher asks for.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use classroom::check::process;
use classroom::grade::{Grade, Verdict, grade as grades, junit};
use classroom::{Exercise, Failure, Part, exercise, handout as handouts};
use cli::files::Output;
use data::BadInput;

use super::tools::Checker;
use super::{GradeArgs, Place};

/// Time for a program to start and to read the exercises, on a machine that is busy.
const TO_START: Duration = Duration::from_secs(2);

/// Writes the exercises of a session, or all, without their solutions.
pub fn handout(exercises: Vec<Exercise>, to: &Path, session: Option<u8>) -> Result<bool> {
    let exercises = of_session(exercises, session)?;
    handouts::write(&exercises, to)?;
    println!(
        "{}: {} exercises without their solutions",
        to.display(),
        exercises.len()
    );
    Ok(true)
}

fn of_session(mut exercises: Vec<Exercise>, session: Option<u8>) -> Result<Vec<Exercise>> {
    let Some(session) = session else {
        return Ok(exercises);
    };
    let last = exercises.iter().map(|e| e.spec.session).max().unwrap_or(0);
    exercises.retain(|e| e.spec.session == session);
    match exercises.is_empty() {
        true => Err(BadInput::new("--session", format!("1 to {last}"), session).into()),
        false => Ok(exercises),
    }
}

/// Grades every submission, each in a process of its own; whether all have passed.
pub fn grade(exercises: Vec<Exercise>, place: &Place, args: &GradeArgs) -> Result<bool> {
    let output = |path: &Option<std::path::PathBuf>| path.as_deref().map(Output::new).transpose();
    let (json, xml) = (output(&args.json)?, output(&args.junit)?);
    let exercises = of_session(exercises, args.session)?;
    let limit = Duration::from_secs_f32(args.limit);
    let checker = Checker::new(limit);
    let grades = grades(&args.submissions, &exercises, |exercise, file| {
        in_a_process(
            exercise,
            file,
            place,
            args.limit,
            checker.longest(exercise) + TO_START,
        )
    })?;
    if let Some(json) = json {
        json.write(serde_json::to_string_pretty(&grades)?.as_bytes())?;
    }
    if let Some(xml) = xml {
        xml.write(junit(&grades)?.as_bytes())?;
    }
    print!("{}", show(&grades));
    Ok(grades.iter().all(|grade| grade.verdict.passed))
}

/// A line a submission, and how many have passed.
fn show(grades: &[Grade]) -> String {
    let mut text = String::new();
    for grade in grades {
        let Verdict { passed, by, line } = &grade.verdict;
        let verdict = match passed {
            true => "passed".to_owned(),
            false => format!(
                "{}: {}",
                by.as_deref().unwrap_or_default(),
                line.as_deref().unwrap_or_default()
            ),
        };
        text += &format!("{} {}: {verdict}\n", grade.student, grade.exercise);
    }
    let passed = grades.iter().filter(|grade| grade.verdict.passed).count();
    text + &format!("{passed} of {} passed\n", grades.len())
}

/// Whatever the submission does, this comes back.
fn in_a_process(
    exercise: &Exercise,
    file: &Path,
    place: &Place,
    limit: f32,
    longest: Duration,
) -> Verdict {
    let run = || -> Result<Verdict> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("exercises");
        if let Some(exercises) = &place.exercises {
            command.arg("--exercises").arg(exercises);
        }
        command
            .args(["verdict", &exercise.id])
            .arg(file)
            .arg("--limit")
            .arg(limit.to_string());
        let ended = process::run(command, longest)?;
        let Some(status) = ended.status else {
            let what =
                format!("expected an end after {limit} s at the most, found that it still runs");
            return Ok(Err(Failure::new(Part::Time, file.display(), what)).into());
        };
        let last = ended.stdout.lines().last().unwrap_or_default();
        Ok(serde_json::from_str(last).unwrap_or_else(|_| {
            let what = format!(
                "the check ended without a verdict ({status}) {}",
                ended.stderr
            );
            Err(Failure::new(Part::Crash, file.display(), what)).into()
        }))
    };
    run().unwrap_or_else(|error| Verdict::unchecked(format!("{error:#}")))
}

/// Checks one submission and prints what came of it.
pub fn verdict(exercises: &[Exercise], name: &str, file: &Path, limit: Duration) -> Result<bool> {
    let exercise = exercise::find(exercises, name)?;
    let outcome = Checker::new(limit).check(exercise, file, rand::random());
    println!("{}", serde_json::to_string(&Verdict::from(outcome))?);
    Ok(true)
}
