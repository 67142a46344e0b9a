//! Which of the recorded rows a table or a chart shows.

use results::{OpResults, OpRow, Results, Row, is_limit};
use std::fmt;

/// Rows of a model or an op, and of each column that is named.
#[derive(Debug, Default)]
pub struct Filter<'a> {
    /// `lm`, `vit` or `gnn`; or an op.
    pub subject: &'a str,
    /// Only this preset.
    pub preset: Option<&'a str>,
    /// Only this workload.
    pub workload: Option<&'a str>,
    /// Only this dtype.
    pub dtype: Option<&'a str>,
    /// Only the levels from 1 to this one, and what limits them: no other framework.
    pub to: Option<u8>,
}

impl Filter<'_> {
    /// The rows of a comparison that it keeps, in their order.
    pub fn rows<'r>(&self, results: &'r Results) -> Vec<&'r Row> {
        let keeps = |row: &&Row| {
            row.model == self.subject
                && same(self.preset, &row.preset)
                && same(self.workload, &row.workload)
                && same(self.dtype, &row.dtype)
                && (self.to).is_none_or(|to| row.system.is_none() && row.level <= to)
        };
        results.rows.iter().filter(keeps).collect()
    }

    /// The rows of an op that it keeps, in their order.
    pub fn op_rows<'r>(&self, results: &'r OpResults) -> Vec<&'r OpRow> {
        let keeps = |row: &&OpRow| {
            row.op == self.subject
                && same(self.dtype, &row.dtype)
                && (self.to).is_none_or(|to| is_limit(&row.level) || is_level(&row.level, to))
        };
        results.rows.iter().filter(keeps).collect()
    }
}

fn same(wanted: Option<&str>, found: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}

/// Whether `level` is `levelN` and N at most `to`.
fn is_level(level: &str, to: u8) -> bool {
    let number = level.strip_prefix("level").map(str::parse::<u8>);
    matches!(number, Some(Ok(number)) if number <= to)
}

/// As a chapter writes it: `vit preset=s16 to=3`.
impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.subject)?;
        let to = self.to.map(|to| to.to_string());
        for (name, value) in [
            ("preset", self.preset),
            ("workload", self.workload),
            ("dtype", self.dtype),
            ("to", to.as_deref()),
        ] {
            if let Some(value) = value {
                write!(f, " {name}={value}")?;
            }
        }
        Ok(())
    }
}
