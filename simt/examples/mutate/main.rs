//! Mutation-tests kernels: makes mutants with one small defect each, runs them on the kernels' cases, and
//! reports which ones an output or a finding reveals.
//!
//! ```text
//! cargo run --release -p simt --example mutate -- kernels/src/softmax/level3.ptx
//! ```
//!
//! A sample for each text of the project, as recorded in `simt/mutants.json`:
//!
//! ```text
//! cargo run --release -p simt --example mutate -- --sample 25 --json simt/mutants.json \
//!     --commit $(git rev-parse HEAD) --equivalent simt/equivalent-mutants.json \
//!     $(find kernels/src kernels/generated -name '*.ptx' ! -name '*.sm_90a.ptx' | sort)
//! ```
//!
//! Exit code: 0 if each mutant is killed or known to be equivalent, 1 if others survive, 2 for bad input.

mod equivalent;
mod file;
mod result;
mod sample;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use data::BadInput;

use equivalent::Equivalents;
use result::Totals;

/// Mutation-tests kernels on a simulated GPU
#[derive(Debug, Parser)]
struct Options {
    /// PTX files to mutate
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Launches of a single file, one per line [default: X.cases of X.ptx or X.sm_75.ptx, under kernels/generated for kernels/src]
    #[arg(long)]
    cases: Option<PathBuf>,
    /// Maximum number of mutants per file, spread evenly over the operators [default: all]
    #[arg(long)]
    sample: Option<usize>,
    /// Seed that chooses the mutants of a sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// JSON array of mutants that are known to be equivalent, with the reason
    #[arg(long)]
    equivalent: Option<PathBuf>,
    /// Write the counts as JSON
    #[arg(long, requires = "commit")]
    json: Option<PathBuf>,
    /// The commit of the files, which the JSON says
    #[arg(long)]
    commit: Option<String>,
    /// Also print what killed each mutant
    #[arg(long, short)]
    verbose: bool,
}

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        // `--help` and `--version` succeed.
        Err(help) if !help.use_stderr() => help.exit(),
        Err(mistake) => {
            let mistake = command_line::with_requirer(mistake, &Options::command());
            eprintln!("error: {}", command_line::mistake(&mistake));
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Returns the number of mutants that survive and are not known to be equivalent.
fn run(options: &Options) -> Result<usize, String> {
    if options.cases.is_some() && options.files.len() > 1 {
        return Err(format!(
            "--cases: expected one file, found {}",
            options.files.len()
        ));
    }
    if let Some(path) = &options.json {
        can_be_written(path, options)?;
    }
    let equivalents = match &options.equivalent {
        Some(path) => Equivalents::read(path)?,
        None => Equivalents::default(),
    };
    let mut results = vec![];
    for path in &options.files {
        let result = file::mutate(path, options, &equivalents)?;
        println!("{}", table::heading(&result));
        if options.verbose {
            print!("{}", table::fates(&result));
        }
        results.push(result);
    }
    let totals = Totals::new(&results, options.commit.clone());
    println!("\n{}", table::operators(&totals));
    print!("{}", table::survivors(&results));
    if let Some(path) = &options.json {
        let text = serde_json::to_string(&totals).map_err(|e| e.to_string())?;
        let rows = text.replace("},{", "},\n{"); // a row per line
        data::save_as(path, rows + "\n").map_err(|bad| bad.to_string())?;
    }
    Ok(totals.all.survived)
}

/// Checks before the mutants run, which takes minutes, that the counts will be a file of their own in a folder that is there.
fn can_be_written(path: &Path, options: &Options) -> Result<(), String> {
    let bad = |expected, found| Err(BadInput::new(path.display(), expected, found).to_string());
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let inputs = options.files.iter().chain(&options.cases);
    let mut inputs = inputs.chain(&options.equivalent).map(PathBuf::as_path);
    match () {
        () if path.is_dir() => bad("the name of a file", "a folder"),
        () if folder.is_some_and(|folder| !folder.is_dir()) => {
            bad("a file in an existing folder", "no such folder")
        }
        () if path.exists() && inputs.any(|input| same(input, path)) => {
            bad("another file than the inputs", "one of them")
        }
        () => Ok(()),
    }
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
