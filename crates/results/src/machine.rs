//! Machine and date of a measurement.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use data::BadInput;
use serde::{Deserialize, Serialize};

use crate::Figures;

/// Maximum length of a text.
const LONGEST: usize = 200;
/// Description of a text.
pub(crate) const TEXT: &str = "at most 200 bytes of words without markup";
/// Characters that are markup in XML, in Markdown or in a chapter of the book.
const MARKUP: [char; 13] = [
    '<', '>', '|', '&', '`', '[', ']', '*', '\\', '{', '}', '~', '$',
];

/// Machine and date of a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// `cpu` or `cuda`.
    pub device: String,
    /// Name that the processor or GPU reports.
    pub name: String,
    /// Number of threads on the CPU.
    pub threads: usize,
    /// Operating system and architecture.
    pub os: String,
    /// Version of the compiler.
    pub rustc: String,
    /// Version of candle.
    pub candle: String,
    /// Commit of the repository.
    pub commit: String,
    /// Date as `YYYY-MM-DD`.
    pub date: String,
    /// Version of the GPU's driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// CUDA's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
}

/// The measured commit, and the date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Commit of the repository.
    pub commit: String,
    /// Date as `YYYY-MM-DD`.
    pub date: String,
}

/// Description of a date.
pub(crate) const DATE: &str = "a date as YYYY-MM-DD";

/// Whether a text is short, and neither markup nor able to act on a terminal: it is printed and becomes a part of charts
/// and of pages in Markdown.
pub(crate) fn is_plain(text: &str) -> bool {
    data::plain_line(text) == text
        && text.len() <= LONGEST
        && !text.contains(MARKUP)
        && !text.contains("://")
}

/// Whether a text is `YYYY-MM-DD`, a day of the calendar since 1970.
pub(crate) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
    let [year, month, day] = parts[..] else {
        return false;
    };
    if [year.len(), month.len(), day.len()] != [4, 2, 2]
        || !parts.iter().all(|part| is_number(part))
    {
        return false;
    }
    let number = |text: &str| text.parse().unwrap_or(0);
    let [year, month, day] = [year, month, day].map(number);
    year >= 1970 && (1..=days(year, month)).contains(&day)
}

/// Days of a month of the Gregorian calendar; 0 for a number that is no month.
fn days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

impl Machine {
    /// Returns the measured commit and the date.
    pub fn origin(&self) -> Origin {
        Origin {
            commit: self.commit.clone(),
            date: self.date.clone(),
        }
    }

    /// The commit and date of a row: its own, which may be older, or the file's.
    pub fn origin_of(&self, row: &impl Figures) -> Origin {
        row.origin().cloned().unwrap_or_else(|| self.origin())
    }

    /// The days on which rows were measured: `2026-11-21 to 2026-11-24`, or one day.
    pub fn days<'a, F: Figures + 'a>(&self, rows: impl IntoIterator<Item = &'a F>) -> String {
        let dates = rows.into_iter().map(|row| self.origin_of(row).date);
        let dates: BTreeSet<String> = dates.collect();
        match (dates.first(), dates.last()) {
            (Some(first), Some(last)) if first < last => format!("{first} to {last}"),
            (Some(day), _) => day.clone(),
            _ => String::new(),
        }
    }

    /// The machine at the commit and date of a row, which may be older than the file.
    #[must_use]
    pub fn at(&self, row: &impl Figures) -> Self {
        let mut at = self.clone();
        Origin {
            commit: at.commit,
            date: at.date,
        } = self.origin_of(row);
        at
    }

    /// Checks every field.
    pub(crate) fn check(&self, path: &Path) -> Result<(), BadInput> {
        let texts = [
            ("name", Some(&self.name)),
            ("device", Some(&self.device)),
            ("os", Some(&self.os)),
            ("rustc", Some(&self.rustc)),
            ("candle", Some(&self.candle)),
            ("commit", Some(&self.commit)),
            ("date", Some(&self.date)),
            ("driver", self.driver.as_ref()),
            ("toolkit", self.toolkit.as_ref()),
        ];
        let what = |field| format!("{}: `machine.{field}`", path.display());
        for (field, text) in texts {
            if let Some(text) = text.filter(|text| !is_plain(text)) {
                return Err(BadInput::new(what(field), TEXT, data::short(text)));
            }
        }
        if !["cpu", "cuda"].contains(&&*self.device) {
            let found = format!("{:?}", data::short(&self.device));
            return Err(BadInput::new(what("device"), "cpu or cuda", found));
        }
        if self.name.trim().is_empty() {
            return Err(BadInput::new(
                what("name"),
                "the name of a device",
                "nothing",
            ));
        }
        if !is_date(&self.date) {
            return Err(BadInput::new(what("date"), DATE, data::short(&self.date)));
        }
        match self.threads {
            0 => Err(BadInput::new(what("threads"), "a number above 0", 0)),
            _ => Ok(()),
        }
    }

    /// Whether the other is the same machine with equal versions, except for the repository's commit.
    pub fn is_like(&self, other: &Self) -> bool {
        let Origin { commit, date } = other.origin();
        let this = Self {
            commit,
            date,
            ..self.clone()
        };
        this == *other
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (&self.driver, &self.toolkit) {
            (Some(driver), Some(toolkit)) => {
                write!(f, "{}, driver {driver}, CUDA {toolkit}", self.name)?
            }
            _ => write!(f, "{}, {} threads", self.name, self.threads)?,
        }
        write!(
            f,
            ", {}, rustc {}, candle {}",
            self.os, self.rustc, self.candle
        )
    }
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn markup_is_no_text() {
        assert!(
            !["{{x", "}", "~x~", "$x$", "https://x"]
                .map(is_plain)
                .contains(&true)
        );
        assert!(is_plain("Intel(R) Xeon(R) CPU @ 2.20GHz #1: a_b/c"));
    }
}
