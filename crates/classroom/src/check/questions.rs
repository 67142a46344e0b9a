//! Checks of answers and predictions against the counters of the counted launch.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use data::BadInput;
use simt::Report;

use super::kernel::{Counted, Submission};
use super::{Failure, Notes, Part, short};
use crate::answers::Answers;
use crate::exercise::Exercise;
use crate::metric;
use crate::spec::{Kind, Question, Sizes, Truth};

/// A learner's predictions by question.
pub type Predictions = BTreeMap<String, String>;

/// Returns the predictions in a text if the exercise asks for some and all are there.
pub fn predictions(exercise: &Exercise, text: &str) -> Option<Predictions> {
    let answers = Answers::read(text);
    let found = valid(exercise, |name| answers.get(name).map(|(_, answer)| answer));
    let all = exercise.spec.questions.len();
    found.filter(|found| found.len() == all)
}

/// Returns the answers that are valid ones of an exercise's predictions; `None` if it asks for none.
pub fn valid<'a>(
    exercise: &Exercise,
    answer: impl Fn(&str) -> Option<&'a str>,
) -> Option<Predictions> {
    let one = |question: &Question| {
        let answer = answer(&question.name)?;
        let is_one = unfit(answer, &question.truth).is_none();
        is_one.then(|| (question.name.clone(), plain(answer)))
    };
    let predicts = exercise.spec.kind == Kind::OptimisationThatLoses;
    predicts.then(|| exercise.spec.questions.iter().filter_map(one).collect())
}

/// Checks that each prediction is given and valid; nothing runs before that.
pub fn written(exercise: &Exercise, submission: &Submission) -> Result<(), Failure> {
    for question in &exercise.spec.questions {
        let (line, answer) = given(&question.name, submission)?;
        if let Some(expected) = unfit(answer, &question.truth) {
            let what = format!(
                "{}: expected your prediction first ({expected}), found {}",
                question.name,
                quoted(answer)
            );
            return Err(Failure::new(Part::Question, at(submission, line), what));
        }
    }
    Ok(())
}

/// Returns the valid answers if `answer` is not one of them.
fn unfit(answer: &str, question: &Truth) -> Option<String> {
    let options = options(question);
    if options.is_empty() {
        number(answer).is_none().then(|| "a number".to_owned())
    } else {
        let is_one = options.iter().any(|option| option == answer);
        (!is_one).then(|| format!("one of {}", options.join(", ")))
    }
}

fn number(answer: &str) -> Option<f64> {
    answer.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Normalises a number, as `1` for `1.0`; other answers stay.
fn plain(answer: &str) -> String {
    number(answer).map_or_else(|| answer.to_owned(), |x| x.to_string())
}

fn quoted(answer: &str) -> String {
    if answer.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{answer}`")
    }
}

fn at(submission: &Submission, line: usize) -> String {
    format!("{}:{line}", submission.path.display())
}

/// Returns the line of an answer, and the answer.
fn given<'s>(name: &str, submission: &'s Submission) -> Result<(usize, &'s str), Failure> {
    submission.answers.get(name).ok_or_else(|| {
        let what =
            format!("expected an answer to {name}, found no line `// {name} = …` in a region");
        Failure::new(Part::Question, submission.path.display(), what)
    })
}

/// An answer and the counted value.
struct Answered<'s> {
    name: &'s str,
    line: usize,
    answer: &'s str,
    /// The expected answer, if the learner's is wrong.
    expected: Option<String>,
    figures: String,
}

/// Checks the answers; if all are right, returns the counted values as notes. A wrong number gets a
/// direction, not the right value. For unchanged first predictions, the failure only says how many are right.
pub fn check(
    exercise: &Exercise,
    submission: &Submission,
    counted: &Counted,
    first: Option<&Predictions>,
) -> Result<Result<Notes, Failure>, BadInput> {
    let sizes = &exercise.spec.shapes.counted;
    let mut answered = vec![];
    for question in &exercise.spec.questions {
        let found = truth(&question.truth, submission, counted, sizes)?;
        let (line, answer) = match given(&question.name, submission) {
            Ok(given) => given,
            Err(failure) => return Ok(Err(failure)),
        };
        answered.push(Answered {
            name: &question.name,
            line,
            answer,
            expected: wrong(answer, &found.answers, &question.truth),
            figures: found.figures,
        });
    }
    let predicts = exercise.spec.kind == Kind::OptimisationThatLoses;
    Ok(match answered.iter().find(|one| one.expected.is_some()) {
        Some(_) if predicts && are_first(&answered, first) => Err(how_many(&answered, submission)),
        Some(wrong) => Err(wrong.failure(submission)),
        None => Ok(answered.iter().map(|one| one.note(first)).collect()),
    })
}

