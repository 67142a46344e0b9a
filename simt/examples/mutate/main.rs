//! Makes mutants of kernels, one small mistake each, runs them over the cases beside the kernels, and says which
//! of them a test or a finding shows.
//!
//! ```text
//! cargo run --release -p simt --example mutate -- kernels/src/softmax/level3.ptx
//! ```
//!
//! Of all kernels of the project, some of each text's, which is what `simt/mutants.json` holds:
//!
//! ```text
//! cargo run --release -p simt --example mutate -- --sample 25 --json simt/mutants.json \
//!     --equivalent simt/equivalent-mutants.json $(find kernels/src -name '*.ptx' ! -name '*_sm90a.ptx' | sort)
//! ```
//!
//! Exit code 0 when each mutant is killed or known to be no mistake, 1 when others survive, 2 for bad input.

mod equivalent;
mod file;
mod result;
mod sample;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use equivalent::Equivalents;
use result::Totals;

/// Mutation testing of kernels on a simulated GPU.
#[derive(Debug, Parser)]
struct Options {
    /// Texts of PTX.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Launches, one a line; of one file. Otherwise the file's own name, with `.cases` for `.ptx`.
    #[arg(long)]
    cases: Option<PathBuf>,
    /// Mutants of each file at the most, of each operator as many; all if it is left out.
    #[arg(long)]
    sample: Option<usize>,
    /// Which mutants a sample has.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Mutants that are known to be no mistakes, with the reason: an array in JSON.
    #[arg(long)]
    equivalent: Option<PathBuf>,
    /// Where the figures go.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Also what killed each mutant.
    #[arg(long, short)]
    verbose: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// How many mutants survive and are not known to be equivalent.
fn run(options: &Options) -> Result<usize, String> {
    if options.cases.is_some() && options.files.len() > 1 {
        return Err(format!(
            "--cases: expected one file, found {}",
            options.files.len()
        ));
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
    let totals = Totals::new(&results);
    println!("\n{}", table::operators(&totals));
    print!("{}", table::survivors(&results));
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&totals).map_err(|e| e.to_string())?;
        std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(totals.all.survived)
}
