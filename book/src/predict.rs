//! `{{predict level3/decode}}`: a box of `book/predict/level3.toml`. The reader enters an estimate, and then sees the value.
//!
//! The value is a record's or the simulator's when the book is built. `book/theme/predict.js` hides it until an estimate is
//! entered; without JavaScript it is folded.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::directives;
use crate::format::three_digits;
use crate::library::Library;
use crate::quiz::{Answer, Source};

/// A file of boxes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Boxes {
    prediction: Vec<Prediction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prediction {
    /// The second half of its name in a chapter.
    name: String,
    /// The question; Markdown.
    ask: String,
    /// The unit of the estimate: that of the record, or a noun in the plural.
    unit: String,
    /// The source of the value.
    from: Source,
    /// The reason for the value, a sentence; Markdown.
    why: String,
}

/// Replaces every `{{predict FILE/NAME}}` in `text`; `repository` is the folder from which files are named.
///
/// # Errors
/// A box that is not there, or without a value in its unit.
pub fn expand(text: &str, repository: &Path, library: &mut Library) -> Result<String> {
    directives::expand(text, "predict", |_, arguments| {
        let (file, name) = directives::file_and_name(arguments)?;
        let boxes = read(&repository.join("book/predict"), file)?;
        let found = boxes.iter().find(|prediction| prediction.name == name);
        let found = found
            .with_context(|| format!("book/predict/{file}.toml has no prediction `{name}`"))?;
        found.text(&found.from.answer(repository, library)?)
    })
}

fn read(folder: &Path, file: &str) -> Result<Vec<Prediction>> {
    Ok(directives::toml::<Boxes>(folder, file)?.prediction)
}

impl Prediction {
    /// The question with a field for the estimate, and the value, which the page's script hides.
    fn text(&self, answer: &Answer) -> Result<String> {
        let value = self.value(answer)?;
        let unit = escaped(&self.unit);
        // A record's text has its unit.
        let shown = match answer.value.split_once(' ') {
            Some(_) => escaped(&answer.value),
            None => format!("{} {unit}", number(value)),
        };
        Ok(format!(
            "<div class=\"predict\" data-value=\"{value}\">\n\n{ask}\n\n\
             <form hidden><label>Your estimate: <input type=\"number\" min=\"0\" step=\"any\" inputmode=\"decimal\" \
             required autocomplete=\"off\"> {unit}</label> <button type=\"submit\">Compare</button> \
             <output aria-live=\"polite\"></output></form>\n\n\
             <details><summary>The value, after your estimate</summary>\n\n**{shown}.** {why}\n\n{origin}\n\n</details>\n\n</div>",
            ask = self.ask.trim(),
            why = self.why.trim(),
            origin = answer.origin,
        ))
    }

    /// The number in the box's unit.
    fn value(&self, answer: &Answer) -> Result<f64> {
        let (number, unit) = answer
            .value
            .split_once(' ')
            .unwrap_or((&answer.value, &self.unit));
        ensure!(
            unit == self.unit,
            "expected the unit `{unit}` of the record, found `{}`",
            self.unit
        );
        match number.parse() {
            Ok(value) if value > 0. => Ok(value),
            _ => bail!("expected a number above 0, found `{}`", answer.value),
        }
    }
}

/// A count in full, any other number in three digits.
fn number(x: f64) -> String {
    if x.fract() == 0. {
        x.to_string()
    } else {
        three_digits(x)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