/// Whether two answers are equal.
fn same(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// Whether all predictions are still the first ones.
fn are_first(answered: &[Answered], first: Option<&Predictions>) -> bool {
    let is_first = |one: &Answered, first: &Predictions| {
        first
            .get(one.name)
            .is_some_and(|said| same(said, one.answer))
    };
    first.is_none_or(|first| answered.iter().all(|one| is_first(one, first)))
}

/// The failure `3 of 5`, without naming them.
fn how_many(answered: &[Answered], submission: &Submission) -> Failure {
    let right = answered.iter().filter(|one| one.expected.is_none()).count();
    let all = answered.len();
    let what = format!(
        "predictions: expected all {all} to be right, found {right}; change one, and the next check shows which are wrong"
    );
    Failure::new(Part::Question, submission.path.display(), what)
}

impl Answered<'_> {
    fn failure(&self, submission: &Submission) -> Failure {
        let expected = self.expected.as_deref().unwrap_or_default();
        let found = quoted(self.answer);
        let what = format!("{}: expected {expected}, found {found}", self.name);
        Failure::new(Part::Question, at(submission, self.line), what)
    }

    /// `barriers = 128: counted 128 (you first said 16)`
    fn note(&self, first: Option<&Predictions>) -> String {
        let said = first.and_then(|first| first.get(self.name));
        let first = match said.filter(|said| !same(said, self.answer)) {
            Some(said) => format!(" (you first said {said})"),
            None => String::new(),
        };
        let Self {
            name,
            answer,
            figures,
            ..
        } = self;
        format!("{name} = {answer}: counted {figures}{first}")
    }
}

/// Returns what was expected if an answer is wrong.
fn wrong(answer: &str, truths: &[String], question: &Truth) -> Option<String> {
    let unfit = unfit(answer, question);
    if unfit.is_some() || truths.iter().any(|truth| truth == answer) {
        return unfit;
    }
    if !options(question).is_empty() {
        return Some("another answer, by the simulator's counters".into());
    }
    let (what, more, less) = match question {
        Truth::Line { .. } => (
            "the one that costs most".to_owned(),
            "a line further down",
            "a line further up",
        ),
        // The formula tells a learner who gave a total that a share is asked for.
        Truth::Count { entry, of } => (
            format!("`{of}` of `{entry}` as the simulator counts"),
            "a larger number",
            "a smaller number",
        ),
        _ => (
            "as the simulator counts".to_owned(),
            "a larger number",
            "a smaller number",
        ),
    };
    let truth = truths.first().and_then(|truth| number(truth));
    match number(answer).partial_cmp(&truth) {
        Some(Ordering::Equal) => None,
        Some(Ordering::Less) => Some(format!("{more} ({what})")),
        _ => Some(format!("{less} ({what})")),
    }
}

/// Returns the valid answers; empty if it is a number.
pub fn options(question: &Truth) -> Vec<String> {
    match question {
        Truth::Count { .. } | Truth::Line { .. } => vec![],
        Truth::Compare { .. } => ["more", "same", "fewer"].map(str::to_owned).into(),
        Truth::More { entries, .. } => entries.to_vec(),
        Truth::Reason { of, .. } => of.iter().map(|formula| name(formula)).collect(),
    }
}

/// Returns the first counter of a formula.
fn name(formula: &str) -> String {
    formula
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The right answers.
struct Found {
    /// The answers: several if lines cost the same.
    answers: Vec<String>,
    /// The counted figures behind them.
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
                answers: vec![count.to_string()],
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
                answers: vec![answer.into()],
                figures: both(entries, found),
            }
        }
        Truth::More { entries, of } => {
            let found = of_both(entries, of)?;
            Found {
                answers: vec![entries[usize::from(found[1] > found[0])].clone()],
                figures: both(entries, found),
            }
        }
        Truth::Line { entry, of } => {
            let costliest = metric::costliest(of, report(counted, entry)?);
            if costliest.is_empty() {
                return Err(BadInput::new(of, "a counter that is not 0", "0"));
            }
            let number = |line: &simt::Line| submission.place(line.line, line.source.as_ref()).0;
            let numbers = costliest.into_iter().map(|line| number(line).to_string());
            let answers: Vec<String> = numbers.collect();
            Found {
                figures: format!("most on line {}", answers.join(" and ")),
                answers,
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
                answers: vec![greatest.1],
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::exercise;

    #[test]
    fn only_valid_answers_to_questions_are_kept() {
        let exercises = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../exercises"));
        let all = exercise::all(exercises).unwrap();
        let long = "0".repeat(1 << 19);
        let kept = |name| {
            let answer = |question: &str| match question {
                "loads" => Some("same"),
                "barriers" => Some(&*long),
                _ => Some("more\nmore"),
            };
            valid(exercise::find(&all, name).unwrap(), answer)
        };
        let expected = [("barriers", "0"), ("loads", "same")];
        let expected = expected.map(|(name, said)| (name.to_owned(), said.to_owned()));
        assert_eq!(kept("row-in-registers"), Some(expected.into()));
        assert_eq!(kept("transpose"), None);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(same("1.0", "1") && same("64", "6.4e1") && same("same", "same"));
        assert!(!same("1", "2") && !same("1", "one") && !same("more", "fewer"));
    }
}
