//! What a learner asks for.

use std::path::Path;

use anyhow::Result;
use classroom::page::{COMMAND, about, checked, plain};
use classroom::{Exercise, Language, Learner, Part, exercise};
use data::BadInput;

use super::tools::Checker;
use super::{FOLDER, LIMIT, own_folder};

/// All exercises, a line each: solved ones with a tick, the one in hand with an arrow.
pub fn list(exercises: &[Exercise], dir: &Path) -> Result<bool> {
    let learner = Learner::open(dir)?;
    let in_hand = learner.current(exercises).map(|e| &e.id);
    let longest = exercises.iter().map(|e| e.name().len()).max().unwrap_or(0);
    for exercise in exercises {
        let current = in_hand == Some(&exercise.id);
        let mark = match (learner.passed(exercise), current) {
            (true, _) => "✓",
            (false, true) => "→",
            (false, false) => " ",
        };
        let (number, name) = (exercise.number(), exercise.name());
        println!(
            "{mark} {number} {name:longest$}  {} ({})",
            exercise.spec.title,
            about(exercise)
        );
    }
    let passed = exercises.iter().filter(|e| learner.passed(e));
    println!(
        "{} of {} solved, in {}",
        passed.count(),
        exercises.len(),
        dir.display()
    );
    Ok(true)
}

/// Takes an exercise in hand, the next one where none is named, and prints its task.
pub fn start(exercises: &[Exercise], dir: &Path, name: Option<&str>) -> Result<bool> {
    let mut learner = Learner::open(dir)?;
    let exercise = match name {
        Some(name) => exercise::find(exercises, name)?,
        None => match learner.next(exercises) {
            Some(next) => next,
            None => {
                println!("All exercises are solved.");
                return Ok(true);
            }
        },
    };
    learner.start(exercise)?;
    introduce(exercise, &learner);
    let command = command(dir);
    println!("Check it with `{command} check`, or `watch`; its page is in the book.");
    Ok(true)
}

/// What the runner's commands begin with, for a learner of this folder.
fn command(dir: &Path) -> String {
    match dir == own_folder() {
        true => COMMAND.to_owned(),
        false => format!("{COMMAND} --dir {}", dir.display()),
    }
}

/// The title, the task and the file.
pub fn introduce(exercise: &Exercise, learner: &Learner) {
    println!(
        "{} {} ({})\n",
        exercise.number(),
        exercise.spec.title,
        about(exercise)
    );
    let folder = format!("{}/", learner.folder().display());
    let task = plain(&exercise.task).replace(&format!("{FOLDER}/"), &folder);
    println!("{task}\nWhat is checked:\n");
    println!("{}", checked(exercise));
    println!("Your file: {}", learner.file(exercise).display());
}

/// The exercise that is named, or the one in hand.
fn chosen<'e>(
    exercises: &'e [Exercise],
    learner: &Learner,
    name: Option<&str>,
) -> Result<&'e Exercise> {
    if let Some(name) = name {
        return Ok(exercise::find(exercises, name)?);
    }
    let current = learner.current(exercises);
    let expected = "the name of an exercise, or one that was begun with `exercises start`";
    Ok(current.ok_or_else(|| BadInput::new(learner.folder().display(), expected, "neither"))?)
}

/// The learner's exercise, whose file is there.
fn begun<'e>(
    exercises: &'e [Exercise],
    learner: &Learner,
    name: Option<&str>,
) -> Result<&'e Exercise> {
    let exercise = chosen(exercises, learner, name)?;
    let file = learner.file(exercise);
    if !file.is_file() {
        let expected = format!("the file that `exercises start {}` makes", exercise.name());
        return Err(BadInput::new(file.display(), expected, "none").into());
    }
    Ok(exercise)
}

/// Checks the learner's file and says what is wrong.
pub fn check(
    exercises: &[Exercise],
    dir: &Path,
    name: Option<&str>,
    seed: Option<u64>,
) -> Result<bool> {
    let mut learner = Learner::open(dir)?;
    let exercise = begun(exercises, &learner, name)?;
    let passed = judge(exercise, &mut learner, &Checker::new(LIMIT), seed)?;
    if passed && let Some(next) = learner.next(exercises) {
        println!(
            "Next: `{} start` begins {} {}.",
            command(dir),
            next.number(),
            next.name()
        );
    }
    Ok(passed)
}

/// Checks the learner's file, prints the answer and keeps a success.
pub fn judge(
    exercise: &Exercise,
    learner: &mut Learner,
    checker: &Checker,
    seed: Option<u64>,
) -> Result<bool> {
    let seed = seed.unwrap_or_else(rand::random);
    let outcome = checker.check(exercise, &learner.file(exercise), seed);
    let outcome = outcome.map_err(|bad| with_sibling(bad, exercise))?;
    match outcome {
        Ok(()) => {
            println!("{}: passed", exercise.id);
            learner.pass(exercise)?;
            Ok(true)
        }
        Err(failure) => {
            println!("{}", failure.line);
            // Another seed would not change what is wrong with the text.
            let again = match failure.by {
                Part::Outside | Part::Text | Part::Question => String::new(),
                _ => format!(", `check --seed {seed}` repeats this"),
            };
            println!("({}: not yet; `hint` has a hint{again})", exercise.id);
            Ok(false)
        }
    }
}

/// Where NVRTC is missing, the exercise that teaches the same without it.
fn with_sibling(bad: BadInput, exercise: &Exercise) -> BadInput {
    match (&exercise.spec.sibling, exercise.language) {
        (Some(sibling), Language::Cuda) => {
            let found = format!(
                "{}; the exercise {sibling} is about the same and needs none",
                bad.found
            );
            BadInput::new(bad.what, bad.expected, found)
        }
        _ => bad,
    }
}

/// The next hint.
pub fn hint(exercises: &[Exercise], dir: &Path, name: Option<&str>) -> Result<bool> {
    let mut learner = Learner::open(dir)?;
    let exercise = chosen(exercises, &learner, name)?;
    let (number, hint) = learner.hint(exercise)?;
    println!(
        "Hint {number} of {} for {}: {}",
        exercise.spec.hints.len(),
        exercise.id,
        plain(hint)
    );
    Ok(true)
}

/// The starter again.
pub fn reset(exercises: &[Exercise], dir: &Path, name: Option<&str>) -> Result<bool> {
    let learner = Learner::open(dir)?;
    let exercise = begun(exercises, &learner, name)?;
    let file = learner.file(exercise);
    let file = file.display();
    match learner.reset(exercise)? {
        Some(old) => println!(
            "{file} is the starter again; what it was is {}",
            old.display()
        ),
        None => println!("{file} is the starter as it is"),
    }
    Ok(true)
}

/// The solution, for those who have passed or ask for it outright.
pub fn solution(
    exercises: &[Exercise],
    dir: &Path,
    name: Option<&str>,
    reveal: bool,
) -> Result<bool> {
    let learner = Learner::open(dir)?;
    let exercise = chosen(exercises, &learner, name)?;
    if !reveal && !learner.passed(exercise) {
        let expected = "it to have passed its check, or --reveal";
        return Err(BadInput::new(&exercise.id, expected, "neither").into());
    }
    match &exercise.solution {
        Some(solution) => print!("{solution}"),
        None => {
            return Err(
                BadInput::new(&exercise.id, "a solution", "none: this is a handout").into(),
            );
        }
    }
    Ok(true)
}
