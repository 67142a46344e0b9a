//! Prints findings, one per line.

use simt::{Finding, in_all};

use super::text::Text;

/// A mistake on one source line; each copy in an unrolled loop has its own finding.
struct Mistake<'a> {
    first: &'a Finding,
    /// Number of occurrences, over all its instructions.
    count: u64,
    instructions: u32,
}

/// Formats one line per mistake, and their number.
pub fn all(findings: &[Finding], text: &Text) -> String {
    let mut mistakes: Vec<Mistake> = vec![];
    for finding in findings {
        match mistakes.iter_mut().find(|m| is_same(m.first, finding)) {
            Some(known) => {
                known.count += finding.count;
                known.instructions += 1;
            }
            None => mistakes.push(Mistake {
                first: finding,
                count: finding.count,
                instructions: 1,
            }),
        }
    }
    let lines: String = mistakes.iter().map(|m| one_line(m, text)).collect();
    lines
        + &match mistakes.len() {
            0 => "no findings\n".to_owned(),
            1 => "1 finding\n".to_owned(),
            n => format!("{n} findings\n"),
        }
}

/// Whether two findings on one source line are equal except for numbers.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let words = |f: &Finding| f.what.replace(|c: char| !c.is_alphabetic(), "");
    a.source.is_some() && a.source == b.source && a.class == b.class && words(a) == words(b)
}

/// `saxpy.cu:7 (PTX line 31): out-of-bounds: thread 0 of block 4: read of … (24 such faults in all) | y[i] = …;`
fn one_line(mistake: &Mistake, text: &Text) -> String {
    let Finding {
        class,
        line,
        source,
        thread,
        what,
        ..
    } = mistake.first;
    let (place, code) = text.place(*line, source.as_ref());
    let ptx = if source.is_some() && text.is_ptx() {
        format!(" (PTX line {line})")
    } else {
        String::new()
    };
    let what = text.with_short_names(what, source.as_ref());
    let times = in_all(mistake.count, mistake.instructions);
    format!("{place}{ptx}: {class}: {thread}: {what}{times} | {code}\n")
}
