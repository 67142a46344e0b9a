//! Tables of exercises, and the sessions of the syllabus.

use crate::exercise::{Exercise, Language};
use crate::spec::Kind;

/// Formats a table of exercises with links from the book's chapters, and a line with their total time.
pub fn table(exercises: &[&Exercise]) -> String {
    let mut text =
        "| | exercise | what you do | level | minutes |\n|---|---|---|---:|---:|\n".to_owned();
    for exercise in exercises {
        let spec = &exercise.spec;
        let graded = if spec.graded { " (graded)" } else { "" };
        text += &format!(
            "| {} | [{}](exercises/{}.md){graded} | {} | {} | {} |\n",
            exercise.number(),
            spec.title,
            exercise.name(),
            what(exercise),
            spec.level,
            spec.minutes
        );
    }
    let minutes: u32 = exercises.iter().map(|e| e.spec.minutes).sum();
    let count = match exercises.len() {
        1 => "1 exercise".to_owned(),
        n => format!("{n} exercises"),
    };
    text + &format!("\n{count}, {minutes} minutes.\n")
}

/// Formats a session of the syllabus: purpose, exercises, graded task, and minutes including reading.
pub fn session(exercises: &[&Exercise], reading: u32) -> String {
    let mut text = "After this session you can\n\n".to_owned();
    for exercise in exercises {
        text += &goal(exercise, exercises);
    }
    text += &format!("\n{}\n", table(exercises));
    text += &Minutes::of(exercises, reading).table();
    for exercise in exercises.iter().filter(|e| e.spec.graded) {
        let (title, name) = (&exercise.spec.title, exercise.name());
        text += &format!("\nGraded: [{title}](exercises/{name}.md).\n");
    }
    let optional = exercises.iter().filter(|e| e.spec.optional);
    let optional: Vec<&str> = optional.map(|e| e.number()).collect();
    if !optional.is_empty() {
        text += &format!("\nOptional: {}.\n", optional.join(", "));
    }
    text
}

/// A goal of a session; those that only an optional exercise teaches are marked.
fn goal(exercise: &Exercise, of_session: &[&Exercise]) -> String {
    let goal = &exercise.spec.objective;
    let teaches = |e: &&Exercise| !e.spec.optional && e.spec.objective == *goal;
    let required = of_session.iter().any(teaches);
    let optional = if required { "" } else { " (optional)" };
    format!("- {goal}{optional};\n")
}

/// Minutes of a session.
#[derive(Debug, Clone, Copy)]
pub struct Minutes {
    reading: u32,
    graded: u32,
    in_the_room: u32,
    optional: u32,
}

impl Minutes {
    /// Adds up a session with these exercises.
    pub fn of(exercises: &[&Exercise], reading: u32) -> Self {
        let sum = |is_one: fn(&Exercise) -> bool| {
            let of_it = exercises.iter().filter(|e| is_one(e));
            of_it.map(|e| e.spec.minutes).sum()
        };
        Self {
            reading,
            graded: sum(|e| e.spec.graded),
            in_the_room: sum(|e| !e.spec.graded && !e.spec.optional),
            optional: sum(|e| e.spec.optional),
        }
    }

    /// Total without optional exercises.
    pub fn together(self) -> u32 {
        self.reading + self.graded + self.in_the_room
    }

    fn table(self) -> String {
        let Self {
            reading,
            graded,
            in_the_room,
            optional,
        } = self;
        let together = self.together();
        format!(
            "| | minutes |\n\
             |---|---:|\n\
             | at home, before: reading | {reading} |\n\
             | exercises in the room | {in_the_room} |\n\
             | at home, after: the graded task | {graded} |\n\
             | together | **{together}** |\n\
             | optional, on top | {optional} |\n"
        )
    }
}

/// Kind and language: `find the bug, Rust`.
fn what(exercise: &Exercise) -> String {
    let language = match exercise.language {
        Language::Ptx => "PTX",
        Language::Cuda => "CUDA",
        Language::Rust => "Rust",
    };
    match exercise.spec.kind {
        Kind::Write => format!("write {language}"),
        kind => format!("{kind}, {language}"),
    }
}
