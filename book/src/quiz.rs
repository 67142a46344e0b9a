//! `{{quiz simulator/sectors}}`: a question of `book/quiz/simulator.toml`, whose answer is computed when the book is built.
//!
//! The simulator runs a kernel, two recorded times are divided, or a recorded counter is looked up. The right option is the
//! one that this answer fits, so a question cannot outlive a change of the kernel or of the record: the build fails.

mod answer;
mod counters;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::directives;
use crate::library::Library;
pub use answer::{Answer, Source};

/// A file of questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quiz {
    question: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The second half of its name in a chapter.
    name: String,
    /// The question; Markdown.
    ask: String,
    /// The source of the answer.
    from: Source,
    option: Vec<Choice>,
}

/// A possible answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    /// The label of the option; `is` if there is none.
    text: Option<String>,
    /// The answer that it stands for.
    is: Option<String>,
    /// The smallest number that it stands for, and the first above; for an answer that is recorded.
    range: Option<[f64; 2]>,
    /// The reason why it is right or wrong; Markdown.
    why: String,
}

/// Replaces every `{{quiz FILE/NAME}}` in `text`; `repository` is the folder from which files are named.
///
/// # Errors
/// A question that is not there; one of whose options none or several fit the answer.
pub fn expand(text: &str, repository: &Path, library: &mut Library) -> Result<String> {
    directives::expand(text, "quiz", |_, arguments| {
        let (file, name) = directives::file_and_name(arguments)?;
        let questions = read(&repository.join("book/quiz"), file)?;
        let question = questions.iter().find(|question| question.name == name);
        let question =
            question.with_context(|| format!("book/quiz/{file}.toml has no question `{name}`"))?;
        let answer = question.from.answer(repository, library)?;
        question.text(&answer)
    })
}

fn read(folder: &Path, file: &str) -> Result<Vec<Question>> {
    Ok(directives::toml::<Quiz>(folder, file)?.question)
}

impl Question {
    /// The question, and its options, which open one by one and say whether they are right.
    fn text(&self, answer: &Answer) -> Result<String> {
        let right = |option: &&Choice| option.fits(answer);
        let count = self.option.iter().filter(right).count();
        ensure!(
            count == 1,
            "expected one option that is `{}`, found {count}",
            answer.value
        );
        ensure!(
            self.option.len() > 2,
            "expected three options or more, found {}",
            self.option.len()
        );
        let mut text = format!("<div class=\"quiz\">\n\n{}\n\n", self.ask.trim());
        for option in &self.option {
            let why = option.why.trim();
            let verdict = if option.fits(answer) {
                format!("**Right.** {why}\n\n{}", answer.origin)
            } else {
                format!("**No.** {why}")
            };
            let label = option.label().unwrap_or_default();
            text += &format!("<details><summary>{label}</summary>\n\n{verdict}\n\n</details>\n\n");
        }
        Ok(text + "</div>")
    }
}

impl Choice {
    fn label(&self) -> Option<&str> {
        self.text.as_deref().or(self.is.as_deref())
    }

    fn fits(&self, answer: &Answer) -> bool {
        let number = || answer.value.parse::<f64>().ok();
        let within = |[from, to]: [f64; 2]| number().is_some_and(|x| (from..to).contains(&x));
        self.is.as_ref().is_some_and(|is| *is == answer.value) || self.range.is_some_and(within)
    }
}
