//! Commands for learners.

use std::path::{Component, Path, PathBuf, absolute};

use anyhow::Result;
use classroom::page::{about, checked, offer_of_hint, plain, quoted};
use classroom::{Exercise, Language, Learner, Part, Progress, exercise};
use cli::progress::Waiting;
use data::BadInput;

use super::debrief::debrief;
use super::tools::{Checker, can_check};
use super::{FOLDER, LIMIT, Place, own_folder, package};

/// Lists all exercises in the recommended order, one per line; solved ones have a tick, the current one an
/// arrow.
pub fn list(exercises: &[Exercise], place: &Place) -> Result<bool> {
    let learner = Learner::open(&place.dir())?;
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
        data::println!(
            "{mark} {number} {name:longest$}  {} ({})",
            exercise.spec.title,
            about(exercise)
        );
    }
    let passed = exercises.iter().filter(|e| learner.passed(e));
    data::println!(
        "{} of {} solved, in {}; listed by number",
        passed.count(),
        exercises.len(),
        quoted(&from_root(&place.dir()))
    );
    let skipped = skipped(exercises, &learner);
    if !skipped.is_empty() {
        data::println!("{}", needs_nvrtc(&skipped, place));
    }
    Ok(true)
}

/// The whole path of a folder, which works from anywhere.
fn from_root(folder: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in absolute(folder)
        .unwrap_or_else(|_| folder.into())
        .components()
    {
        match part {
            Component::ParentDir => _ = whole.pop(),
            part => whole.push(part),
        }
    }
    whole
}

/// Lists unsolved exercises that cannot be checked on this machine.
fn skipped<'e>(exercises: &'e [Exercise], learner: &Learner) -> Vec<&'e Exercise> {
    let open = exercises.iter().filter(|e| !learner.passed(e));
    open.filter(|e| !can_check(e)).collect()
}

/// `14 warp-max-cuda, 18 softmax-cuda: left out, …`
fn needs_nvrtc(skipped: &[&Exercise], place: &Place) -> String {
    let names = skipped
        .iter()
        .map(|e| format!("{} {}", e.number(), e.name()));
    let names: Vec<String> = names.collect();
    format!(
        "{}: skipped, because NVRTC is not installed; `cargo run --release -- doctor` shows how to install it, then run `{} start {}`",
        names.join(", "),
        place.command(),
        skipped[0].number()
    )
}

/// Says which exercises were skipped.
pub fn left_out(skipped: &[&Exercise], place: &Place) {
    if !skipped.is_empty() {
        data::println!("{}", needs_nvrtc(skipped, place));
    }
}

/// Prints that all checkable exercises are solved.
pub fn all_solved(exercises: &[Exercise], learner: &Learner, place: &Place) {
    match &skipped(exercises, learner)[..] {
        [] => data::println!("All exercises are solved."),
        skipped => data::println!(
            "All other exercises are solved.\n{}",
            needs_nvrtc(skipped, place)
        ),
    }
}

/// Starts an exercise, by default the next one, and prints its task.
pub fn start(exercises: &[Exercise], place: &Place, name: Option<&str>) -> Result<bool> {
    let mut learner = Learner::open(&place.dir())?;
    let (exercise, skipped) = match name {
        Some(name) => (exercise::find(exercises, name)?, vec![]),
        None => match learner.next(exercises, learner.current(exercises), can_check) {
            (Some(next), skipped) => (next, skipped),
            (None, _) => {
                all_solved(exercises, &learner, place);
                return Ok(true);
            }
        },
    };
    learner.start(exercise)?;
    if let Some(own) = package::write(exercises, &learner)? {
        data::println!(
            "({} has a Cargo package of your own, so your editor gets no package for the exercises)\n",
            own.display()
        );
    }
    if !can_check(exercise) {
        data::println!("NVRTC is not installed, so this exercise cannot be checked here.\n");
    }
    introduce(exercise, &learner);
    left_out(&skipped, place);
    let how = if can_check(exercise) {
        let command = place.command();
        format!("Check it with `{command} check`, or after each save with `{command} watch`")
    } else {
        cannot_check(exercise)
    };
    data::println!("{how}; {}.", place.page(exercise));
    Ok(true)
}

