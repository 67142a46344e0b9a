//! Repeats the launches of a learner's method on operands that it has not seen, and counts them, in a process of its own:
//! `exercises level repeat`.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::calls::{left, tensors};
use super::child::{self, Counts, Found, Ran, first_line};
use super::oracle::expected;
use super::traffic::{most, uncounted};

/// The counts of a method with the right results.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Its tensors, as its process says, and the counters of the launches that were repeated.
    pub counts: Counts,
    /// Work that its kernels leave to other code.
    pub left: Option<String>,
    /// The line of its kernels that moves the most bytes.
    pub most: Option<Found>,
}

impl Counted {
    /// The counts of a call whose launches cannot be repeated. Its process may write anything: of its counters, the tensors
    /// are taken as they are, and the others are not.
    pub fn unrepeated(last: &Ran, found: &str) -> Self {
        let mut counted = Self {
            left: Some(format!("launches that can be repeated, found {found}")),
            ..Self::default()
        };
        counted.counts.tensors = last.counts.tensors;
        counted
    }
}

/// Counts the call `last` of `method`.
fn counted(method: &str, last: &Ran) -> Result<Counted> {
    let none = Counted::unrepeated(last, "none");
    if last.counts.launches == 0 {
        return Ok(Counted { left: None, ..none });
    }
    let Some(sequence) = &last.sequence else {
        return Ok(none);
    };
    let call = child::unseen(method)?;
    // A learner's process may make them large.
    let options = simt::Options {
        memory: 1 << 30,
        ..child::options()
    };
    Ok(match sequence.repeat(&tensors(&call), options) {
        Ok(repeated) => {
            let all = expected(&call)?;
            Counted {
                counts: none.counts.with(&repeated.reports),
                left: uncounted(&repeated.reports).or_else(|| left(&call, &all, &repeated)),
                most: most(&repeated.reports),
            }
        }
        Err(error) => Counted::unrepeated(last, &first_line(&error)),
    })
}

/// Reads what the process of `method` wrote to the file `ran`, counts its last call, and writes [`Counted`] to `out`.
pub fn repeat(method: &str, ran: &Path, out: &Path) -> Result<bool> {
    let ran: Vec<Ran> = child::read(ran)?;
    let last = ran.last().context("expected calls, found none")?;
    data::save_as(out, &serde_json::to_vec(&counted(method, last)?)?)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As level 1's method, whose process writes other counts at its end.
    #[test]
    fn counts_that_a_process_makes_up_are_not_its_kernels() -> Result<()> {
        let none = r#"{"texts":[],"others":[],"launches":[],"results":[]}"#;
        for (launches, sequence, line) in [
            (1, "null", "launches that can be repeated, found none"),
            (1, none, "kernels that read all operands, found 0 of "),
            (0, "null", ""),
        ] {
            let claimed =
                format!(r#"{{"launches":{launches},"tensors":7,"bytes":1,"warps":1,"flops":0}}"#);
            let ran = Ran {
                counts: serde_json::from_str(&claimed)?,
                sequence: serde_json::from_str(sequence)?,
                ..Ran::default()
            };
            let found = counted("linear", &ran)?;
            assert_eq!((found.counts.steps(), found.counts.bytes), (7, 0));
            assert_eq!((found.counts.launches, found.counts.warps), (0, 0));
            let left = found.left.unwrap_or_default();
            assert!(left.starts_with(line), "{left}");
        }
        Ok(())
    }
}
