//! Repeats the launches of a learner's method on operands that it has not seen, and counts them.

use std::time::{Duration, Instant};

use anyhow::Result;
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

/// Counts the call `last` of `method`. Its process may write anything: of its counters, the tensors are taken as they are, and
/// launches that cannot be repeated leave all work to other code.
pub fn counted(method: &str, last: &Ran, limit: Duration) -> Result<Counted> {
    let mut counted = Counted::default();
    counted.counts.tensors = last.counts.tensors;
    if last.counts.launches == 0 {
        return Ok(counted);
    }
    let unrepeated = |counted: Counted, found: &str| Counted {
        left: Some(format!("launches that can be repeated, found {found}")),
        ..counted
    };
    let Some(sequence) = &last.sequence else {
        return Ok(unrepeated(counted, "none"));
    };
    let call = child::unseen(method)?;
    // A learner's process may make them slow and large.
    let options = simt::Options {
        until: Some(Instant::now() + limit),
        memory: 1 << 30,
        ..child::options()
    };
    Ok(match sequence.repeat(&tensors(&call), options) {
        Ok(repeated) => {
            let all = expected(&call)?;
            Counted {
                counts: counted.counts.with(&repeated.reports),
                left: uncounted(&repeated.reports).or_else(|| left(&call, &all, &repeated)),
                most: most(&repeated.reports),
            }
        }
        Err(error) => unrepeated(counted, &first_line(&error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As level 1's method, whose process writes other counts at its end.
    #[test]
    fn counts_that_a_process_makes_up_are_not_its_kernels() -> Result<()> {
        let claimed = Counts {
            launches: 1,
            tensors: 1,
            bytes: 1,
            warps: 1,
            flops: 0,
        };
        let made_up = |launches, sequence: &str| -> Result<Counted> {
            let ran = Ran {
                counts: Counts { launches, ..claimed },
                sequence: serde_json::from_str(sequence)?,
                ..Ran::default()
            };
            counted("linear", &ran, Duration::from_secs(9))
        };
        let none = r#"{"texts":[],"others":[],"launches":[],"results":[]}"#;
        for (launches, sequence, line) in [
            (1, "null", "launches that can be repeated, found none"),
            (1, none, "kernels that read all operands, found 0 of "),
            (0, "null", ""),
        ] {
            let found = made_up(launches, sequence)?;
            let alone = Counts {
                tensors: 1,
                ..Counts::default()
            };
            assert_eq!(found.counts, alone, "{sequence}");
            let left = found.left.unwrap_or_default();
            assert!(left.starts_with(line), "{left}");
        }
        Ok(())
    }
}
