//! Findings in the reference: ops without a page, and reasons that no longer apply.

use super::slower::{Record, slower};
use super::{Reference, Subject, remarks_file};
use crate::includes::{chapters, text_of};
use crate::library::Library;
use crate::place;
use anyhow::Result;
use regex::Regex;
use results::OpResults;
use results::bound::LIMITS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The op that `{{op …}}` of a page names, if the page has one.
pub fn directive(page: &str) -> Result<Option<Subject>> {
    let directive = Regex::new(r"\{\{\s*op\b([^{}]*)\}\}")?;
    let found = directive.captures(page);
    found.map(|found| Subject::parse(&found[1])).transpose()
}

/// Ops without a page, recorded ops on none or on several, and reasons without a case.
pub fn findings(root: &Path, reference: &Reference, library: &mut Library) -> Result<Vec<String>> {
    let mut found = vec![];
    let mut pages: BTreeMap<String, usize> = BTreeMap::new();
    let mut folders = BTreeSet::new();
    for page in chapters(&reference.pages)? {
        if let Some(subject) = directive(&text_of(&page)?)? {
            if page.file_stem().is_none_or(|stem| *stem != *subject.folder) {
                let at = place::from_root(&page);
                found.push(format!("{at}: expected the page {}.md", subject.folder));
            }
            folders.insert(subject.folder);
            subject
                .ops
                .into_iter()
                .for_each(|op| *pages.entry(op).or_default() += 1);
        }
    }
    let at = place::from_root(&reference.pages);
    for op in ops(&reference.kernels)?.difference(&folders) {
        found.push(format!(
            "{at}: expected a page with {{{{op {op}}}}}, found none"
        ));
    }
    let mut records: Vec<(String, OpResults)> = vec![];
    for on in library.ops.names()? {
        let results = library.ops.on(&on)?.recorded.clone();
        records.push((on, results));
    }
    for op in recorded(&records) {
        let number = pages.get(op).copied().unwrap_or(0);
        if number != 1 {
            found.push(format!(
                "{at}: expected one page with the recorded op `{op}`, found {number}"
            ));
        }
    }
    found.extend(without_a_case(root, reference, &records));
    Ok(found)
}

/// The folders of ops: each has a contract and a level.
fn ops(kernels: &Path) -> Result<BTreeSet<String>> {
    let mut ops = BTreeSet::new();
    for entry in fs::read_dir(kernels)? {
        let folder = entry?.path();
        if folder.join("mod.rs").exists() && has_level(&folder)? {
            let name = folder.file_name().unwrap_or_default();
            ops.insert(name.to_string_lossy().into_owned());
        }
    }
    Ok(ops)
}

fn has_level(folder: &Path) -> Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.file_name().to_string_lossy().starts_with("level") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn recorded(records: &[(String, OpResults)]) -> BTreeSet<&str> {
    let rows = records.iter().flat_map(|(_, results)| &results.rows);
    let ops = rows.map(|row| row.op.as_str());
    ops.filter(|op| *op != LIMITS).collect()
}

/// Reasons for a level that is not slower any more.
fn without_a_case(
    root: &Path,
    reference: &Reference,
    records: &[(String, OpResults)],
) -> Vec<String> {
    let at = place::from_root(&remarks_file(root));
    let mut found = vec![];
    for reason in &reference.remarks.slower {
        for op in &reason.ops {
            let applies = records.iter().any(|(on, results)| {
                let cases = slower(&Record { on, results }, op);
                cases.iter().any(|case| reason.explains(case))
            });
            if !applies {
                found.push(format!(
                    "{at}: expected a case of `{op}` where {} is slower than the level below, found none for: {}",
                    reason.level, reason.reason
                ));
            }
        }
    }
    found
}
