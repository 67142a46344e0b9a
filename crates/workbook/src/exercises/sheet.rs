//! Grades as CSV, for spreadsheets.

use anyhow::Result;
use classroom::grade::Grade;

const HEAD: [&str; 10] = [
    "student",
    "exercise",
    "graded",
    "passed",
    "by",
    "line",
    "seed",
    "seconds",
    "hints_used",
    "first_prediction",
];

/// Formats a header line and one row per grade, with the fields of the JSON file. Unknown fields are empty.
pub fn csv(grades: &[Grade]) -> Result<String> {
    let mut rows = csv::Writer::from_writer(vec![]);
    rows.write_record(HEAD)?;
    for grade in grades {
        let verdict = &grade.verdict;
        rows.write_record([
            text(&grade.student),
            text(&grade.exercise),
            grade.graded.to_string(),
            verdict.passed.to_string(),
            text(verdict.by.as_deref().unwrap_or_default()),
            text(verdict.line.as_deref().unwrap_or_default()),
            grade.seed.to_string(),
            grade.seconds.to_string(),
            grade.hints_used.map_or_else(String::new, |n| n.to_string()),
            text(&grade.predicted().unwrap_or_default()),
        ])?;
    }
    Ok(String::from_utf8(rows.into_inner()?)?)
}

/// Prefixes a field that a spreadsheet would evaluate with `'`, because the text may be a student's.
fn text(field: &str) -> String {
    if field.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{field}")
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use classroom::grade::Verdict;

    use super::*;

    #[test]
    fn a_grade_is_a_row() -> Result<()> {
        let grade = |student: &str, line: Option<&str>| Grade {
            student: student.into(),
            exercise: "07-guard".into(),
            graded: false,
            verdict: Verdict {
                passed: line.is_none(),
                by: line.map(|_| "race".into()),
                line: line.map(Into::into),
            },
            seed: 7,
            seconds: 0.5,
            hints_used: line.map(|_| 2),
            first_prediction: None,
        };
        let table = csv(&[grade("ada", None), grade("=1+1", Some("a, \"b\""))])?;
        let tab = csv(&[grade("\t=1+1", None)])?;
        assert!(tab.contains("'\t=1+1,07-guard"), "{tab}");
        let expected = "\
student,exercise,graded,passed,by,line,seed,seconds,hints_used,first_prediction
ada,07-guard,false,true,,,7,0.5,,
'=1+1,07-guard,false,false,race,\"a, \"\"b\"\"\",7,0.5,2,
";
        assert_eq!(table, expected);
        Ok(())
    }
}
