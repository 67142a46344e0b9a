//! The program's output, one line of JSON per result.

use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;

use results::{Results, Row};

/// A workload and another framework's mode.
#[derive(Debug, Deserialize)]
pub struct Which {
    model: String,
    preset: String,
    workload: String,
    dtype: String,
    system: String,
}

/// A line of output.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// A timed workload.
    Row {
        #[serde(flatten)]
        which: Which,
        median_ms: f64,
        low_ms: f64,
        high_ms: f64,
        device_ms: Option<f64>,
        samples: usize,
        max_difference: f64,
    },
    /// A failed measurement.
    Failed {
        #[serde(flatten)]
        which: Which,
        reason: String,
    },
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            model,
            preset,
            workload,
            dtype,
            system,
        } = self;
        write!(f, "{model} {preset} {workload} {dtype} {system}")
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Row {
                which,
                median_ms,
                device_ms,
                ..
            } => {
                write!(f, "{which}  {median_ms:.3} ms")?;
                device_ms.map_or(Ok(()), |ms| write!(f, ", {ms:.3} ms on the device"))
            }
            Self::Failed { which, reason } => write!(f, "{which} failed: {reason}"),
        }
    }
}

impl Line {
    /// Appends a row to its workload; a failure becomes a note.
    ///
    /// # Errors
    /// For a workload that no level has run.
    pub fn add_to(self, results: &mut Results) -> Result<()> {
        let text = self.to_string();
        let Some(row) = self.row() else {
            results.notes.push(text);
            return Ok(());
        };
        let same = |other: &Row| other.title() == row.title();
        let level = results.rows.iter().find(|other| same(other));
        let level = level.with_context(|| format!("{text}: expected a workload of the levels"))?;
        // Level 1's median is the reference.
        let speedup = level.median_ms * level.speedup / row.median_ms;
        let last = results.rows.iter().rposition(same).unwrap_or_default();
        results.rows.insert(last + 1, Row { speedup, ..row });
        Ok(())
    }

    fn row(self) -> Option<Row> {
        let Self::Row {
            which,
            median_ms,
            low_ms,
            high_ms,
            device_ms,
            samples,
            max_difference,
        } = self
        else {
            return None;
        };
        Some(Row {
            model: which.model,
            preset: which.preset,
            workload: which.workload,
            level: 0,
            system: Some(which.system),
            cuda_graph: false,
            dtype: which.dtype,
            median_ms,
            low_ms,
            high_ms,
            device_ms,
            speedup: 1.,
            tensors: 0,
            launches: None,
            peak_bytes: 0,
            max_difference,
            samples,
            origin: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use results::failed;

    use super::*;
    use crate::compare::drawn::tests::example;

    fn line(text: &str) -> Line {
        serde_json::from_str(text).expect("a line of the program")
    }

    const WHICH: &str = r#""model":"lm","preset":"tiny","workload":"decode","dtype":"f32""#;

    #[test]
    fn rows_are_appended_to_their_workload_and_failures_are_notes() -> Result<()> {
        let mut results = example();
        let mut other = results.rows[0].clone();
        other.workload = "prefill".into();
        results.rows.push(other);
        let times = r#""median_ms":0.615,"low_ms":0.6,"high_ms":0.7,"device_ms":null,"samples":3,"max_difference":1e-7"#;
        line(&format!(
            r#"{{"kind":"row",{WHICH},"system":"pytorch_eager",{times}}}"#
        ))
        .add_to(&mut results)?;
        line(&format!(
            r#"{{"kind":"failed",{WHICH},"system":"pytorch_graph","reason":"no"}}"#
        ))
        .add_to(&mut results)?;
        let systems: Vec<_> = results.rows.iter().map(|r| r.system.as_deref()).collect();
        assert_eq!(systems, [None, None, Some("pytorch_eager"), None]);
        let row = &results.rows[2];
        assert_eq!((row.level, row.speedup, row.samples), (0, 2., 3));
        let [note] = &results.notes[..] else {
            panic!("expected one note, found {:?}", results.notes)
        };
        assert_eq!(note, "lm tiny decode f32 pytorch_graph failed: no");
        let which = ["lm", "tiny", "decode", "f32", "pytorch_graph"];
        assert_eq!(failed(note), Some(which));
        let stranger = WHICH.replace("decode", "batch7");
        let row = line(&format!(
            r#"{{"kind":"row",{stranger},"system":"pytorch_eager",{times}}}"#
        ));
        assert!(row.add_to(&mut results).is_err());
        Ok(())
    }

    #[test]
    fn an_invalid_line_is_an_error() {
        for bad in [
            r#"{"kind":"rows"}"#,
            r#"{"kind":"row","model":"lm"}"#,
            "AUTOTUNE",
        ] {
            assert!(serde_json::from_str::<Line>(bad).is_err(), "{bad}");
        }
    }
}