/// Explains that an exercise cannot be checked on this machine, and names an alternative.
fn cannot_check(exercise: &Exercise) -> String {
    format!(
        "It cannot be checked here, because NVRTC is not installed; `cargo run --release -- doctor` shows how to install \
         it{}",
        instead(exercise).unwrap_or_default()
    )
}

/// `; exercise prefix-sum covers the same topic without NVRTC`
fn instead(exercise: &Exercise) -> Option<String> {
    let sibling = exercise.spec.sibling.as_ref()?;
    let text = || format!("; exercise {sibling} covers the same topic without NVRTC");
    (exercise.language == Language::Cuda).then(text)
}

/// The title, the task and the file.
pub fn introduce(exercise: &Exercise, learner: &Learner) {
    data::println!(
        "{} {} ({})\n",
        exercise.number(),
        exercise.spec.title,
        about(exercise)
    );
    let folder = format!("{}/", learner.folder().display());
    let task = plain(&exercise.task).replace(&format!("{FOLDER}/"), &folder);
    data::println!("{task}\nWhat is checked:\n");
    data::println!("{}", checked(exercise));
    data::println!("Your file: {}", learner.file(exercise).display());
}

/// Returns the named exercise, or the current one.
fn chosen<'e>(
    exercises: &'e [Exercise],
    learner: &Learner,
    place: &Place,
    name: Option<&str>,
) -> Result<&'e Exercise> {
    if let Some(name) = name {
        return Ok(exercise::find(exercises, name)?);
    }
    let current = learner.current(exercises);
    let begin = place.command();
    let expected = format!("the name of an exercise, or one started with `{begin} start`");
    let neither = || BadInput::new("exercises", expected, looked_for(learner));
    Ok(current.ok_or_else(neither)?)
}

/// Describes where a learner's progress was looked for.
fn looked_for(learner: &Learner) -> String {
    let folder = learner.folder();
    let here = std::env::current_dir().unwrap_or_default();
    if folder == own_folder() {
        format!(
            "none in {}, and no folder {FOLDER} there or in a parent folder",
            here.display()
        )
    } else {
        format!("none in {}", folder.display())
    }
}

/// Returns the learner's exercise and checks that its file exists.
fn begun<'e>(
    exercises: &'e [Exercise],
    learner: &Learner,
    place: &Place,
    name: Option<&str>,
) -> Result<&'e Exercise> {
    let exercise = chosen(exercises, learner, place, name)?;
    let file = learner.file(exercise);
    if !file.is_file() {
        let (command, name) = (place.command(), exercise.name());
        let expected = format!("the file created by `{command} start {name}`");
        return Err(BadInput::new(file.display(), expected, "none").into());
    }
    Ok(exercise)
}

/// Checks the learner's file and prints the result.
pub fn check(
    exercises: &[Exercise],
    place: &Place,
    name: Option<&str>,
    seed: Option<u64>,
) -> Result<bool> {
    let mut learner = Learner::open(&place.dir())?;
    let exercise = begun(exercises, &learner, place, name)?;
    let passed = judge(exercise, &mut learner, &Checker::new(LIMIT), place, seed)?;
    if !passed {
        return Ok(false);
    }
    match learner.next(exercises, Some(exercise), can_check) {
        (Some(next), skipped) => {
            left_out(&skipped, place);
            let (command, number) = (place.command(), next.number());
            data::println!(
                "Next: `{command} start {number}` for {number} {}.",
                next.name()
            );
        }
        (None, _) => all_solved(exercises, &learner, place),
    }
    Ok(true)
}

/// Checks the learner's file, prints the result, and records a success.
pub fn judge(
    exercise: &Exercise,
    learner: &mut Learner,
    checker: &Checker,
    place: &Place,
    seed: Option<u64>,
) -> Result<bool> {
    // 32 bits are enough, and quick to type.
    let seed = seed.unwrap_or_else(|| rand::random::<u32>().into());
    let file = learner.file(exercise);
    let first = learner.predict(exercise)?;
    let checking = Waiting::new(format!("checking {}", file.display()));
    let outcome = checker.check(exercise, &file, seed, first);
    drop(checking);
    match outcome.map_err(|bad| and_instead(bad, exercise, place))? {
        Ok(notes) => {
            learner.pass(exercise)?; // before a reader that has closed the pipe ends the program
            data::println!("{}: passed", exercise.id);
            notes.iter().for_each(|note| data::println!("{note}"));
            debrief(exercise, &file, checker, seed);
            Ok(true)
        }
        Err(failure) => {
            data::println!("{}", failure.line);
            failure
                .notes
                .iter()
                .for_each(|note| data::println!("{note}"));
            data::println!("{}", not_yet(exercise, learner, place, failure.by, seed));
            Ok(false)
        }
    }
}

