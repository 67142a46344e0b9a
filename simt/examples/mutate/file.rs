//! Mutation tests of one text: its kernels, their cases and their mutants.

use std::path::Path;

use rayon::prelude::*;
use simt::mutate::{Judge, Mutant, Verdict, mutants};
use simt::{Case, Module};

use crate::Options;
use crate::equivalent::Equivalents;
use crate::result::{Fate, FileResult, Judged};
use crate::sample::sample;

/// Judges the mutants of a text.
pub fn mutate(path: &Path, options: &Options, known: &Equivalents) -> Result<FileResult, String> {
    let name = path.display().to_string();
    let named = |e: simt::Error| format!("{name}: {e}");
    let module = Module::parse(&read(path)?).map_err(named)?;
    let cases_path = options
        .cases
        .clone()
        .unwrap_or_else(|| simt::case::file_of(path));
    if !cases_path.exists() && options.cases.is_none() {
        let place = cases_path.display();
        return Err(format!(
            "{place}: expected a file with the launches of {name}, or `--cases FILE`, found no such file"
        ));
    }
    let cases = cases(&cases_path)?;
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    let kernels = entries.par_iter().map(|entry| {
        let own = |case: &&Case| case.entry.as_ref().is_none_or(|e| e == entry);
        let own: Vec<Case> = cases.iter().filter(own).cloned().collect();
        if own.is_empty() {
            let place = cases_path.display();
            return Err(format!(
                "{place}: expected a case for each kernel, found none for {entry}"
            ));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let judge = Judge::new(&module, entry, &own, folder).map_err(named)?;
        Ok((judge, mutants(&module, entry)))
    });
    let kernels = kernels.collect::<Result<Vec<_>, String>>()?;
    let all = kernels
        .iter()
        .flat_map(|(judge, mutants)| mutants.iter().map(move |m| (judge, m)));
    let all: Vec<(&Judge, &Mutant)> = all.collect();
    let mutants: Vec<&Mutant> = all.iter().map(|(_, mutant)| *mutant).collect();
    let known = known.of(&name, &mutants)?;
    let made = all.len();
    let chosen = sample(all, options.sample, options.seed);
    let judged = chosen.into_par_iter().map(|(judge, mutant)| Judged {
        mutant: mutant.clone(),
        fate: fate(judge.verdict(&module, mutant), known.reason(mutant)),
    });
    Ok(FileResult {
        kernels: entries.len(),
        cases: cases.len(),
        possible: made,
        mutants: judged.collect(),
        name,
    })
}

fn fate(verdict: simt::Result<Verdict>, equivalent: Option<&str>) -> Fate {
    match (verdict, equivalent) {
        (Err(error), _) => Fate::Refused(error.to_string()),
        (Ok(Verdict::Killed { oracle, diagnosis }), _) => Fate::Killed { oracle, diagnosis },
        (Ok(_), Some(reason)) => Fate::Equivalent(reason.to_owned()),
        (Ok(Verdict::Survived { reached }), None) => Fate::Survived { reached },
    }
}

fn cases(path: &Path) -> Result<Vec<Case>, String> {
    let cases = Case::parse_all(&read(path)?);
    let cases = cases.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(cases.into_iter().map(|(_, case)| case).collect())
}

/// Reads a file as text, with the same errors as the other programs.
pub fn read(path: &Path) -> Result<String, String> {
    data::read_text(path).map_err(|bad| bad.to_string())
}
