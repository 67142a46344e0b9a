//! The files of cases of the kernels: each entry has one, and each runs without a finding.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use simt::{Case, Module, Options};

/// All `.ptx`, written or generated, but Hopper's, whose wgmma and TMA are not simulated, and those of examples, which have
/// tests of their own.
fn texts() -> Vec<PathBuf> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = simt::case::files_below(kernels, &["ptx"]).expect("the crate's folder");
    let examples = kernels.join("examples");
    files.retain(|file| !file.starts_with(&examples));
    files.retain(|file| !file.to_string_lossy().ends_with(".sm_90a.ptx"));
    files
}

fn cases(text: &Path) -> Vec<Case> {
    let path = simt::case::file_of(text);
    let again = "write it with `cargo run --release -p kernels --example cases`";
    let file = fs::read_to_string(&path);
    let file = file.unwrap_or_else(|e| panic!("{}: {e}; {again}", path.display()));
    let cases = Case::parse_all(&file).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    cases.into_iter().map(|(_, case)| case).collect()
}

fn module(text: &Path) -> Module {
    Module::parse(&fs::read_to_string(text).expect("a text")).expect("PTX")
}

#[test]
fn each_kernel_has_cases() {
    let texts = texts();
    assert!(texts.len() > 40, "{}", texts.len());
    for text in texts {
        let module = module(&text);
        let kernels: BTreeSet<&str> = module.entries().collect();
        let cases = cases(&text);
        let launched: BTreeSet<&str> = cases.iter().filter_map(|c| c.entry.as_deref()).collect();
        assert_eq!(launched, kernels, "{}", text.display());
    }
}

#[test]
fn no_case_has_a_finding() {
    let failures: Vec<String> = texts()
        .par_iter()
        .flat_map(|text| {
            let module = module(text);
            let cases = cases(text).into_par_iter();
            let failures =
                cases.filter_map(|case| Some(format!("{case}: {}", failure(&module, &case)?)));
            failures.collect::<Vec<_>>()
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The defects of a launch.
fn failure(module: &Module, case: &Case) -> Option<String> {
    let mut operands = case.operands(3, Path::new("")).expect("operands");
    let kernel = case.kernel(module).expect("a kernel");
    let (dim, args) = (operands.dim, operands.args.clone());
    match kernel.launch(dim, &mut operands.buffers, &args, &Options::default()) {
        Ok(report) => report.findings.first().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    }
}