/// Suggests next commands.
fn not_yet(exercise: &Exercise, learner: &Learner, place: &Place, by: Part, seed: u64) -> String {
    let (command, number) = (place.command(), exercise.number());
    let again = match by {
        // Another seed would not change an error in the text.
        Part::Outside | Part::Text | Part::Question => String::new(),
        _ => format!("; `{command} check {number} --seed {seed}` repeats this check"),
    };
    let id = &exercise.id;
    let state = if learner.passed(exercise) {
        "still counts as solved, by an earlier text"
    } else {
        "is not solved yet"
    };
    let hint = if exercise.spec.hints.is_empty() {
        String::new()
    } else {
        offer_of_hint(&command, number)
    };
    format!("({id} {state}{hint}{again})")
}

/// Adds the exercise that needs no NVRTC, and the next command, to an error about NVRTC.
fn and_instead(mut bad: BadInput, exercise: &Exercise, place: &Place) -> BadInput {
    if let Some(instead) = instead(exercise) {
        let command = place.command();
        bad.found += &format!("{instead}, and `{command} start` goes on to the next exercise");
    }
    bad
}

/// Prints the next hint.
pub fn hint(exercises: &[Exercise], place: &Place, name: Option<&str>) -> Result<bool> {
    let mut learner = Learner::open(&place.dir())?;
    let exercise = chosen(exercises, &learner, place, name)?;
    let had = Progress::read(learner.folder())?.hints.remove(&exercise.id);
    let (number, hint) = learner.hint(exercise)?;
    let (id, hint, all) = (&exercise.id, plain(hint), exercise.spec.hints.len());
    if had.is_some_and(|had| had >= all) {
        data::println!("No more hints for {id}; the last was: {hint}");
    } else {
        data::println!("Hint {number} of {all} for {id}: {hint}");
    }
    if number == all {
        let (command, number) = (place.command(), exercise.number());
        let then = match &exercise.solution {
            Some(_) => {
                let passed = learner.passed(exercise);
                let reveal = if passed { "" } else { " --reveal" };
                format!("`{command} solution {number}{reveal}` shows a solution")
            }
            None => NO_SOLUTION.into(),
        };
        data::println!("(This was the last hint; {then}.)");
    }
    Ok(true)
}

/// Restores the starter.
pub fn reset(exercises: &[Exercise], place: &Place, name: Option<&str>) -> Result<bool> {
    let mut learner = Learner::open(&place.dir())?;
    let exercise = begun(exercises, &learner, place, name)?;
    let was_solved = learner.passed(exercise);
    let file = learner.file(exercise);
    let file = file.display();
    match learner.reset(exercise)? {
        Some(old) => data::println!(
            "{file} is the starter again; your text is in {}",
            old.display()
        ),
        None => data::println!("{file} already is the starter"),
    }
    if was_solved {
        data::println!("{} no longer counts as solved", exercise.id);
    }
    Ok(true)
}

const NO_SOLUTION: &str = "a handout has no solutions";

/// Prints the solution after a pass, or on request. A handout has none.
pub fn solution(
    exercises: &[Exercise],
    place: &Place,
    name: Option<&str>,
    reveal: bool,
) -> Result<bool> {
    let learner = Learner::open(&place.dir())?;
    let exercise = chosen(exercises, &learner, place, name)?;
    let why = match &exercise.solution {
        None => format!("{NO_SOLUTION}; ask your teacher for it"),
        Some(_) if !reveal && !learner.passed(exercise) => {
            "not solved yet; pass `--reveal` to see the solution".into()
        }
        Some(solution) => {
            data::print!("{solution}");
            return Ok(true);
        }
    };
    Err(BadInput::new(&exercise.id, "", why).into())
}
