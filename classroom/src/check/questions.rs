//! What the learner answered or predicted, held to the counters of the counted launch.

use std::cmp::Ordering;

use data::BadInput;
use simt::Report;

use super::kernel::{Counted, Submission};
use super::{Failure, Notes, Part, short};
use crate::exercise::Exercise;
use crate::metric;
use crate::spec::{Sizes, Truth};

/// The first answer that is missing or no answer at all: where predictions come first, nothing runs before.
pub fn written(exercise: &Exercise, submission: &Submission) -> Result<(), Failure> {
    for question in &exercise.spec.questions {
        let (line, answer) = given(&question.name, submission)?;
        let options = options(&question.truth);
        let expected = match options.is_empty() {
            true if answer.parse::<f64>().is_ok() => continue,
            true => "a number".to_owned(),
            false if options.contains(&answer.to_owned()) => continue,
            false => format!("one of {}", options.join(", ")),
        };
        let what = format!(
            "{}: expected a prediction first, {expected}, found {}",
            question.name,
            quoted(answer)
        );
        return Err(Failure::new(Part::Question, at(submission, line), what));
    }
    Ok(())
}

fn quoted(answer: &str) -> String {
    match answer.is_empty() {
        true => "nothing".to_owned(),
        false => format!("`{answer}`"),
    }
}

fn at(submission: &Submission, line: usize) -> String {
    format!("{}:{line}", submission.path.display())
}

/// The line of an answer, and the answer.
fn given<'s>(name: &str, submission: &'s Submission) -> Result<(usize, &'s str), Failure> {
    submission.answers.get(name).ok_or_else(|| {
        let what =
            format!("expected an answer to {name}, found no line `// {name} = …` in a region");
        Failure::new(Part::Question, submission.path.display(), what)
    })
}

/// The first answer that is missing or wrong; where all are right, what was counted beside each. A wrong number is told
/// its direction, not the right one.
pub fn check(
    exercise: &Exercise,
    submission: &Submission,
    counted: &Counted,
) -> Result<Result<Notes, Failure>, BadInput> {
    let sizes = &exercise.spec.shapes.counted;
    let mut notes = vec![];
    for question in &exercise.spec.questions {
        let Found {
            answer: truth,
            figures,
        } = truth(&question.truth, submission, counted, sizes)?;
        let (line, answer) = match given(&question.name, submission) {
            Ok(given) => given,
            Err(failure) => return Ok(Err(failure)),
        };
        if let Some(expected) = wrong(answer, &truth, &question.truth) {
            let found = quoted(answer);
            let what = format!("{}: expected {expected}, found {found}", question.name);
            return Ok(Err(Failure::new(
                Part::Question,
                at(submission, line),
                what,
            )));
        }
        notes.push(format!("{} = {answer}: counted {figures}", question.name));
    }
    Ok(Ok(notes))
}

/// What is expected in place of a wrong answer.
fn wrong(answer: &str, truth: &str, question: &Truth) -> Option<String> {
    let options = options(question);
    if options.is_empty() {
        let truth: f64 = truth.parse().unwrap_or(f64::NAN);
        let [more, less] = match question {
            Truth::Line { .. } => [
                "the line that costs most, which is further down",
                "the line that costs most, which is further up",
            ],
            _ => [
                "what is counted, which is more",
                "what is counted, which is less",
            ],
        };
        let found = answer.parse::<f64>();
        return match found.map(|found| found.partial_cmp(&truth)) {
            Ok(Some(Ordering::Equal)) => None,
            Ok(Some(Ordering::Less)) => Some(more.into()),
            Ok(Some(Ordering::Greater)) => Some(less.into()),
            _ => Some("a number".into()),
        };
    }
    match options.contains(&answer.to_owned()) {
        false => Some(format!("one of {}", options.join(", "))),
        true if answer == truth => None,
        true => Some("what the counters say".into()),
    }
}

/// What may be answered; nothing where it is a number.
pub fn options(question: &Truth) -> Vec<String> {
    match question {
        Truth::Count { .. } | Truth::Line { .. } => vec![],
        Truth::Compare { .. } => ["more", "same", "fewer"].map(str::to_owned).into(),
        Truth::More { entries, .. } => entries.to_vec(),
        Truth::Reason { of, .. } => of.iter().map(|formula| name(formula)).collect(),
    }
}

/// The counter that a formula begins with.
fn name(formula: &str) -> String {
    formula
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// What the counters say.
struct Found {
    /// The right answer.
    answer: String,
    /// The figures that it comes from.
    figures: String,
}

fn truth(
    truth: &Truth,
    submission: &Submission,
    counted: &Counted,
    sizes: &Sizes,
) -> Result<Found, BadInput> {
    let of_both = |entries: &[String; 2], formula: &str| -> Result<[f64; 2], BadInput> {
        let [a, b] = entries;
        let value = |entry: &str| metric::value(formula, report(counted, entry)?, sizes);
        Ok([value(a)?, value(b)?])
    };
    let both = |[a, b]: &[String; 2], [of_a, of_b]: [f64; 2]| {
        format!("{} in {a}, {} in {b}", short(of_a), short(of_b))
    };
    Ok(match truth {
        Truth::Count { entry, of } => {
            let count = metric::value(of, report(counted, entry)?, sizes)?;
            Found {
                answer: count.to_string(),
                figures: short(count),
            }
        }
        Truth::Compare { entries, of } => {
            let found = of_both(entries, of)?;
            let answer = match found[0].total_cmp(&found[1]) {
                Ordering::Less => "fewer",
                Ordering::Equal => "same",
                Ordering::Greater => "more",
            };
            Found {
                answer: answer.into(),
                figures: both(entries, found),
            }
        }
        Truth::More { entries, of } => {
            let found = of_both(entries, of)?;
            Found {
                answer: entries[usize::from(found[1] > found[0])].clone(),
                figures: both(entries, found),
            }
        }
        Truth::Line { entry, of } => {
            let costliest = metric::costliest(of, report(counted, entry)?);
            let line =
                costliest.ok_or_else(|| BadInput::new(of, "a counter that is not 0", "0"))?;
            let (number, _) = submission.place(line.line, line.source.as_ref());
            Found {
                answer: number.to_string(),
                figures: format!("most on line {number}"),
            }
        }
        Truth::Reason { entries, of } => {
            let mut greatest = (f64::NEG_INFINITY, String::new(), String::new());
            for formula in of {
                let found = of_both(entries, formula)?;
                let apart = (found[0].max(1.) / found[1].max(1.)).ln().abs();
                if apart > greatest.0 {
                    greatest = (apart, name(formula), both(entries, found));
                }
            }
            Found {
                answer: greatest.1,
                figures: greatest.2,
            }
        }
    })
}

fn report<'c>(counted: &'c Counted, entry: &str) -> Result<&'c Report, BadInput> {
    let found = counted.iter().find(|(kernel, _)| kernel.entry == entry);
    found
        .map(|(_, report)| report)
        .ok_or_else(|| BadInput::new("a question", "a kernel", entry))
}
